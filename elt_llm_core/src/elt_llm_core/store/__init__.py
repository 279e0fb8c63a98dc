"""The store: one SQLite file per data directory, and the writer's lock of the directory."""
