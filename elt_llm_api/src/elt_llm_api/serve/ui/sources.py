"""Source cards of an answer, and the document text that a card or a citation button such as [1] opens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_core.results import Citation, QueryResult, RetrievedChunk
from markupsafe import Markup

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.documents import DocumentActions, SpanActions
from elt_llm_api.serve.safe_text import escape_html
from elt_llm_api.serve.ui.controls import ComponentUpdates, PageContext, html_area
from elt_llm_api.serve.ui.markup import escape_line, failure_markdown, fill_template, flatten_lines, page_text, shorten
from elt_llm_api.serve.ui.texts import Texts

BEFORE, AFTER = 300, 1500
"""Characters of a document that are shown before and after the cited characters."""
_CONTEXT_WIDTH = 220  # characters shown before and after the cited words on a card
_LONGEST_CHUNK_SHOWN = 600  # characters of a chunk on a card


@dataclass(frozen=True)
class SourceCard:
    """One source of an answer, and the span of the document that the card opens."""

    place: str
    """The number of the answer in the conversation and of the source in the answer, such as `2.1`."""
    reference: str
    name: str
    facts: tuple[str | None, ...]
    quoted: Markup
    collection: str
    document: str
    span: tuple[int, int]
    cited: bool = True
    """Whether the span is marked. Only spans that an answer cites are marked."""


def cited_cards(result: QueryResult, texts: Texts, turn: int = 0) -> tuple[SourceCard, ...]:
    """Return a card for each citation, in the order of citation numbers.

    The cited words are marked, except in the closest chunks of a refusal, which answer nothing.
    """
    cited = result.outcome != "not found"
    mark = '<mark class="cited">{}</mark>' if cited else "{}"
    several = len({one.collection for one in result.citations}) > 1
    cards = []
    for one in result.citations:
        before, after = _context_around(one, result.chunks)
        quoted = escape_html(before) + mark.format(escape_line(one.excerpt)) + escape_html(after)
        cards.append(_create_card(turn, one.reference, one, quoted, texts, several=several, cited=cited))
    return tuple(cards)


def chunk_cards(chunks: Sequence[RetrievedChunk], texts: Texts, turn: int = 0) -> tuple[SourceCard, ...]:
    """Return a card for each chunk that the answer in progress uses, in the order of citation numbers."""
    several = len({one.collection for one in chunks}) > 1
    cards = []
    for number, chunk in enumerate(chunks, start=1):
        quoted = escape_html(shorten(chunk.text, _LONGEST_CHUNK_SHOWN))
        cards.append(_create_card(turn, f"[{number}]", chunk, quoted, texts, several=several, cited=False))
    return tuple(cards)


def _create_card(
    turn: int,
    reference: str,
    source: Citation | RetrievedChunk,
    quoted: str,
    texts: Texts,
    *,
    several: bool,
    cited: bool,
) -> SourceCard:
    """Return a card with document, page and section, and with the collection if `several` were searched."""
    name = source.source_title or source.source
    facts = (
        source.collection if several else None,
        source.source if name != source.source and "#" not in source.source else None,
        page_text(texts, source.source, source.page),
        source.section,
    )
    place, quoted_html = f"{turn}.{reference.strip('[]')}", Markup(quoted)  # noqa: S704 - escaped
    where = source.collection, source.source_id, source.span
    return SourceCard(place, reference, name, facts, quoted_html, *where, cited=cited)


def mark_span(text: str, start: int, end: int) -> str:
    """Return the text as HTML with the characters from `start` to `end`, if any, marked. Line ends are kept."""
    before, cited, after = (escape_html(part) for part in (text[:start], text[start:end], text[end:]))
    marked = f'<mark class="cited">{cited}</mark>' if cited else ""
    return f"{before}{marked}{after}".replace("\r", "").replace("\n", "<br>")


def _context_around(citation: Citation, chunks: Sequence[RetrievedChunk]) -> tuple[str, str]:
    """Return the text of the chunk before and after the cited words, or two empty strings if no chunk contains them."""
    start, end = citation.span
    for chunk in chunks:
        same = (chunk.collection, chunk.source_id) == (citation.collection, citation.source_id)
        if same and chunk.span[0] <= start and end <= chunk.span[1]:
            before = flatten_lines(chunk.text[: start - chunk.span[0]])
            after = flatten_lines(chunk.text[end - chunk.span[0] :])
            if len(before) > _CONTEXT_WIDTH:
                before = f"… {before[-_CONTEXT_WIDTH:].partition(' ')[2]}"
            if len(after) > _CONTEXT_WIDTH:
                after = f"{after[:_CONTEXT_WIDTH].rpartition(' ')[0]} …"
            return before and f"{before} ", after and f" {after}"
    return "", ""


def _first_whole_word(text: str) -> int:
    """Return the offset of the second word, because a cut may have shortened the first word; 0 for a single word."""
    words = text.split(maxsplit=1)
    return len(text) - len(words[1]) if len(words) > 1 else 0


class SourcePanel:
    """The sources of an answer beside the conversation: cards, or the document that a card or a citation opens."""

    def __init__(self, page: PageContext) -> None:
        self._services, self._texts = page.services, page.texts
        self._spans, self._documents = SpanActions(page.services), DocumentActions(page.services)
        with gr.Column(scale=3, min_width=320, elem_id="sources", visible=False) as self._side:
            self._cards = html_area("source-cards")
            self._opened = html_area("opened", visible=False)

    @property
    def outputs(self) -> list[Any]:
        """The components that the methods may update."""
        return [self._side, self._cards, self._opened]

    def show(self, cards: Sequence[SourceCard]) -> ComponentUpdates:
        """Return the updates that show these cards, or hide the panel if there are none."""
        title = f"## {self._texts('sources.title')}\n\n"
        return {
            self._side: gr.update(visible=bool(cards)),
            self._cards: gr.update(value=title + fill_template("cards", self._texts, cards), visible=True),
            self._opened: gr.update(value="", visible=False),
        }

    async def open(self, card: SourceCard, principal: Principal) -> ComponentUpdates:
        """Return the updates that show the document of a card in place of the cards."""
        # The workers limit how many pages are rendered at once: each needs a process and much memory.
        try:
            shown = await self._services.workers.run(lambda _: self._read(card, principal))
        except EltError as error:
            shown = failure_markdown(error, self._texts)
        opened = gr.update(value=shown, visible=True)
        return {self._side: gr.update(visible=True), self._cards: gr.update(visible=False), self._opened: opened}

    def _read(self, card: SourceCard, principal: Principal) -> str:
        """Return HTML of the text around the cited characters, which are marked, and the image of the page."""
        start, end = card.span
        cited = self._spans.get(principal, card.collection, card.document, start, end)
        bounds = max(0, start - BEFORE), min(cited.length, end + AFTER)
        around = self._spans.get(principal, card.collection, card.document, *bounds)
        is_start, is_end = around.start == 0, around.end >= around.length
        low, high = start - around.start, end - around.start
        first = 0 if is_start else _first_whole_word(around.text[:low])
        last = None if is_end else high + len(around.text[high:].rstrip().rpartition(" ")[0])
        marked = (low - first, high - first) if card.cited else (0, 0)
        text = Markup(mark_span(around.text[first:last], *marked))  # noqa: S704 - escaped
        page = (cited.collection, cited.document, cited.source, cited.page)
        image, missing = page_image_path(self._documents, principal, *page)
        if image and card.cited:
            image += f"?start={start}&end={end}"
        return fill_template("opened", self._texts, card.reference, cited, text, is_start, is_end, image, missing)


def page_image_path(
    documents: DocumentActions, principal: Principal, collection: str, document: str, source: str, page: int | None
) -> tuple[str, str]:
    """Return (path of the image of a PDF's page, ""), or ("", reason) if there is no image."""
    if page is None or not source.lower().endswith(".pdf"):
        return "", ""
    try:
        documents.page_image(principal, collection, document, page)
    except EltError as error:
        return "", str(error)
    return f"/v1/documents/{quote(collection, safe='')}/{quote(document, safe='')}/page/{page}.png", ""
