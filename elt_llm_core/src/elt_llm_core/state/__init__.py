"""The state in `state.sqlite3`: conversations, feedback, jobs, calibrations, metrics, keys. Never documents."""
