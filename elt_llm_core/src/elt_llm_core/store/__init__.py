"""The record: one SQLite file per data directory, and the lock that guards it."""
