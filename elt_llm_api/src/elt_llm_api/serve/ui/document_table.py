"""Documents of a collection as the tab shows them: a table, and what can be chosen from it."""

from collections.abc import Sequence

from elt_llm_api.render import local_time
from elt_llm_api.serve.actions.documents import DocumentListed
from elt_llm_api.serve.ui.choices import Choice

HEADERS = ["Document", "Title", "Pages", "Passages", "Read", "Status"]
MOST_SHOWN = 1000
_STATUSES = {"ok": "✓ read", "empty": "○ no text in it", "failed": "✗ could not be read"}


def table_rows(listed: Sequence[DocumentListed]) -> list[list[str]]:
    """One row a document, in the order of `HEADERS`."""
    return [
        [
            f"{one.source} » {one.part}" if one.part else one.source,
            one.title,
            str(one.pages or "-"),
            str(one.chunks or "-"),
            local_time(one.ingested_at),
            f"{_STATUSES.get(one.outcome, one.outcome)}{f': {one.reason}' if one.reason else ''}",
        ]
        for one in listed[:MOST_SHOWN]
    ]


def document_choices(listed: Sequence[DocumentListed]) -> list[Choice]:
    """The files among them, by name; parts of a file are opened and forgotten with it."""
    return [(one.source, one.id) for one in listed if not one.part]
