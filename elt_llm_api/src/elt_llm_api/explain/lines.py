"""A whole trace as lines: every stage in the order it ran, then what is told of all of them."""

from collections.abc import Iterable, Iterator, Sequence

import click
from elt_llm_core.results import TraceStage

from elt_llm_api.explain.facts import fact_lines
from elt_llm_api.explain.overviews import (
    asked_as_well_lines,
    cache_lines,
    collection_lines,
    filter_lines,
    near_miss_lines,
    outcome_lines,
    route_lines,
    stand_in_lines,
    time_lines,
)
from elt_llm_api.explain.passages import NamedPassages
from elt_llm_api.explain.ranking_tables import RankingTables, vectors_heading, words_heading
from elt_llm_api.explain.tables import terminal_width
from elt_llm_api.explain.terms import term_lines
from elt_llm_api.render import counted

_TOLD_ELSEWHERE = {"understand": {"cache"}, "embed": {"cache", "question"}}
_HEADINGS = {"understand": "Understood", "embed": "Embedded beside it", "answer": "Answered"}
_OVERVIEWS = {"shape", "explain"}


def explanation_lines(stages: Sequence[TraceStage], width: int | None = None) -> Iterator[str]:
    """How each passage was found, ranked, kept or left out. `width` is that of the terminal unless given."""
    width = width or terminal_width()
    names = NamedPassages(stages)
    tables = RankingTables(names, width)
    retrieve: TraceStage | None = None
    for stage in stages:
        if stage.name == "retrieve":
            if retrieve is None:
                yield from _section("Words of the question", term_lines(stages, width))
            retrieve = stage
            yield from _section(vectors_heading(stage), tables.by_vectors(stage))
            yield from _section(words_heading(stage), tables.by_words(stage))
        elif stage.name == "fuse" and retrieve is not None:
            yield from _section(_fused_heading(stage), tables.fused(stage, retrieve))
        elif "parts" in stage.details:
            yield from _section(_reranked_heading(stage), [*asked_as_well_lines(stage, width), *tables.reranked(stage)])
        elif stage.name not in _OVERVIEWS:
            yield from _section(*_told(stage, width))
    yield from _section("Read and left out", outcome_lines(stages, width))
    yield from _section("Read in another passage's place", stand_in_lines(stages, names, width))
    yield from _section("Nearly read", near_miss_lines(stages, names, width))
    yield from _section(_collections_heading(stages), collection_lines(stages, width))
    yield from _section("Caches", cache_lines(stages, width))
    yield from _section("Times", time_lines(stages, width))


def _told(stage: TraceStage, width: int) -> tuple[str, Iterable[str]]:
    """Heading and lines of a stage that ranks nothing; one that is new is told by its details."""
    if stage.name == "filter":
        return "Filtered", filter_lines(stage.details, width)
    if stage.name == "route":
        return f"Asked: {stage.kept:,} of {counted(len(stage.details['collections']), 'collection')}", route_lines(
            stage.details, width
        )
    elsewhere = _TOLD_ELSEWHERE.get(stage.name, set())
    details = {name: value for name, value in stage.details.items() if name not in elsewhere}
    return _HEADINGS.get(stage.name, stage.name.capitalize()), fact_lines(details, width)


def _section(heading: str, lines: Iterable[str]) -> Iterator[str]:
    """A heading and its lines; nothing where there are none."""
    told = list(lines)
    if told:
        yield ""
        yield click.style(heading, bold=True)
        yield from told


def _fused_heading(stage: TraceStage) -> str:
    weights = stage.details["weights"]
    said = f", vectors by {weights['dense']:g} and words by {weights['keyword']:g}" if weights else ""
    return f"Together: {stage.details['method']}{said}"


def _collections_heading(stages: Sequence[TraceStage]) -> str:
    searches = sum(stage.name == "retrieve" for stage in stages)
    return "Collections" if searches < 2 else f"Collections: the last of {searches} searches; read from all of them"


def _reranked_heading(stage: TraceStage) -> str:
    if stage.name != "rerank":
        return stage.name.capitalize()
    if stage.details["method"] == "none":
        return "Not reranked"
    return f"Reranked: {stage.details['method']}, weight {stage.details['weight']:.3g}"
