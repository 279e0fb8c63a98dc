"""The trace of a question as tables: every stage, every passage with its ranks and scores, and what nearly came."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elt_llm_core.results import TraceStage
from elt_llm_query.explain.outcomes import REASONS

from elt_llm_api.explain.facts import fact_lines
from elt_llm_api.explain.overviews import details_of
from elt_llm_api.explain.passages import NamedPassages
from elt_llm_api.serve.ui.html_tables import Column, figure, flat, table

MOST = 400
"""Passages that are listed; all of them are in the trace as JSON."""
_WIDE = 400  # columns: no line of facts is cut
Key = tuple[str, str]


@dataclass(frozen=True)
class Ranks:
    """Where a passage stood in each ranking, from 1, and its scores; None where it was not."""

    dense: tuple[int, float] | None
    keyword: tuple[int, float] | None
    fused: float | None
    score: float | None


def stage_table(stages: Sequence[TraceStage]) -> str:
    """Each stage in the order it ran: its time, what it kept, what it tells."""
    rows = [
        [stage.name, figure(stage.took_ms, 1), figure(stage.kept), figure(_dropped(stage) or None), _told(stage)]
        for stage in stages
    ]
    rows.append(["total", figure(sum(stage.took_ms for stage in stages), 1), "", "", ""])
    columns = [Column("stage"), Column("ms", True), Column("kept", True), Column("dropped", True), Column("told")]
    return table(columns, rows)


def passage_table(stages: Sequence[TraceStage]) -> str:
    """Every candidate in the order of its score: ranks and scores of both legs, and what became of it."""
    names = NamedPassages(stages)
    ranks = ranks_of(stages)
    ordered = sorted(ranks, key=lambda key: (-(ranks[key].score or 0.0), -(ranks[key].fused or 0.0), key))
    rows = [_passage_row(key, ranks[key], names) for key in ordered[:MOST]]
    titles = ("read as", "score", "vectors", "cosine", "words", "BM25", "fused")
    columns = [*(Column(title, True) for title in titles), Column("became"), Column("its words"), Column("passage")]
    return table(columns, rows, tall=True)


def near_miss_table(stages: Sequence[TraceStage]) -> str:
    """The best that are not read: why, and the score they lacked."""
    names = NamedPassages(stages)
    rows = [
        [
            figure(one["score"]),
            figure(one["lacked"]),
            one["reason"],
            names.words(one["collection"], one["node_id"]),
            names.name(one["collection"], one["node_id"]),
        ]
        for one in details_of(stages, "explain").get("near misses", ())
    ]
    columns = [Column("score", True), Column("lacked", True), *map(Column, ("why", "its words", "passage"))]
    return table(columns, rows)


def ranks_of(stages: Sequence[TraceStage]) -> dict[Key, Ranks]:
    """Every candidate of the last search by collection and node id."""
    legs = details_of(stages, "retrieve").get("collections", {})
    dense, keyword = _leg(legs, "dense"), _leg(legs, "keyword")
    fused = {
        (collection, node_id): score
        for collection, found in details_of(stages, "fuse").get("collections", {}).items()
        for node_id, score in found
    }
    final = _final(stages)
    keys = dict.fromkeys([*final, *fused, *dense, *keyword])
    return {key: Ranks(dense.get(key), keyword.get(key), fused.get(key), final.get(key)) for key in keys}


def _passage_row(key: Key, ranks: Ranks, names: NamedPassages) -> list[str]:
    dense, keyword = ranks.dense or (None, None), ranks.keyword or (None, None)
    return [
        names.place(*key).replace("-", ""),
        figure(ranks.score),
        figure(dense[0]),
        figure(dense[1]),
        figure(keyword[0]),
        figure(keyword[1]),
        figure(ranks.fused, 4),
        str(names.details(*key).get("outcome", "")),
        names.words(*key),
        names.name(*key),
    ]


def _leg(collections: Mapping[str, Any], leg: str) -> dict[Key, tuple[int, float]]:
    return {
        (collection, node_id): (rank, score)
        for collection, legs in collections.items()
        for rank, (node_id, score) in enumerate(legs[leg], start=1)
    }


def _final(stages: Sequence[TraceStage]) -> dict[Key, float]:
    for details in (stage.details for stage in reversed(stages) if "parts" in stage.details):
        collections = [parts["collection"] for _, parts in details["parts"]]
        return {
            (collection, node_id): score
            for collection, (node_id, score) in zip(collections, details["ranking"], strict=True)
        }
    return {}


def _dropped(stage: TraceStage) -> int:
    """How many passages a stage left out, as it tells."""
    told: Iterable[Any] = (value for name, value in stage.details.items() if name in REASONS)
    return sum(len(value) for value in told if isinstance(value, list | tuple | dict))


def _told(stage: TraceStage) -> str:
    if stage.name == "explain":
        return ""
    details = {name: value for name, value in stage.details.items() if name not in REASONS}
    return "; ".join(flat(line) for line in fact_lines(details, _WIDE)).replace(" in --json", "")
