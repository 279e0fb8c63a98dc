"""One number a source, the same in the prompt, in what is streamed and in the answer that was checked."""

import re
from collections.abc import Sequence

from elt_llm_core.results import Citation, RetrievedChunk

from elt_llm_query.answer.citations import Quote, chunks_of, cite
from elt_llm_query.answer.grounding import Grounded
from elt_llm_query.events import by_number
from elt_llm_query.synthesis.sources import Source

_RUN = re.compile(r"(?:\[\d{1,4}\]\s?)+")
_NUMBER = re.compile(r"\d+")


def by_source(grounded: Grounded, sources: Sequence[Source]) -> tuple[str, tuple[Citation, ...]]:
    """The checked text with the numbers of the sources, and one citation for each source that bears it out.

    A source that bears out several sentences is cited from the first to the last of the places that do.
    """
    number_of = {source.chunk.node_id: source.number for source in sources}
    numbers = {
        citation.reference.strip("[]"): number_of[quote.chunk.node_id]
        for citation, quote in zip(grounded.citations, _quotes(grounded), strict=False)
    }
    merged: dict[int, Quote] = {}
    for quote in _quotes(grounded):
        number = number_of[quote.chunk.node_id]
        known = merged.get(number, quote)
        merged[number] = Quote(quote.chunk, min(known.start, quote.start), max(known.end, quote.end))
    text = _RUN.sub(lambda run: _renumbered(run[0], numbers), grounded.text)
    return text, tuple(cite(merged[number], number) for number in sorted(merged))


def numbered_as_read(citations: Sequence[Citation], chunks: Sequence[RetrievedChunk]) -> tuple[Citation, ...]:
    """The first citation of each passage, under the number that the passage is listed by, in the order of those."""
    ranked = by_number(chunks)
    first: dict[int, Citation] = {}
    for chunk, citation in zip(chunks_of(citations, chunks), citations, strict=True):
        first.setdefault(ranked.index(chunk) + 1, citation)
    return tuple(first[number].model_copy(update={"reference": f"[{number}]"}) for number in sorted(first))


def _quotes(grounded: Grounded) -> list[Quote]:
    """The places that are cited, each once, in order of first mention."""
    kept = [sentence for sentence in grounded.sentences if sentence.quotes]
    places: dict[tuple[str, str, tuple[int, int]], Quote] = {}
    for sentence in kept:
        for quote in sentence.quotes:
            places.setdefault((quote.chunk.collection, quote.chunk.source_id, quote.span), quote)
    return list(places.values())


def _renumbered(run: str, numbers: dict[str, int]) -> str:
    """The marks of one sentence, each source once, in order."""
    found = sorted({numbers[number] for number in _NUMBER.findall(run) if number in numbers})
    return "".join(f"[{number}]" for number in found) + (" " if run.endswith(" ") else "")
