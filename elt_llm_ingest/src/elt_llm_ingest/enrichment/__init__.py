"""Contexts that a language model writes for chunks: off unless `chunking.enrichment` is set."""
