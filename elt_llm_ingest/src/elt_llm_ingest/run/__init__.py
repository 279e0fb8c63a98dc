"""The steps of one ingest run: scan files, compare them, make document versions, report, plan, watch."""
