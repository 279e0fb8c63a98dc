"""What a job file may say, a section a file."""
