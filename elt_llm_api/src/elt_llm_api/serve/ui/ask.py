"""The tab Ask: questions, answers as they are made, and their sources beside them."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_core.state.feedback import Verdict

from elt_llm_api.serve.actions.asking import LONGEST_QUESTION, AskRequest
from elt_llm_api.serve.actions.feedback import Opinions
from elt_llm_api.serve.safe_text import as_text
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.callers import principal_of
from elt_llm_api.serve.ui.choices import collection_choices, conversation_choices, profile_choices, profile_told
from elt_llm_api.serve.ui.conversation import Conversation, Talking, copied
from elt_llm_api.serve.ui.handlers import QUIET, Updates
from elt_llm_api.serve.ui.sources import Sources


@dataclass(frozen=True)
class _Controls:
    """What stands on the tab."""

    collections: gr.Dropdown
    profile: gr.Dropdown
    earlier: gr.Dropdown
    afresh: gr.Button
    chat: gr.Chatbot
    said: gr.Markdown
    question: gr.Textbox
    send: gr.Button
    stop: gr.Button
    copy: gr.Textbox
    state: gr.State


def build(services: Services) -> None:
    """Lay out the tab and say what its controls do."""
    with gr.Row(elem_id="ask"):
        with gr.Column(scale=3, min_width=320):
            controls = _laid_out()
        with gr.Column(scale=2, min_width=320, elem_id="sources"):
            gr.Markdown("### Sources")
            sources = Sources(services)
    _Tab(services, controls, sources).wire()


def _laid_out() -> _Controls:
    with gr.Row(elem_id="ask-settings"):
        collections = gr.Dropdown([], multiselect=True, label="Collections", info="None chosen: all you may read.")
        profile = gr.Dropdown(["default"], value="default", label="Profile", info="How passages are found.")
        earlier = gr.Dropdown([], label="Earlier conversations", info="Choose one to go on with it.")
    chat = gr.Chatbot(
        label="Conversation",
        elem_id="conversation",
        height=440,
        buttons=[],
        latex_delimiters=[],
        allow_tags=False,
        allow_file_downloads=False,
        placeholder="Ask about your documents. Each sentence of an answer comes with the place it stands at.",
    )
    said = gr.Markdown("", elem_id="said", latex_delimiters=[])
    question = gr.Textbox(
        label="Question",
        placeholder="Type a question and press Enter; Shift+Enter begins a new line.",
        lines=1,
        max_lines=6,
        max_length=LONGEST_QUESTION,
        elem_id="question",
        autofocus=True,
    )
    with gr.Row(elem_id="ask-buttons"):
        send = gr.Button("Ask", variant="primary", elem_id="send")
        stop = gr.Button("Stop", variant="stop", interactive=False, elem_id="stop")
        afresh = gr.Button("New conversation", elem_id="afresh")
    with gr.Accordion("The last answer as text", open=False, elem_id="copy"):
        copy = gr.Textbox(label="Answer with its sources", buttons=["copy"], lines=4, interactive=False)
    state = gr.State(Conversation())
    return _Controls(collections, profile, earlier, afresh, chat, said, question, send, stop, copy, state)


class _Tab:
    """The handlers of the tab: each takes what controls hold, calls an action, and says what changes."""

    def __init__(self, services: Services, controls: _Controls, sources: Sources) -> None:
        self._services, self._controls, self._sources = services, controls, sources
        self._talking, self._opinions = Talking(services), Opinions(services)

    def wire(self) -> None:
        """Say which control calls what."""
        on = self._controls
        shown = [on.chat, on.said, on.send, on.stop, on.copy, on.state, *self._sources.outputs]
        asking = [on.question, on.collections, on.profile, on.state]
        gr.on(None, self.choices, None, [on.collections, on.profile, on.earlier], **QUIET)
        gr.on(
            [on.question.submit, on.send.click],
            self.ask,
            asking,
            [on.question, *shown],
            concurrency_limit=None,
            trigger_mode="multiple",
            **QUIET,
        ).then(self.settled, [on.state], [on.earlier, *self._sources.groups], **QUIET)
        on.stop.click(self.stop, None, None, **QUIET)
        on.profile.input(self.profile_told, [on.profile], [on.profile], **QUIET)
        gr.on([on.afresh.click, on.chat.clear], self.afresh, None, [on.question, on.earlier, *shown], **QUIET)
        on.earlier.input(self.reopen, [on.earlier], shown, **QUIET)
        on.chat.like(self.like, [on.state], [on.said], **QUIET)
        self._sources.wire()

    def choices(self, request: gr.Request) -> list[Any]:
        """What this caller can choose from, when the page is opened."""
        principal = principal_of(request)
        return [
            gr.update(choices=collection_choices(self._services, principal)),
            gr.update(choices=profile_choices(self._services)),
            gr.update(choices=conversation_choices(self._services, principal)),
        ]

    def profile_told(self, name: str) -> Any:
        """What the chosen profile is for."""
        return gr.update(info=profile_told(self._services, name))

    def settled(self, state: Conversation, request: gr.Request) -> Updates:
        """After an answer: the conversations as they are now, and its sources alone."""
        earlier = gr.update(choices=conversation_choices(self._services, principal_of(request)))
        return {self._controls.earlier: earlier, **self._sources.settled(state.cards)}

    async def ask(
        self, question: str, collections: Sequence[str], profile: str, state: Conversation, request: gr.Request
    ) -> AsyncGenerator[Updates, None]:
        """Answer a question, and show how far it is."""
        on = self._controls
        if not question.strip():
            yield {on.said: "Type a question first."}
            return
        asked = AskRequest(question=question.strip(), collections=tuple(collections or ()), profile=profile)
        yield {on.question: "", on.send: gr.update(interactive=False), on.stop: gr.update(interactive=True)}
        answering = self._talking.ask(principal_of(request), str(request.session_hash), asked, state)
        cards: Sequence[Any] = ()
        try:
            async for now in answering:
                changes = self._shown(now) if now.cards != cards or now.result else self._written(now)
                cards = now.cards
                yield changes
        finally:
            await answering.aclose()
        if not self._talking.stops.runs(str(request.session_hash)):  # else the next question is being answered
            yield {on.send: gr.update(interactive=True), on.stop: gr.update(interactive=False)}

    async def stop(self, request: gr.Request) -> None:
        """End the answer that is being made."""
        self._talking.stops.stop(str(request.session_hash))

    def afresh(self, request: gr.Request) -> Updates:
        """Begin again with nothing."""
        self._talking.stops.stop(str(request.session_hash))
        return {self._controls.question: "", self._controls.earlier: None, **self._shown(Conversation())}

    async def reopen(self, session: str | None, request: gr.Request) -> Updates:
        """Go on with an earlier conversation."""
        if not session:
            return {self._controls.said: ""}
        try:
            return self._shown(await self._talking.reopened(principal_of(request), session))
        except EltError as error:
            return {self._controls.said: as_text(f"{error} {error.hint}")}

    async def like(self, state: Conversation, event: gr.LikeData, request: gr.Request) -> str:
        """Keep a thumb up or down."""
        turn = state.turns[pair] if (pair := _number(event.index) // 2) < len(state.turns) else None
        if state.session is None or turn is None or event.liked not in {True, False}:
            return "Only a whole answer can be rated."
        verdict: Verdict = "up" if event.liked else "down"
        try:
            await asyncio.to_thread(self._opinions.of_turn, principal_of(request), state.session, turn, verdict, "")
        except EltError as error:
            return as_text(f"{error} {error.hint}")
        return "Thank you: kept as helpful." if event.liked else "Thank you: kept as not helpful."

    def _shown(self, now: Conversation) -> Updates:
        copy = copied(now.result) if now.result else ""
        return {**self._written(now), self._controls.copy: copy, **self._sources.shown(now.cards)}

    def _written(self, now: Conversation) -> Updates:
        on = self._controls
        return {on.chat: list(now.messages), on.said: as_text(now.said), on.state: now}


def _number(index: int | tuple[int, int]) -> int:
    """The number of the message that was meant."""
    return index[0] if isinstance(index, tuple) else index
