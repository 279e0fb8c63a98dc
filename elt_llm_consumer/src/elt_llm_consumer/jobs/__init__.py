"""The inputs of a job: its file, settings, texts and tasks."""
