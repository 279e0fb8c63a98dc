"""Source cards of an answer, and the document text a card opens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_core.results import Citation, QueryResult, RetrievedChunk

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.documents import DocumentActions, DocumentSpan, SpanActions
from elt_llm_api.serve.safe_text import escape_html
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.controls import QUIET_EVENT, ComponentUpdates, html_area, principal_of_event
from elt_llm_api.serve.ui.markup import escape_line, failure_markdown, flatten_lines

MOST_CARDS = 12
"""Cards that are shown; an answer rarely has more citations, and its text has all of them."""
BEFORE, AFTER = 300, 1500
"""Most characters of a document shown before and after the cited ones."""
_CONTEXT_WIDTH = 220  # characters shown before and after the cited words on a card
_LONGEST_CHUNK_SHOWN = 600  # characters of a chunk on a card


@dataclass(frozen=True)
class SourceCard:
    """One source: its HTML and the span it opens."""

    reference: str
    html: str
    collection: str
    document: str
    span: tuple[int, int]


def cited_cards(result: QueryResult) -> list[SourceCard]:
    """A card for each citation, in the order of their numbers."""
    several = len({one.collection for one in result.citations}) > 1
    cards = []
    for one in result.citations:
        before, after = _context_around(one, result.chunks)
        quoted = f'{escape_html(before)}<mark class="cited">{escape_line(one.excerpt)}</mark>{escape_html(after)}'
        cards.append(_create_card(one.reference, one, quoted, one.relevance_score, several=several))
    return cards


def chunk_cards(chunks: Sequence[RetrievedChunk]) -> list[SourceCard]:
    """A card for each chunk that an answer is being made from, in the order of their citation numbers."""
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
    """A card with document, page and section, and the collection if there are `several`. The HTML has no line ends."""
    name = source.source_title or source.source
    facts = [
        source.collection if several else None,
        source.source if name != source.source and "#" not in source.source else None,
        f"page {source.page}" if source.page else None,
        source.section,
    ]
    details = "".join(f" <span>· {escape_line(fact)}</span>" for fact in facts if fact)
    html = (
        f'<div class="source"><p class="location"><span class="number">{escape_html(reference)}</span>'
        f' <b>{escape_line(name)}</b>{details} <span class="score" title="relevance">{score:.2f}</span></p>'
        f"<blockquote>{quoted}</blockquote></div>"
    )
    return SourceCard(reference, html, source.collection, source.source_id, source.span)


def mark_span(text: str, start: int, end: int) -> str:
    """HTML of a text with the characters from `start` to `end` marked; line ends are kept."""
    before, cited, after = (escape_html(part) for part in (text[:start], text[start:end], text[end:]))
    return f'{before}<mark class="cited">{cited}</mark>{after}'.replace("\r", "").replace("\n", "<br>")


def _context_around(citation: Citation, chunks: Sequence[RetrievedChunk]) -> tuple[str, str]:
    """The chunk's words before and after those cited; empty if no chunk contains them."""
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
    """Lays out the cards, and opens their documents."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._spans, self._documents = SpanActions(services), DocumentActions(services)
        self._cards: list[tuple[gr.Column, gr.Markdown, gr.Button]] = []
        self._state = gr.State(())
        self._more = html_area(visible=False)
        with gr.Column(visible=False, elem_id="opened") as self._opened:
            self._text = html_area("opened-text")
            self._close = gr.Button("Close this source", size="sm", elem_id="close-source")
        for number in range(1, MOST_CARDS + 1):
            with gr.Column(visible=False, elem_id=f"source-{number}", elem_classes="source-card") as group:
                text = html_area()
                button = gr.Button(f"Open source {number}", size="sm", elem_id=f"open-{number}")
            self._cards.append((group, text, button))

    @property
    def outputs(self) -> list[Any]:
        """Every component that `show` may update."""
        return [self._state, self._more, self._opened, *(part for one in self._cards for part in one)]

    def show(self, cards: Sequence[SourceCard]) -> ComponentUpdates:
        """The updates that show these cards and no others."""
        updates: ComponentUpdates = {self._state: tuple(cards), self._opened: gr.update(visible=False)}
        more = len(cards) - MOST_CARDS
        updates[self._more] = gr.update(value=f"{more} more are in the answer as text.", visible=more > 0)
        for card, (_, text, button) in zip(cards, self._cards, strict=False):
            updates[text] = card.html
            updates[button] = f"Open source {card.reference.strip('[]')}"
        return {**updates, **self.hide_unused(cards)}

    @property
    def groups(self) -> list[Any]:
        """Every component that `hide_unused` may update."""
        return [group for group, _, _ in self._cards]

    def hide_unused(self, cards: Sequence[SourceCard]) -> ComponentUpdates:
        """The updates that hide the places of missing cards.

        Repeat them after the last update: pages ignore hiding while they draw.
        """
        return {group: gr.update(visible=number < len(cards)) for number, group in enumerate(self.groups)}

    def wire(self) -> None:
        """Connect the buttons with their handlers."""
        opened = [self._opened, self._text]
        for number, (_, _, button) in enumerate(self._cards):
            button.click(self._opener(number), [self._state], opened, scroll_to_output=True, **QUIET_EVENT)
        self._close.click(lambda: gr.update(visible=False), None, [self._opened], **QUIET_EVENT)

    def _opener(self, number: int) -> Any:
        async def open_source(cards: Sequence[SourceCard], request: gr.Request) -> tuple[Any, str]:
            # In a worker, within the server's bounds: drawing a page takes a process and much memory.
            try:
                shown = await self._services.workers.run(lambda _: self._read(cards[number], request))
            except EltError as error:
                shown = failure_markdown(error)
            return gr.update(visible=True), shown

        return open_source

    def _read(self, card: SourceCard, request: gr.Request) -> str:
        """HTML of the text around the cited characters, those marked, and the picture of the page."""
        principal, (start, end) = principal_of_event(request), card.span
        cited = self._spans.get(principal, card.collection, card.document, start, end)
        bounds = max(0, start - BEFORE), min(cited.length, end + AFTER)
        around = self._spans.get(principal, card.collection, card.document, *bounds)
        facts = [cited.source, f"page {cited.page}" if cited.page else None, cited.section]
        details = " · ".join(escape_line(fact) for fact in facts if fact)
        text = mark_span(around.text, start - around.start, end - around.start)
        before, after = "… " if around.start else "", " …" if around.end < around.length else ""
        return (
            f'<div class="opened"><p><b>{escape_html(card.reference)} {escape_line(cited.title)}</b><br>{details}</p>'
            f'<div class="text">{before}{text}{after}</div></div>{self._picture(principal, cited)}'
        )

    def _picture(self, principal: Principal, cited: DocumentSpan) -> str:
        """HTML of the printed page; empty if its file is gone, since the text is shown anyway."""
        if cited.page is None:
            return ""
        try:
            self._documents.page_image(principal, cited.collection, cited.document, cited.page)
        except EltError:
            return ""
        document = f"{quote(cited.collection, safe='')}/{quote(cited.document, safe='')}"
        title = escape_html(f"Page {cited.page} of {flatten_lines(cited.title)}")
        image = f'<img src="/v1/documents/{document}/page/{cited.page}.png" alt="{title}">'
        return f'<div class="opened"><p>{title}, as printed</p>{image}</div>'
