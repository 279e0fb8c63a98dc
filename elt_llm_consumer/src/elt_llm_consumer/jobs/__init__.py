"""The inputs of a job: the job file, the settings, the texts and the tasks."""
