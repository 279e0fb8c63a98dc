"""The server: one process for browsers, programs and agents."""
