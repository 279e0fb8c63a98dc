"""What two ways of searching found, side by side."""

from typing import TYPE_CHECKING

from elt_llm_core.results import RetrievedChunk

from elt_llm_api.serve.ui.html_tables import Column, figure, flat, table

if TYPE_CHECKING:
    from elt_llm_query.retrieve.pipeline import Found

_BEGINS = 90  # characters of a passage


def comparison_html(first: "Found", second: "Found") -> str:
    """Both lists with a sign for what is in both, then in one alone; before them how many they share."""
    shared = len(set(_places(first)) & set(_places(second)))
    union = len(set(_places(first)) | set(_places(second)))
    share = f" ({shared / union:.0%} of all)" if union else ""
    took = " and ".join(f"{sum(stage.took_ms for stage in one.stages):,.0f} ms" for one in (first, second))
    told = f"<p><b>{shared} passages are found by both</b>{share}. A and B took {took}.</p>"
    columns = f"<div>{_listed('A', first, second)}</div><div>{_listed('B', second, first)}</div>"
    return f'{told}<p>● found by both, with its place there; ○ by this one alone</p><div class="both">{columns}</div>'


def _listed(name: str, found: "Found", other: "Found") -> str:
    there = _places(other)
    rows = [
        [str(place), _sign(there.get(key)), figure(chunk.score), _named(chunk)]
        for (key, place), chunk in zip(_places(found).items(), found.chunks, strict=True)
    ]
    columns = [Column("", True), Column("in both"), Column("score", True), Column("passage")]
    return table(columns, rows, caption=f"{name}: {len(rows)} passages")


def _places(found: "Found") -> dict[tuple[str, str], int]:
    """The place of each passage, from 1."""
    return {(chunk.collection, chunk.node_id): place for place, chunk in enumerate(found.chunks, start=1)}


def _sign(place: int | None) -> str:
    return "○" if place is None else f"● {place}."


def _named(chunk: RetrievedChunk) -> str:
    page = f" p. {chunk.page}" if chunk.page else ""
    words = flat(chunk.text[: 2 * _BEGINS])[:_BEGINS]
    return f"{chunk.source}{page}: {words}"
