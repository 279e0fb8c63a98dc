"""Embedding models and language models, built on LlamaIndex's base classes, and the cross-encoder."""
