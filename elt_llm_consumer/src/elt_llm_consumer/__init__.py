"""Batch jobs on top of query."""
