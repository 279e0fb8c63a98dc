"""The output formats of a job's result."""
