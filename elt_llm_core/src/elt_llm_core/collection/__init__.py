"""Operations on collections: open, publish, verify, forget, purge, export and import."""
