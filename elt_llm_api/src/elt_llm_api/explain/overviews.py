"""What is told of the whole question: collections, what was left out, caches and times."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from elt_llm_core.results import TraceStage

from elt_llm_api.explain.facts import fact_lines
from elt_llm_api.explain.passages import NamedPassages
from elt_llm_api.explain.tables import Column, figure, table_lines
from elt_llm_api.render import shortened

_PASSAGE = Column("passage", "passage")
MOST = 20  # rows; all of them are in the JSON
_NAME = 16  # characters of a collection's name at least
_FIGURES = 66  # columns that the figures beside it take at most


def details_of(stages: Sequence[TraceStage], name: str) -> dict[str, Any]:
    """Details of the last stage of that name; empty if there is none."""
    return next((stage.details for stage in reversed(stages) if stage.name == name), {})


def collection_lines(stages: Sequence[TraceStage], width: int) -> Iterator[str]:
    """How much of each collection came how far, in the last search; and the most that a BM25 score could be in it."""
    retrieve = details_of(stages, "retrieve")
    budgets = retrieve.get("budget", {})
    fused, given = (details_of(stages, name).get("collections", {}) for name in ("fuse", "rerank"))
    read = Counter(
        name
        for name, passages in details_of(stages, "explain").get("passages", {}).items()
        for one in passages.values()
        if one["place"]
    )
    rows = []
    for name, legs in retrieve.get("collections", {}).items():
        counts = [len(legs["dense"]), len(legs["keyword"]), len(fused.get(name, ()))]
        scale = given.get(name, {})
        cells = [figure(count) for count in (*counts, scale.get("candidates", 0), read[name])]
        budget = [figure(budgets[name]["of each leg"])] if budgets else []
        rows.append([_named(name, width), *budget, *cells, figure(scale.get("attainable"), 2)])
    heads = [*(["each leg"] if budgets else []), "vectors", "words", "fused", "ranked", "read", "attainable"]
    yield from _first_lines([Column("collection", "name"), *map(Column, heads)], rows, width)


def asked_as_well_lines(combine: TraceStage, width: int) -> Iterator[str]:
    """The questions that a strategy asked beside the one that was put."""
    asked = [*combine.details.get("variants", ()), *(one["question"] for one in combine.details.get("follow-ups", ()))]
    if asked:
        rows = [("asked as well", question) for question in asked]
        yield from table_lines([Column("", "name"), Column("", "words")], rows, width)


def filter_lines(details: Mapping[str, Any], width: int) -> Iterator[str]:
    """What was asked for, and how many passages of each collection fulfil it."""
    yield from fact_lines({"where": details["where"]}, width)
    rows = [[_named(name, width), figure(left), figure(details["of"][name])] for name, left in details["left"].items()]
    yield from _first_lines([Column("collection", "name"), Column("left"), Column("of")], rows, width)


def route_lines(details: Mapping[str, Any], width: int) -> Iterator[str]:
    """The collections that were asked, and those that were not, the best first, each with the reason."""
    told: Mapping[str, Mapping[str, Any]] = details["collections"]
    best_first = sorted(told, key=lambda name: (not told[name]["asked"], -told[name]["score"], name))
    rows = [
        [_named(name, width), figure(told[name]["score"]), "yes" if told[name]["asked"] else "-", told[name]["why"]]
        for name in best_first
    ]
    columns = [Column("collection", "name"), Column("score"), Column("asked", "name"), Column("why", "words")]
    yield from _first_lines(columns, rows, width)


def _named(collection: str, width: int) -> str:
    """The name of a collection, cut to what the figures beside it leave."""
    return shortened(collection, max(_NAME, width - _FIGURES))


def _first_lines(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    yield from table_lines(columns, rows[:MOST], width)
    if len(rows) > MOST:
        yield f"and {len(rows) - MOST:,} more"


def outcome_lines(stages: Sequence[TraceStage], width: int) -> Iterator[str]:
    """How many candidates are read, and how many were left out for which reason."""
    counts: dict[str, int] = details_of(stages, "explain").get("outcomes", {})
    rows = [*((f"{count:,}", reason) for reason, count in counts.items()), (f"{sum(counts.values()):,}", "in all")]
    yield from table_lines([Column("passages"), Column("", "name")], rows, width)


def stand_in_lines(stages: Sequence[TraceStage], names: NamedPassages, width: int) -> Iterator[str]:
    """The passages that were left out because another stands for them."""
    left_out = [
        [one["outcome"], names.short(collection, one["instead"]), names.name(collection, node_id)]
        for collection, passages in details_of(stages, "explain").get("passages", {}).items()
        for node_id, one in passages.items()
        if one["instead"]
    ]
    if not left_out:
        return
    yield from _first_lines([Column("left out as", "name"), Column("read instead", "name"), _PASSAGE], left_out, width)


def near_miss_lines(stages: Sequence[TraceStage], names: NamedPassages, width: int) -> Iterator[str]:
    """The best that are not read, why, and the score they lacked."""
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
    columns = [Column("score"), Column("lacked"), Column("why", "name"), Column("its words", "words"), _PASSAGE]
    yield from table_lines(columns, rows, width) if rows else ("none",)


def cache_lines(stages: Sequence[TraceStage], width: int) -> Iterator[str]:
    """Whether anything was known from before, and how often each cache had what was asked for."""
    kept, vectors = details_of(stages, "understand").get("cache"), details_of(stages, "embed").get("cache")
    rows = [
        [name, *(figure(cache[count]) for count in ("hits", "misses", "held"))]
        for name, cache in (("passages of questions", kept), ("vectors of questions", vectors))
        if cache
    ]
    columns = [Column("cache", "name"), Column("hits"), Column("misses"), Column("held")]
    yield from table_lines(columns, rows, width)
    if kept and kept.get("hit"):
        yield "The passages are those found before: their stages took no time now."


def time_lines(stages: Sequence[TraceStage], width: int) -> Iterator[str]:
    """What each stage took and kept, and all together."""
    total = sum(stage.took_ms for stage in stages)
    rows = [(stage.name, f"{stage.took_ms:,.1f}", figure(stage.kept)) for stage in stages]
    columns = [Column("stage", "name"), Column("ms"), Column("kept")]
    yield from table_lines(columns, [*rows, ("total", f"{total:,.1f}", "")], width)
