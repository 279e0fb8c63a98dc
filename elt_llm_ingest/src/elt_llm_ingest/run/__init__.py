"""The steps of an ingest run: plan, scan files, make document versions, enrich, report, and watch for changes."""
