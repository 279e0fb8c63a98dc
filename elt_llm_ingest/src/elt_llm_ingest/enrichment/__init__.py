"""Contexts that a language model writes for chunks. They are off unless `chunking.enrichment` is set."""
