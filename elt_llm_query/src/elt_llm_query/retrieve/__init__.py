"""Retrieve candidates: dense and keyword retrievers, filters, fusion and pools."""
