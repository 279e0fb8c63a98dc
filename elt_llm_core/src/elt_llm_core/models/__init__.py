"""Embedding models and language models, with LlamaIndex's base classes, and the cross-encoder."""
