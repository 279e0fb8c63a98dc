"""Parsed text to spans; one file a strategy."""
