"""The operations on a collection: open, publish, verify, forget, purge, export and import."""
