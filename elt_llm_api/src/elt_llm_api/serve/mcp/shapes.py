"""What tools tell of passages: enough to read, cite and find each again."""

from collections.abc import Iterator, Sequence

from elt_llm_core.results import RetrievedChunk
from pydantic import Field

from elt_llm_api.serve.actions.spans import Span, Stretch
from elt_llm_api.serve.mcp.fencing import on_one_line


class Passage(Stretch):
    """One passage of a document. `get_span` with the same collection, document and span gives the same text."""

    score: float = Field(description="Score in the final ranking; 1 is the best that is attainable.")


def passage_of(chunk: RetrievedChunk) -> Passage:
    """A passage that was found, without what ranked it."""
    return Passage(
        collection=chunk.collection,
        document=chunk.source_id,
        title=chunk.source_title,
        source=chunk.source,
        start=chunk.span[0],
        end=chunk.span[1],
        page=chunk.page,
        section=chunk.section,
        score=chunk.score,
        text=chunk.text,
    )


def numbered(passages: Sequence[Passage]) -> Iterator[tuple[str, str]]:
    """Our own line about each passage, and its text."""
    for number, passage in enumerate(passages, 1):
        yield f"[{number}] {place_of(passage)}, score {passage.score:.2f}", passage.text


def place_of(stretch: Stretch) -> str:
    """Where a text stands, such as `a.pdf, page 3, Lights (collection samples, document ID, characters 12:48 of 90)`.

    What it is a part of is told where that is known.
    """
    exactly = f"collection {stretch.collection}, document {stretch.document}, characters {stretch.start}:{stretch.end}"
    length = f" of {stretch.length}" if isinstance(stretch, Span) else ""
    return place(stretch.source, stretch.page, stretch.section, exactly + length)


def place(source: str, page: int | None, section: str | None, exactly: str) -> str:
    """A place in words; what documents have written of it stays on the line."""
    where = [on_one_line(source)]
    where += [f"page {page}"] if page is not None else []
    where += [on_one_line(section)] if section else []
    return f"{', '.join(where)} ({exactly})"


def with_notes(text: str, notes: Sequence[str]) -> str:
    """A text with what was degraded, cut or left out, under it."""
    return "\n".join((text, *(f"Note: {on_one_line(note, 500)}" for note in notes)))
