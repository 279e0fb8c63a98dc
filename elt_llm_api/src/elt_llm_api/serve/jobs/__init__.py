"""Background jobs: queued in the state database, run by one child process each."""
