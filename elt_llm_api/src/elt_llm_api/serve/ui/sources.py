"""Source cards of an answer, and the document text that a card opens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_core.results import Citation, QueryResult, RetrievedChunk
from elt_llm_core.text.outline import page_label
from markupsafe import Markup

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.documents import DocumentActions, DocumentSpan, SpanActions
from elt_llm_api.serve.safe_text import escape_html
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.controls import QUIET_EVENT, ComponentUpdates, html_area, principal_of_event
from elt_llm_api.serve.ui.markup import escape_line, failure_markdown, fill_template, flatten_lines

MOST_CARDS = 12
"""Number of cards that are shown. An answer rarely has more citations, and its text lists all of them."""
BEFORE, AFTER = 300, 1500
"""Characters of a document that are shown before and after the cited characters."""
_CONTEXT_WIDTH = 220  # characters shown before and after the cited words on a card
_LONGEST_CHUNK_SHOWN = 600  # characters of a chunk on a card


@dataclass(frozen=True)
class SourceCard:
    """The HTML of one source, and the span of the document that the card opens."""

    reference: str
    html: str
    collection: str
    document: str
    span: tuple[int, int]


def cited_cards(result: QueryResult) -> list[SourceCard]:
    """Return a card for each citation, in the order of citation numbers.

    The cited words are marked, except in the closest chunks of a refusal, which answer nothing.
    """
    mark = "{}" if result.outcome == "not found" else '<mark class="cited">{}</mark>'
    several = len({one.collection for one in result.citations}) > 1
    cards = []
    for one in result.citations:
        before, after = _context_around(one, result.chunks)
        quoted = escape_html(before) + mark.format(escape_line(one.excerpt)) + escape_html(after)
        cards.append(_create_card(one.reference, one, quoted, one.relevance_score, several=several))
    return cards


def chunk_cards(chunks: Sequence[RetrievedChunk]) -> list[SourceCard]:
    """Return a card for each chunk that the answer in progress uses, in the order of citation numbers."""
    several = len({one.collection for one in chunks}) > 1
    cards = []
    for number, chunk in enumerate(chunks, start=1):
        words = flatten_lines(chunk.text)
        shown = words if len(words) <= _LONGEST_CHUNK_SHOWN else f"{words[:_LONGEST_CHUNK_SHOWN]}…"
        cards.append(_create_card(f"[{number}]", chunk, escape_html(shown), chunk.score, several=several))
    return cards


def _create_card(
    reference: str, source: Citation | RetrievedChunk, quoted: str, score: float, *, several: bool
) -> SourceCard:
    """Return a card with document, page and section, and with the collection if `several`, without line ends."""
    name = source.source_title or source.source
    facts = [
        source.collection if several else None,
        source.source if name != source.source and "#" not in source.source else None,
        page_label(source.source, source.page),
        source.section,
    ]
    html = fill_template("card", reference, name, facts, Markup(quoted), score)  # noqa: S704 - escaped
    return SourceCard(reference, html, source.collection, source.source_id, source.span)


def mark_span(text: str, start: int, end: int) -> str:
    """Return the text as HTML with the characters from `start` to `end` marked. Line ends are kept."""
    before, cited, after = (escape_html(part) for part in (text[:start], text[start:end], text[end:]))
    return f'{before}<mark class="cited">{cited}</mark>{after}'.replace("\r", "").replace("\n", "<br>")


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


class SourcePanel:
    """The source cards of an answer, and an area for the document that a card opens."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._spans, self._documents = SpanActions(services), DocumentActions(services)
        self._cards: list[tuple[gr.Column, gr.Markdown, gr.Button]] = []
        self._state = gr.State(())
        self._more = html_area(visible=False)
        with gr.Column(visible=False, elem_id="opened") as self._opened:
            self._text = html_area("opened-text")
            close = gr.Button("Close this source", size="sm", elem_id="close-source")
        close.click(lambda: gr.update(visible=False), None, [self._opened], **QUIET_EVENT)
        for number in range(1, MOST_CARDS + 1):
            with gr.Column(visible=False, elem_id=f"source-{number}", elem_classes="source-card") as group:
                text = html_area()
                button = gr.Button(f"Open source {number}", size="sm", elem_id=f"open-{number}")
            opened = [self._opened, self._text]
            button.click(self._opener(number - 1), [self._state], opened, scroll_to_output=True, **QUIET_EVENT)
            self._cards.append((group, text, button))

    @property
    def outputs(self) -> list[Any]:
        """The components that `show` may update."""
        return [self._state, self._more, self._opened, *(part for one in self._cards for part in one)]

    def show(self, cards: Sequence[SourceCard]) -> ComponentUpdates:
        """Return the updates that show these cards only."""
        updates: ComponentUpdates = {self._state: tuple(cards), self._opened: gr.update(visible=False)}
        more = len(cards) - MOST_CARDS
        updates[self._more] = gr.update(value=f"{more} more are in the answer as text.", visible=more > 0)
        for card, (_, text, button) in zip(cards, self._cards, strict=False):
            updates[text] = card.html
            updates[button] = f"Open source {card.reference.strip('[]')}"
        return {**updates, **self.hide_unused(cards)}

    @property
    def groups(self) -> list[Any]:
        """The components that `hide_unused` may update."""
        return [group for group, _, _ in self._cards]

    def hide_unused(self, cards: Sequence[SourceCard]) -> ComponentUpdates:
        """Return the updates that hide the cards without a source.

        Send them again after the last update, because a page that is still drawing cards does not hide any.
        """
        return {group: gr.update(visible=number < len(cards)) for number, group in enumerate(self.groups)}

    def _opener(self, number: int) -> Any:
        async def open_source(cards: Sequence[SourceCard], request: gr.Request) -> tuple[Any, str]:
            # The workers limit how many pages are rendered at once: each needs a process and much memory.
            try:
                shown = await self._services.workers.run(lambda _: self._read(cards[number], request))
            except EltError as error:
                shown = failure_markdown(error)
            return gr.update(visible=True), shown

        return open_source

    def _read(self, card: SourceCard, request: gr.Request) -> str:
        """Return HTML of the text around the cited characters, which are marked, and the image of the page."""
        principal, (start, end) = principal_of_event(request), card.span
        cited = self._spans.get(principal, card.collection, card.document, start, end)
        bounds = max(0, start - BEFORE), min(cited.length, end + AFTER)
        around = self._spans.get(principal, card.collection, card.document, *bounds)
        text = Markup(mark_span(around.text, start - around.start, end - around.start))  # noqa: S704 - escaped
        is_start, is_end = around.start == 0, around.end >= around.length
        return fill_template("opened", card.reference, cited, text, is_start, is_end, self._picture(principal, cited))

    def _picture(self, principal: Principal, cited: DocumentSpan) -> str:
        """Return the path of the page image, or an empty string if the original file is gone."""
        if cited.page is None:
            return ""
        try:
            self._documents.page_image(principal, cited.collection, cited.document, cited.page)
        except EltError:
            return ""
        document = f"{quote(cited.collection, safe='')}/{quote(cited.document, safe='')}"
        return f"/v1/documents/{document}/page/{cited.page}.png"
