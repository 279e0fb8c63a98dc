"""The state in `state.sqlite3`: conversations, feedback, jobs, calibrations, metrics and keys, but no documents."""
