"""Retrieve, fuse, rerank, answer and cite."""
