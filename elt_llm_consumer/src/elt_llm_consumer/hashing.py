"""Hashes of values, the same on every machine."""

import hashlib

from elt_llm_core.store.records import canonical_json


def hashed(value: object) -> str:
    """SHA-256 of a JSON value, 64 hex digits, whatever the order of its keys."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()
