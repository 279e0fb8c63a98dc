"""Hashes of values, the same on every machine."""

import hashlib
import json


def hashed(value: object) -> str:
    """SHA-256 of a JSON value, 64 hex digits, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
