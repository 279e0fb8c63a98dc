"""Print answers, citations and retrieved chunks as lines, whole or while the answer is streamed."""

import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
from elt_llm_core.results import UNCERTAIN_TEXT, Citation, QueryResult, RetrievedChunk
from elt_llm_core.text.outline import page_label

from elt_llm_api.display.text import one_line, strip_control_characters

if TYPE_CHECKING:
    from elt_llm_query.synthesis.events import Event

_WIDEST = 100
_EXCERPT = 300
_MARK = re.compile(r" (\[\d+\])")


def answer_lines(result: QueryResult) -> Iterator[str]:
    """Return the answer, its sources, its unsupported sentences and its notes as lines."""
    for line in result.answer.splitlines():
        yield from _wrap(line)
    yield from _evidence_lines(result, "Sources")


def _evidence_lines(result: QueryResult, heading: str) -> Iterator[str]:
    """Return the lines below an answer: a warning if it is uncertain, citations, unsupported sentences and notes."""
    if result.outcome == "uncertain":
        yield ""
        yield click.style(
            f"{UNCERTAIN_TEXT} Confidence that the documents hold it: {result.confidence:.0%}.", bold=True
        )
    if result.citations:
        yield ""
        yield click.style(heading if result.answered else "Closest chunks", bold=True)
    several = len(result.metadata.get("generations", {})) > 1
    for citation in result.citations:
        location = location_of(citation, several=several)
        yield f"{click.style(citation.reference, bold=True)} {location}  {citation.relevance_score:.2f}"
        yield from _wrap(f"“{_excerpt(citation.excerpt)}”", indent="    ")
    yield from _unsupported_lines(result)
    yield from _note_lines(result.notes)


def _unsupported_lines(result: QueryResult) -> Iterator[str]:
    """Return the sentences of a written answer that the chunks do not fully support, with the reasons."""
    doubtful = [one for one in result.checked if one.verdict in {"partly", "unsupported"}]
    if doubtful:
        yield ""
        yield click.style("Not supported by the chunks", bold=True)
    for one in doubtful:
        prefix = "partly supported: " if one.verdict == "partly" else ""
        yield from _wrap(f"{prefix}“{_excerpt(one.text)}” {' '.join(one.reasons)}".rstrip(), indent="    ")


def chunk_lines(chunks: Sequence[RetrievedChunk], notes: Sequence[str]) -> Iterator[str]:
    """Return the lines of every chunk: its location, score and excerpt."""
    several = len({chunk.collection for chunk in chunks}) > 1
    for number, chunk in enumerate(chunks, start=1):
        location = location_of(chunk, several=several)
        yield f"{click.style(f'{number}.', bold=True)} {location}  {chunk.score:.2f}"
        yield from _wrap(_excerpt(chunk.text), indent="   ")
    if not chunks:
        yield "No chunk is relevant to this question."
    yield from _note_lines(notes)


def _note_lines(notes: Sequence[str]) -> Iterator[str]:
    """Return the lines of the notes, in grey, after an empty line."""
    if notes:
        yield ""
    for note in notes:
        yield from (click.style(line, dim=True) for line in _wrap(note))


def location_of(source: Citation | RetrievedChunk, *, several: bool = False) -> str:
    """Return document, page and section of a chunk, and its collection if `several` collections were searched.

    A document within a file also gets its title, because `model.drawio#entity/3c51` means nothing to a reader.
    """
    collection = [source.collection] if several else []
    title = [source.source_title] if "#" in source.source else []
    page = list(filter(None, [page_label(source.source, source.page)]))
    section = [source.section] if source.section else []
    return one_line(", ".join([*collection, *title, source.source, *page, *section]))


def _excerpt(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _EXCERPT else words[: _EXCERPT - 1].rsplit(" ", 1)[0] + " …"


def _wrap(text: str, indent: str = "") -> list[str]:
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    lines = textwrap.wrap(
        _MARK.sub("\u00a0\\1", strip_control_characters(text)),  # keep a citation mark on the line of its sentence
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,  # paths and commands can be copied
        break_on_hyphens=False,
    )
    return [line.replace("\u00a0", " ") for line in lines] or [""]


_RESTART_NOTES = {
    "once more": "The sources hardly support this answer. The new answer, after another search:",
    "back": "The new answer is no better. The first answer again:",
}


class StreamPrinter:
    """Prints the events of a streamed answer as they arrive, without wrapping lines."""

    def __init__(self) -> None:
        self._written = ""

    def __call__(self, event: "Event") -> None:
        """Print one event of the streamed answer."""
        from elt_llm_query.synthesis.events import AnswerDelta, AnswerStarted, QuestionRewritten, SourcesFound

        match event:
            case QuestionRewritten(question):
                click.echo(click.style(f"Understood as: {strip_control_characters(question)}", dim=True))
            case SourcesFound(chunks):
                click.echo(click.style("Sources", bold=True))
                several = len({chunk.collection for chunk in chunks}) > 1
                for number, chunk in enumerate(chunks, 1):
                    click.echo(f"{click.style(f'[{number}]', bold=True)} {location_of(chunk, several=several)}")
            case AnswerStarted(again):
                self._written = ""
                click.echo("")
                if again:
                    click.echo(click.style(_RESTART_NOTES[again], dim=True))
            case AnswerDelta(text):
                self._written += text
                click.echo(strip_control_characters(text), nl=False)

    def after(self, result: "QueryResult") -> "Iterator[str]":
        """Return the lines that follow the streamed answer: citations, unsupported sentences and notes.

        If the final result, unlike the streamed text, is a refusal, the lines start with this refusal.
        """
        yield ""
        if not result.answered and not self._refused(result):
            yield ""
            yield click.style(result.answer, bold=True)
        yield from _evidence_lines(result, "Supported by")

    def _refused(self, result: "QueryResult") -> bool:
        """Return whether the streamed text is a refusal: the standard text, or the language model's own words."""
        from elt_llm_query.synthesis.refusals import is_blank, is_refusal

        if is_blank(self._written):
            return False
        return self._written.strip() == result.answer.strip() or is_refusal(self._written)
