"""Parse files in separate processes with limited rights and resources: see pool.ParsePool."""
