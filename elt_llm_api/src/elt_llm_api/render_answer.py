"""Answers, sources and passages as lines for a terminal."""

import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence

import click
from elt_llm_core.results import Citation, QueryResult, RetrievedChunk

from elt_llm_api.render import one_line, plain

_WIDEST = 100
_EXCERPT = 300
_MARK = re.compile(r" (\[\d+\])")


def answer_lines(result: QueryResult) -> Iterator[str]:
    """The answer, then its sources, then what a reader should know besides."""
    for line in result.answer.splitlines():
        yield from _wrapped(line)
    if result.citations:
        yield ""
        yield click.style("Sources" if result.answered else "Closest passages", bold=True)
    several = len(result.metadata.get("generations", {})) > 1
    for citation in result.citations:
        yield from quoted_lines(citation, several=several)
    yield from checked_lines(result)
    yield from note_lines(result.notes)


def checked_lines(result: QueryResult) -> Iterator[str]:
    """The sentences of a written answer that the passages do not bear out, or not wholly, each with the reason."""
    doubtful = [one for one in result.checked if one.verdict in {"partly", "unsupported"}]
    if doubtful:
        yield ""
        yield click.style("Not borne out by the passages", bold=True)
    for one in doubtful:
        said = "only in part: " if one.verdict == "partly" else ""
        yield from _wrapped(f"{said}“{_shortened(one.text)}” {' '.join(one.reasons)}".rstrip(), indent="    ")


def passage_lines(chunks: Sequence[RetrievedChunk], notes: Sequence[str]) -> Iterator[str]:
    """Every passage with its place and score."""
    several = len({chunk.collection for chunk in chunks}) > 1
    for number, chunk in enumerate(chunks, start=1):
        place = place_of(chunk, several=several)
        yield f"{click.style(f'{number}.', bold=True)} {place}  {chunk.score:.2f}"
        yield from _wrapped(_shortened(chunk.text), indent="   ")
    if not chunks:
        yield "No passage bears on this question."
    yield from note_lines(notes)


def quoted_lines(citation: Citation, *, several: bool = False) -> Iterator[str]:
    """A citation: its number, its place, and its words."""
    place = place_of(citation, several=several)
    yield f"{click.style(citation.reference, bold=True)} {place}  {citation.relevance_score:.2f}"
    yield from _wrapped(f"“{_shortened(citation.excerpt)}”", indent="    ")


def note_lines(notes: Sequence[str]) -> Iterator[str]:
    """What a reader should know besides, set apart."""
    if notes:
        yield ""
    for note in notes:
        yield from (click.style(line, dim=True) for line in _wrapped(note))


def place_of(found: Citation | RetrievedChunk, *, several: bool = False) -> str:
    """Where it stands; of several collections also in which.

    A document within a file is named by its title too: `model.drawio#entity/3c51` says nothing.
    """
    collection = [found.collection] if several else []
    title = [found.source_title] if "#" in found.source else []
    page = [f"page {found.page}"] if found.page else []
    return one_line(", ".join([*collection, *title, found.source, *page, *([found.section] if found.section else [])]))


def _shortened(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _EXCERPT else words[: _EXCERPT - 1].rsplit(" ", 1)[0] + " …"


def _wrapped(text: str, indent: str = "") -> list[str]:
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    lines = textwrap.wrap(
        _MARK.sub("\u00a0\\1", plain(text)),  # a mark stays on the line of the words it belongs to
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,  # paths and commands stay such that they can be copied
        break_on_hyphens=False,
    )
    return [line.replace("\u00a0", " ") for line in lines] or [""]
