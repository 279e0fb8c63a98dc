"""Parse files in separate processes with limited rights and resources; `pool.ParsePool` is the entry point."""
