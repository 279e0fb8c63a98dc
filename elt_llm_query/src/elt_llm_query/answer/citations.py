"""Citations of sentences: their place in the document's text, numbered as the answer names them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from elt_llm_core.outline import Outline
from elt_llm_core.results import Citation, RetrievedChunk


@dataclass(frozen=True)
class Quote:
    """A part of a retrieved passage: the words chunk.text[start:end], and how they are said if not as they stand."""

    chunk: RetrievedChunk
    start: int
    end: int
    said: str = ""

    @property
    def span(self) -> tuple[int, int]:
        """Where the words stand in the document's text."""
        return self.chunk.span[0] + self.start, self.chunk.span[0] + self.end

    @property
    def words(self) -> str:
        """The words themselves, unchanged."""
        return self.chunk.text[self.start : self.end]


def number_quotes(quotes: Sequence[Quote]) -> tuple[list[int], tuple[Citation, ...]]:
    """The number of each quote, from 1 in order of first mention, and one citation per place.

    Quotes of the same words at the same place of the same document share a number.
    """
    numbers: dict[tuple[str, str, tuple[int, int]], int] = {}
    citations: list[Citation] = []
    order = []
    for quote in quotes:
        place = (quote.chunk.collection, quote.chunk.source_id, quote.span)
        if place not in numbers:
            numbers[place] = len(numbers) + 1
            citations.append(cite(quote, numbers[place]))
        order.append(numbers[place])
    return order, tuple(citations)


def cite(quote: Quote, number: int) -> Citation:
    """The citation of a quote under a number."""
    chunk = quote.chunk
    return Citation(
        reference=f"[{number}]",
        collection=chunk.collection,
        source_id=chunk.source_id,
        source_title=chunk.source_title,
        source=chunk.source,
        document_hash=chunk.document_hash,
        excerpt=quote.words,
        span=quote.span,
        page=chunk.page,
        section=chunk.section,
        relevance_score=min(1.0, max(0.0, chunk.score)),
    )


def with_places(citations: Sequence[Citation], outlines: Mapping[str, Outline]) -> tuple[Citation, ...]:
    """The citations with the page and section their excerpt begins in, given the outline of each document by its id.

    A passage may run over a page break or hold several short sections: its own place is not always the excerpt's.
    """
    return tuple(
        citation.model_copy(
            update={"page": outline.page_at(citation.span[0]), "section": outline.section_at(citation.span[0])}
        )
        if (outline := outlines.get(citation.source_id))
        else citation
        for citation in citations
    )


def chunks_of(citations: Sequence[Citation], chunks: Sequence[RetrievedChunk]) -> tuple[RetrievedChunk, ...]:
    """The passage of each citation, in the order of their numbers."""
    return tuple(
        next(one for one in chunks if one.source_id == cited.source_id and _holds(one, cited)) for cited in citations
    )


def _holds(chunk: RetrievedChunk, citation: Citation) -> bool:
    return chunk.span[0] <= citation.span[0] and citation.span[1] <= chunk.span[1]
