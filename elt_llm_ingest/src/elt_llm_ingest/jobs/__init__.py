"""Ingest jobs: job files, the groups that a job splits its files into, and running or planning jobs."""
