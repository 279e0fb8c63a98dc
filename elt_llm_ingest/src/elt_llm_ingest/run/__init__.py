"""The steps of one ingest run: scan files, compare, make document versions, report, plan, watch."""
