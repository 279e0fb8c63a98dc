"""Batch jobs over collections: glossary, catalog, coverage and handbook tables with evidence in every cell."""
