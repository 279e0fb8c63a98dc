"""Retrieve candidates: dense and keyword retrievers, filters, and fusion.

The candidates of one collection form a pool.
"""
