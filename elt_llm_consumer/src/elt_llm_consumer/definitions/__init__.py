"""Definitions in running text, tables and lists: where a document says what a word means."""
