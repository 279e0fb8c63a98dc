"""The tab Ask: questions, streamed answers and their sources."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_core.state.sessions import Verdict

from elt_llm_api.serve.actions.conversations import FeedbackActions
from elt_llm_api.serve.actions.questions import LONGEST_QUESTION, AskRequest
from elt_llm_api.serve.safe_text import escape_html
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui import controls
from elt_llm_api.serve.ui.conversation import ConversationHandler, ConversationState, copyable_text
from elt_llm_api.serve.ui.markup import failure_markdown
from elt_llm_api.serve.ui.sources import SourcePanel


def build(services: Services) -> None:
    """Lay out the tab and connect its controls."""
    _Tab(services).wire()


class _Tab:
    """The controls of the tab and their handlers."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._conversation, self._feedback = ConversationHandler(services), FeedbackActions(services)
        with gr.Row(elem_id="ask"):
            with gr.Column(scale=3, min_width=320):
                self._lay_out()
            with gr.Column(scale=2, min_width=320, elem_id="sources"):
                gr.Markdown("### Sources")
                self._sources = SourcePanel(services)

    def _lay_out(self) -> None:
        with gr.Row(elem_id="ask-settings"):
            self._collections = controls.collection_picker()
            self._profile = gr.Dropdown(["default"], value="default", label="Profile", info="How to search.")
            self._earlier = gr.Dropdown([], label="Earlier conversations", info="Choose one to continue it.")
        self._chat = gr.Chatbot(
            label="Conversation",
            elem_id="conversation",
            height=440,
            buttons=[],
            latex_delimiters=[],
            allow_tags=False,
            allow_file_downloads=False,
            placeholder="Ask about your documents. Every sentence of an answer has a citation.",
        )
        self._status = controls.html_area("status")
        self._question = gr.Textbox(
            label="Question",
            placeholder="Type a question and press Enter; Shift+Enter starts a new line.",
            lines=1,
            max_lines=6,
            max_length=LONGEST_QUESTION,
            elem_id="question",
            autofocus=True,
        )
        with gr.Row(elem_id="ask-buttons"):
            self._send = gr.Button("Ask", variant="primary", elem_id="send")
            self._stop = gr.Button("Stop", variant="stop", interactive=False, elem_id="stop")
            self._new = gr.Button("New conversation", elem_id="new-conversation")
        with gr.Accordion("The last answer as text", open=False, elem_id="copy"):
            self._copy = gr.Textbox(label="Answer with its sources", buttons=["copy"], lines=4, interactive=False)
        self._state = gr.State(ConversationState())

    def wire(self) -> None:
        """Connect the controls with their handlers."""
        shown = [self._chat, self._status, self._send, self._stop, self._copy, self._state, *self._sources.outputs]
        asking = [self._question, self._collections, self._profile, self._state]
        gr.on(None, self.choices, None, [self._collections, self._profile, self._earlier], **controls.QUIET_EVENT)
        gr.on(
            [self._question.submit, self._send.click],
            self.ask,
            asking,
            [self._question, *shown],
            concurrency_limit=None,
            trigger_mode="multiple",
            **controls.QUIET_EVENT,
        ).then(self.settle, [self._state], [self._earlier, *self._sources.groups], **controls.QUIET_EVENT)
        self._stop.click(self.stop, None, None, **controls.QUIET_EVENT)
        self._profile.input(self.describe_profile, [self._profile], [self._profile], **controls.QUIET_EVENT)
        fresh = [self._question, self._earlier, *shown]
        gr.on([self._new.click, self._chat.clear], self.start_again, None, fresh, **controls.QUIET_EVENT)
        self._earlier.input(self.reopen, [self._earlier], shown, **controls.QUIET_EVENT)
        self._chat.like(self.rate, [self._state], [self._status], **controls.QUIET_EVENT)
        self._sources.wire()

    def choices(self, request: gr.Request) -> list[Any]:
        """The choices of this caller, when the page is opened."""
        principal = controls.principal_of_event(request)
        return [
            gr.update(choices=controls.collection_choices(self._services, principal)),
            gr.update(choices=controls.profile_choices(self._services)),
            gr.update(choices=controls.conversation_choices(self._services, principal)),
        ]

    def describe_profile(self, name: str) -> Any:
        """Show the description of the chosen profile."""
        return gr.update(info=controls.profile_description(self._services, name))

    def settle(self, state: ConversationState, request: gr.Request) -> controls.ComponentUpdates:
        """After an answer, refresh the list of conversations and hide unused cards."""
        earlier = gr.update(choices=controls.conversation_choices(self._services, controls.principal_of_event(request)))
        return {self._earlier: earlier, **self._sources.hide_unused(state.cards)}

    async def ask(
        self, question: str, collections: Sequence[str], profile: str, state: ConversationState, request: gr.Request
    ) -> AsyncGenerator[controls.ComponentUpdates, None]:
        """Answer a question, showing the progress."""
        if not question.strip():
            yield {self._status: "Type a question first."}
            return
        browser = str(request.session_hash)
        asked = AskRequest(question=question.strip(), collections=tuple(collections or ()), profile=profile)
        yield {self._question: "", self._send: gr.update(interactive=False), self._stop: gr.update(interactive=True)}
        states = self._conversation.ask(controls.principal_of_event(request), browser, asked, state)
        cards: Sequence[Any] = ()
        try:
            async for now in states:
                updates = self._show(now) if now.cards != cards or now.result else self._show_messages(now)
                cards = now.cards
                yield updates
        finally:
            await states.aclose()
        if not self._conversation.pending.is_running(browser):  # else the next question is being answered
            yield {self._send: gr.update(interactive=True), self._stop: gr.update(interactive=False)}

    async def stop(self, request: gr.Request) -> None:
        """Stop the answer that is being made."""
        self._conversation.pending.stop(str(request.session_hash))

    def start_again(self, request: gr.Request) -> controls.ComponentUpdates:
        """Start a new conversation."""
        self._conversation.pending.stop(str(request.session_hash))
        return {self._question: "", self._earlier: None, **self._show(ConversationState())}

    async def reopen(self, session: str | None, request: gr.Request) -> controls.ComponentUpdates:
        """Continue an earlier conversation."""
        if not session:
            return {self._status: ""}
        try:
            return self._show(await self._conversation.reopen(controls.principal_of_event(request), session))
        except EltError as error:
            return {self._status: failure_markdown(error)}

    async def rate(self, state: ConversationState, event: gr.LikeData, request: gr.Request) -> str:
        """Store a thumb up or down for the turn of a message."""
        number = (event.index[0] if isinstance(event.index, tuple) else event.index) // 2
        turn = state.turns[number] if number < len(state.turns) else None
        if state.session is None or turn is None or event.liked not in {True, False}:
            return "Only a complete answer can be rated."
        verdict: Verdict = "up" if event.liked else "down"
        try:
            await asyncio.to_thread(
                self._feedback.rate_turn, controls.principal_of_event(request), state.session, turn, verdict, ""
            )
        except EltError as error:
            return failure_markdown(error)
        return "Thank you: rated as helpful." if event.liked else "Thank you: rated as not helpful."

    def _show(self, state: ConversationState) -> controls.ComponentUpdates:
        copy = copyable_text(state.result) if state.result else ""
        return {**self._show_messages(state), self._copy: copy, **self._sources.show(state.cards)}

    def _show_messages(self, state: ConversationState) -> controls.ComponentUpdates:
        return {self._chat: list(state.messages), self._status: escape_html(state.status), self._state: state}
