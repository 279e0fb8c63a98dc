"""The user interface in the browser; it needs the extra `ui`, and nothing of it is imported before it is asked for."""
