"""Ingest jobs: read job files, split the files of a job into groups, and run or plan jobs."""
