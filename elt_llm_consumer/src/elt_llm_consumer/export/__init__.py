"""The forms in which a job's result is handed on, a form a file."""
