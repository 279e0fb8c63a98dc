"""Conversations at a terminal, or line by line from another program."""
