"""What a reviewer sees of a row: two rows that say the same, from the same words, are one to them."""

from typing import Any

from elt_llm_core.state.rows import Quoted

from elt_llm_consumer.hashing import hashed
from elt_llm_consumer.rows import Cell, Row


def content_digest(row: Row) -> str:
    """SHA-256 of name, place, values, verdicts and quotes; not of scores, spans, pages, notes, nor of the review."""
    cells = {name: _content(cell) for name, cell in row.cells.items()}
    return hashed({"name": row.name, "group": list(row.group), "cells": cells})


def quoted_in(row: Row) -> frozenset[Quoted]:
    """The documents whose words a row shows."""
    return frozenset((it.collection, it.document_id, it.document_hash) for it in row.evidence)


def _content(cell: Cell) -> dict[str, Any]:
    value = list(cell.value) if isinstance(cell.value, tuple) else cell.value
    quotes = [[it.collection, it.source, it.quote_hash] for it in cell.evidence]
    return {"value": value, "verdict": cell.verdict, "quotes": quotes}
