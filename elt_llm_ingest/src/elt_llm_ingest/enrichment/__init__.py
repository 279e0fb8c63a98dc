"""Contexts that a language model writes for passages: off unless `chunking.enrichment` asks for them."""
