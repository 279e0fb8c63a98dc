"""Sources as cards: number, document, page, section, and the cited words where they stand."""

from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.results import Citation, QueryResult, RetrievedChunk

from elt_llm_api.serve.safe_text import as_text
from elt_llm_api.serve.ui.html_tables import flat

_AROUND = 220  # characters shown before and after the cited words
_LONGEST = 600  # characters of a passage that is shown as it was found


@dataclass(frozen=True)
class Card:
    """One source: what a reader sees of it, and where it stands."""

    reference: str
    html: str
    collection: str
    document: str
    span: tuple[int, int]


def cited_cards(result: QueryResult) -> list[Card]:
    """A card for each citation, in the order of their numbers."""
    several = len({one.collection for one in result.citations}) > 1
    return [_cited(citation, result.contexts, several=several) for citation in result.citations]


def found_cards(chunks: Sequence[RetrievedChunk]) -> list[Card]:
    """A card for each passage that an answer is being made from, by the number it is cited by."""
    several = len({one.collection for one in chunks}) > 1
    cards = []
    for number, chunk in enumerate(chunks, start=1):
        words = flat(chunk.text)
        shown = words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"
        html = _card(f"[{number}]", _place(chunk, several=several), as_text(shown), chunk.score)
        cards.append(Card(f"[{number}]", html, chunk.collection, chunk.source_id, chunk.span))
    return cards


def marked_text(text: str, start: int, end: int) -> str:
    """HTML of a text in which the characters from start to end are marked; line ends stay."""
    before, cited, after = (as_text(part) for part in (text[:start], text[start:end], text[end:]))
    return f'{before}<mark class="cited">{cited}</mark>{after}'.replace("\r", "").replace("\n", "<br>")


def _cited(citation: Citation, contexts: Sequence[RetrievedChunk], *, several: bool) -> Card:
    before, after = _around(citation, contexts)
    quote = f'{as_text(before)}<mark class="cited">{as_text(flat(citation.excerpt))}</mark>{as_text(after)}'
    html = _card(citation.reference, _place(citation, several=several), quote, citation.relevance_score)
    return Card(citation.reference, html, citation.collection, citation.source_id, citation.span)


def _around(citation: Citation, contexts: Sequence[RetrievedChunk]) -> tuple[str, str]:
    """The words of the passage before and after those cited; none where no passage has them."""
    start, end = citation.span
    for chunk in contexts:
        same = (chunk.collection, chunk.source_id) == (citation.collection, citation.source_id)
        if same and chunk.span[0] <= start and end <= chunk.span[1]:
            before = chunk.text[: start - chunk.span[0]]
            after = chunk.text[end - chunk.span[0] :]
            return _last_words(before), _first_words(after)
    return "", ""


def _last_words(text: str) -> str:
    words = flat(text)
    cut = words if len(words) <= _AROUND else f"… {words[-_AROUND:].partition(' ')[2]}"
    return f"{cut} " if cut else ""


def _first_words(text: str) -> str:
    words = flat(text)
    cut = words if len(words) <= _AROUND else f"{words[:_AROUND].rpartition(' ')[0]} …"
    return f" {cut}" if cut else ""


def _place(found: Citation | RetrievedChunk, *, several: bool) -> str:
    """Document, page and section; of several collections also which."""
    named = found.source_title or found.source
    facts = [
        *([found.collection] if several else []),
        *([found.source] if named != found.source and "#" not in found.source else []),
        *([f"page {found.page}"] if found.page else []),
        *([found.section] if found.section else []),
    ]
    told = "".join(f" <span>· {as_text(flat(fact))}</span>" for fact in facts)
    return f"<b>{as_text(flat(named))}</b>{told}"


def _card(reference: str, place: str, quote: str, score: float) -> str:
    """On one line: an empty line would end the HTML."""
    return (
        f'<div class="source"><p class="place"><span class="number">{as_text(reference)}</span> {place}'
        f' <span class="score" title="relevance">{score:.2f}</span></p><blockquote>{quote}</blockquote></div>'
    )
