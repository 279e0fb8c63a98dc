"""Telling a mistyped name's nearest neighbours."""

import difflib
from collections.abc import Sequence


def nearest_names(wrong: str, known: Sequence[str], count: int = 3) -> str:
    """A sentence naming the nearest of `known`, or the first few if none is near; empty if there are none."""
    near = difflib.get_close_matches(wrong, known, n=count, cutoff=0.5) or list(known[:5])
    return f"Nearest: {', '.join(near)}." if near else ""
