"""The trace of a question as tables for a terminal."""
