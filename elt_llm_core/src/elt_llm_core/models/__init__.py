"""Embedding models, language models and the cross-encoder, behind LlamaIndex's base types where it has them."""
