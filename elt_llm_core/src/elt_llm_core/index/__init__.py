"""What is derived from the store for one generation: Chroma, BM25, arrays, passport."""
