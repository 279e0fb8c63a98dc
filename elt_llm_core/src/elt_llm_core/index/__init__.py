"""The indexes of one generation, built from the store: Chroma, BM25, arrays, filter fields and passport."""
