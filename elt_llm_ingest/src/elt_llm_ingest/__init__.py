"""Discover, read, chunk, embed and publish documents."""
