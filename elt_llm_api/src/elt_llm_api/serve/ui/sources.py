"""The sources of an answer: a card for each, and the place in its document that one opens."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import gradio as gr
from elt_llm_core.errors import EltError

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.documents import Documents
from elt_llm_api.serve.actions.spans import Span, Spans
from elt_llm_api.serve.safe_text import as_text
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.answers import failure_markdown
from elt_llm_api.serve.ui.callers import principal_of
from elt_llm_api.serve.ui.cards import Card, marked_text
from elt_llm_api.serve.ui.handlers import QUIET
from elt_llm_api.serve.ui.html_tables import flat

MOST = 12
"""Cards that are shown; an answer rarely cites more places, and all of them are in its text."""
BEFORE, AFTER = 300, 1500
"""Characters of a document shown before and after the cited ones, at most."""


class Sources:
    """Lays out the cards, and opens their places."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._spans, self._documents = Spans(services), Documents(services)
        self._cards: list[tuple[gr.Column, gr.Markdown, gr.Button]] = []
        self._state = gr.State(())
        self._more = gr.Markdown("", visible=False, latex_delimiters=[])
        with gr.Column(visible=False, elem_id="opened") as self._opened:
            self._place = gr.Markdown("", latex_delimiters=[], elem_id="place")
            self._close = gr.Button("Close this place", size="sm", elem_id="close-place")
        for number in range(1, MOST + 1):
            with gr.Column(visible=False, elem_id=f"source-{number}", elem_classes="source-card") as group:
                text = gr.Markdown("", latex_delimiters=[])
                button = gr.Button(f"Open source {number}", size="sm", elem_id=f"open-{number}")
            self._cards.append((group, text, button))

    @property
    def outputs(self) -> list[Any]:
        """Every component that `shown` may change."""
        return [self._state, self._more, self._opened, *(part for one in self._cards for part in one)]

    def shown(self, cards: Sequence[Card]) -> dict[Any, Any]:
        """The changes that show these cards and no others."""
        changes: dict[Any, Any] = {self._state: tuple(cards), self._opened: gr.update(visible=False)}
        left_out = len(cards) - MOST
        changes[self._more] = gr.update(value=f"{left_out} more are in the answer as text.", visible=left_out > 0)
        for card, (_, text, button) in zip(cards, self._cards, strict=False):
            changes[text] = card.html
            changes[button] = f"Open source {card.reference.strip('[]')}"
        return {**changes, **self.settled(cards)}

    @property
    def groups(self) -> list[Any]:
        """Every component that `settled` may change."""
        return [group for group, _, _ in self._cards]

    def settled(self, cards: Sequence[Card]) -> dict[Any, Any]:
        """The changes that hide all that is not of these cards.

        To be made once more when nothing changes any longer: pages keep what they are told to hide while they draw it.
        """
        return {group: gr.update(visible=place < len(cards)) for place, group in enumerate(self.groups)}

    def wire(self) -> None:
        """Say what the buttons do."""
        for place, (_, _, button) in enumerate(self._cards):
            button.click(
                self._opener(place), [self._state], [self._opened, self._place], scroll_to_output=True, **QUIET
            )
        self._close.click(lambda: gr.update(visible=False), None, [self._opened], **QUIET)

    def _opener(self, place: int) -> Any:
        async def opened(cards: Sequence[Card], request: gr.Request) -> tuple[Any, str]:
            # Within the server's bounds: a page that is drawn takes a process of its own, and much memory.
            try:
                told = await self._services.workers.run(lambda _: self._read(cards[place], request))
            except EltError as error:
                told = failure_markdown(error)
            return gr.update(visible=True), told

        return opened

    def _read(self, card: Card, request: gr.Request) -> str:
        principal = principal_of(request)
        where = card.collection, card.document
        start, end = card.span
        cited = self._spans.get(principal, *where, start, end)
        around = max(0, start - BEFORE), min(cited.length, end + AFTER)
        place = place_html(card.reference, cited, self._spans.get(principal, *where, *around))
        return place + self._picture(principal, cited)

    def _picture(self, principal: Principal, cited: Span) -> str:
        """The page as it is printed, where its file is still there; else nothing, for the text is."""
        if cited.page is None:
            return ""
        try:
            self._documents.page_image(principal, cited.collection, cited.document, cited.page)
        except EltError:
            return ""
        route = (
            f"/v1/documents/{quote(cited.collection, safe='')}/{quote(cited.document, safe='')}/page/{cited.page}.png"
        )
        said = as_text(f"Page {cited.page} of {flat(cited.title)}")
        return f'<div class="opened"><p>{said}, as it is printed</p><img src="{route}" alt="{said}"></div>'


def place_html(reference: str, cited: Span, around: Span) -> str:
    """A place in a document: the text around the cited characters, those marked."""
    facts = [cited.source, *([f"page {cited.page}"] if cited.page else []), *([cited.section] if cited.section else [])]
    told = " · ".join(as_text(flat(fact)) for fact in facts)
    text = marked_text(around.text, cited.start - around.start, cited.end - around.start)
    before, after = "… " if around.start else "", " …" if around.end < around.length else ""
    return (
        f'<div class="opened"><p><b>{as_text(reference)} {as_text(flat(cited.title))}</b><br>{told}</p>'
        f'<div class="text">{before}{text}{after}</div></div>'
    )
