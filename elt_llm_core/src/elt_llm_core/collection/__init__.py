"""A collection over time: open, publish, verify, forget, purge, export, import."""
