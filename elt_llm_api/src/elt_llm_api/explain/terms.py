"""The words of the question: what each weighs, and how many passages have it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from elt_llm_core.results import TraceStage

from elt_llm_api.explain.tables import Column, figure, table_lines

_MOST = 3  # collections with columns of their own


def term_lines(stages: Sequence[TraceStage], width: int) -> Iterator[str]:
    """One row for each word, for the first few collections: its weight, and in how many passages it stands."""
    told = next((stage.details for stage in stages if stage.name == "explain"), {})
    terms: Mapping[str, Sequence[Mapping[str, Any]]] = told.get("terms", {})
    shown = list(terms)[:_MOST]
    rows: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name in shown:
        for term in terms[name]:
            rows.setdefault(term["written"], {})[name] = term
    if not rows:
        return
    columns = [Column("word", "name")]
    for name in shown:
        suffix = f" in {name}" if len(terms) > 1 else ""
        columns += [Column(f"weight{suffix}"), Column("passages")]
    cells = [[word, *(cell for name in shown for cell in _cells(found.get(name)))] for word, found in rows.items()]
    yield from table_lines(columns, cells, width)


def _cells(term: Mapping[str, Any] | None) -> tuple[str, str]:
    return ("-", "-") if term is None else (figure(term["weight"], 2), figure(term["nodes"]))
