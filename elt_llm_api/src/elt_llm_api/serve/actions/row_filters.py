"""Which rows a filter lets through: read as plain JSON, for a job may have thousands."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from elt_llm_consumer.rows import Review
from elt_llm_core.state.rows import ShownRow

from elt_llm_api.serve.actions.row_shapes import RowFilter

NOBODY = Review()
"""What is said of a row that nobody spoke of."""


def reads_contents(asked: RowFilter) -> bool:
    """Whether a filter looks at what rows say, and not at their place and review alone."""
    return asked.verdict is not None or asked.text is not None


def is_wanted(asked: RowFilter, row: ShownRow, review: Review) -> bool:
    """Whether a row passes; its content is looked at where `reads_contents` says so."""
    state = "none" if review == NOBODY else "stale" if review.stale else "fresh"
    return (
        asked.table in {None, row.place.table}
        and asked.status in {None, review.status}
        and asked.review in {None, state}
        and (not reads_contents(asked) or _says(asked, json.loads(row.content)))
    )


def _says(asked: RowFilter, content: Mapping[str, Any]) -> bool:
    cells = content["cells"].values()
    if asked.verdict is not None and all(cell["verdict"] != asked.verdict for cell in cells):
        return False
    text = "\n".join(_texts(content, cells)).casefold()
    return all(word in text for word in (asked.text or "").casefold().split())


def _texts(content: Mapping[str, Any], cells: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    yield from (content["name"], content["key"], *content["group"])
    for cell in cells:
        value = cell["value"]
        yield from map(str, value) if isinstance(value, list) else ("" if value is None else str(value),)
