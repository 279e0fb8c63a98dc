"""Names of things: comparing them, joining lists of them, and finding them in texts."""
