"""The tab Ask: questions, streamed answers and their sources, in one conversation for each browser."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_core.index.searchable import Searchable
from elt_llm_core.results import QueryResult
from elt_llm_core.state.sessions import Verdict
from elt_llm_core.text.outline import page_label
from elt_llm_query.evaluate.generated_questions import (
    ROW,
    GeneratedQuestion,
    QuestionTemplates,
    generate_questions,
    templates_for,
)
from elt_llm_query.synthesis.events import AnswerDelta, AnswerStarted, Event, QuestionRewritten, SourcesFound
from elt_llm_query.understanding.routing import has_only_fact_sheets

from elt_llm_api.display.text import count_noun
from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.conversations import ConversationActions, FeedbackActions
from elt_llm_api.serve.actions.questions import LONGEST_QUESTION, AskRequest, FinalAnswer, KeepAlive, QuestionActions
from elt_llm_api.serve.safe_text import escape_html, escape_markdown
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui import controls
from elt_llm_api.serve.ui.markup import answer_markdown, failure_markdown, flatten_lines, partial_markdown
from elt_llm_api.serve.ui.sources import SourceCard, SourcePanel, chunk_cards, cited_cards

T = TypeVar("T")
ChatbotMessage = dict[str, Any]
"""A message of the chat: `{"role": "user" or "assistant", "content": Markdown}`."""
_PENDING = "…"
_EXAMPLES = 4
_GENERATED = 120  # generated questions, of which a few are shown
_PLAIN_QUESTION = re.compile(r"\w[\w' ]{7,60}\?$")
_MOST_CHUNKS_READ = 5000  # examples from a larger collection take too long
_PLACEHOLDER = "## Ask your documents\n\nEvery answer quotes them and shows where each sentence is."
_SECONDS_BETWEEN_UPDATES = 0.06  # between updates while an answer is written


class PendingAnswers:
    """The answers in progress, by Gradio session. Use an instance in one event loop only."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Event] = {}

    def start(self, session: str) -> asyncio.Event:
        """Return an event that is set when this session stops its answer. Stops a previous answer."""
        self.stop(session)
        stopped = self._running[session] = asyncio.Event()
        return stopped

    def stop(self, session: str) -> None:
        """Stop the answer of a session, if there is one."""
        if running := self._running.pop(session, None):
            running.set()

    def is_running(self, session: str) -> bool:
        """Return whether an answer is in progress for this session."""
        return session in self._running

    def end(self, session: str, stopped: asyncio.Event) -> None:
        """Remove a finished answer."""
        if self._running.get(session) is stopped:
            del self._running[session]


async def until_stopped(events: AsyncGenerator[T, None], stopped: asyncio.Event) -> AsyncGenerator[T, None]:
    """Yield the events until `stopped` is set. The generator of the events is closed at the end."""
    waiting = asyncio.ensure_future(stopped.wait())
    try:
        while True:
            step = asyncio.ensure_future(anext(events, None))
            try:
                await asyncio.wait({step, waiting}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not step.done():
                    step.cancel()
                    with suppress(asyncio.CancelledError):
                        await step
            if step.cancelled() or (event := step.result()) is None:
                return
            yield event
    finally:
        waiting.cancel()
        await events.aclose()


@dataclass(frozen=True)
class ConversationState:
    """What a browser shows of a conversation. `session` is None before the first question."""

    session: str | None = None
    messages: tuple[ChatbotMessage, ...] = ()
    cards: tuple[SourceCard, ...] = ()
    turns: tuple[int | None, ...] = ()
    """The turn number of each question, which identifies the answer in a rating; None if the turn was not stored."""
    result: QueryResult | None = None
    status: str = ""
    """The current activity, in a few words."""

    def with_answer(self, markdown: str, **changes: Any) -> "ConversationState":
        """Return a copy whose last message is this Markdown. `changes` are new values of other fields."""
        return replace(self, messages=(*self.messages[:-1], _assistant_message(markdown)), **changes)


@dataclass
class _AnswerInProgress:
    text: str = ""
    understood: str = ""
    shown_at: float = 0.0

    def apply(self, event: Event | KeepAlive | FinalAnswer, state: ConversationState) -> ConversationState:
        """Return the state of the conversation after an event."""
        match event:
            case KeepAlive():
                return state
            case QuestionRewritten(question):
                self.understood = question
                return replace(state, status=f"Understood as: {question}")
            case SourcesFound(chunks):
                return replace(state, cards=tuple(chunk_cards(chunks)), status="Reading the chunks …")
            case AnswerStarted():
                self.text = ""
                return replace(state, status="Answering …")
            case AnswerDelta(text):
                self.text += text
                return state.with_answer(partial_markdown(self.text))
            case FinalAnswer(result):
                note = f'<div class="facts">Understood as: {escape_html(self.understood)}</div>\n\n'
                answer = (note if self.understood else "") + answer_markdown(result)
                cited = f"Answered with {count_noun(len(result.citations), 'citation')}."
                status = cited if result.answered else "Not found; the closest chunks are shown."
                return state.with_answer(answer, cards=tuple(cited_cards(result)), result=result, status=status)


class ConversationHandler:
    """Answers questions of browsers as a sequence of conversation states to show."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._questions, self._conversations = QuestionActions(services), ConversationActions(services)
        self.pending = PendingAnswers()

    async def ask(
        self, principal: Principal, browser: str, question: AskRequest, before: ConversationState
    ) -> AsyncGenerator[ConversationState, None]:
        """Yield the conversation with the question, then with the growing answer, then with the complete answer.

        `browser` is the Gradio session that `pending.stop` stops. An error is shown as the answer.
        """
        earlier = before.messages
        if earlier and earlier[-1]["content"] == _PENDING:  # a new question stops the previous answer
            earlier = (*earlier[:-1], _assistant_message(partial_markdown("", "Stopped.")))
        state = replace(
            before,
            messages=(*earlier, _user_message(question.question), _assistant_message(_PENDING)),
            turns=(*before.turns, None),
            cards=(),
            result=None,
            status="Searching …",
        )
        yield state
        stopped = self.pending.start(browser)
        answer = _AnswerInProgress()
        try:
            create = self._conversations.create
            session = before.session or (await asyncio.to_thread(create, principal, question)).session_id
            state = replace(state, session=session)
            events = self._questions.stream(principal, question.model_copy(update={"session": session}))
            async for event in until_stopped(events, stopped):
                state = answer.apply(event, state)
                if not isinstance(event, AnswerDelta) or time.monotonic() - answer.shown_at > _SECONDS_BETWEEN_UPDATES:
                    answer.shown_at = time.monotonic()
                    yield state
            if state.result is not None:
                [last] = await asyncio.to_thread(self._services.sessions.turns, session, 1)
                yield replace(state, turns=(*state.turns[:-1], last.number))
            elif stopped.is_set() and not self.pending.is_running(browser):  # else the next question is shown
                yield state.with_answer(partial_markdown(answer.text, "Stopped."), status="Stopped.")
        except EltError as error:
            yield state.with_answer(failure_markdown(error), status="Failed.")
        finally:
            self.pending.end(browser, stopped)

    async def reopen(self, principal: Principal, session: str) -> ConversationState:
        """Return an earlier conversation of the caller, with the sources of its last answer. Raises Forbidden."""
        record, turns = await asyncio.to_thread(self._conversations.read, principal, session)
        messages = [
            message
            for turn in turns
            for message in (_user_message(turn.asked), _assistant_message(answer_markdown(turn.result)))
        ]
        result = turns[-1].result if turns else None
        cards = tuple(cited_cards(result)) if result else ()
        return ConversationState(record.session_id, tuple(messages), cards, tuple(one.number for one in turns), result)


def _user_message(text: str) -> ChatbotMessage:
    return {"role": "user", "content": escape_markdown(text)}


def _assistant_message(markdown: str) -> ChatbotMessage:
    return {"role": "assistant", "content": markdown}


def copyable_text(result: QueryResult) -> str:
    """Return the answer and its citations as plain text, for the clipboard."""
    lines = [result.answer, ""]
    for one in result.citations:
        place = ", ".join(filter(None, [one.source, page_label(one.source, one.page, one.section)]))
        lines.append(f"{one.reference} {one.source_title} ({place}): “{flatten_lines(one.excerpt)}”")
    return "\n".join(lines).strip()


def natural_questions(generated: Sequence[GeneratedQuestion], templates: QuestionTemplates) -> tuple[str, ...]:
    """Return a few questions as people ask them: headings that are questions first, then short names and terms."""
    asked, about = [], []
    prefixes = [one.partition("{")[0] for one in (templates.about, templates.meaning)]
    for one in generated:
        if one.kind == ROW or not _PLAIN_QUESTION.match(one.text):
            continue
        subjects = [one.text.removeprefix(prefix) for prefix in prefixes if one.text.startswith(prefix)]
        if not subjects:
            asked.append(one.text)
        elif min(subjects, key=len)[:1].isupper():
            about.append(one.text)
    return tuple([*asked[: _EXAMPLES // 2], *about][:_EXAMPLES])


class ExampleQuestions:
    """Questions that the documents answer, made from their headings and definitions, for an empty conversation."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._made: dict[str, tuple[int, tuple[str, ...]]] = {}
        """The generation that was read, and its questions, by collection."""
        self.of(services.collection_names())  # fills the cache now, so that the first visitor does not wait

    def of(self, collections: Sequence[str]) -> list[str]:
        """Return a few questions about the first of these collections for which questions can be generated."""
        published = {record.name: record.published for record in self._services.store.collections.all()}
        for name in collections:
            number = published.get(name)
            if number is not None and self._made.get(name, (None,))[0] != number:
                try:
                    with self._services.engines.lend((name,), "default") as engine:
                        self._made[name] = number, self._of_generation(engine.generations[0])
                except EltError:  # the collection is damaged (the tab Health reports this) or has no heading
                    self._made[name] = number, ()
            if name in self._made and self._made[name][1]:
                return list(self._made[name][1])
        return []

    def _of_generation(self, generation: Searchable) -> tuple[str, ...]:
        if generation.size > _MOST_CHUNKS_READ or has_only_fact_sheets(generation):
            return ()
        generated = generate_questions(generation, _GENERATED)
        return natural_questions(generated, templates_for(generation.passport.language))


class AskTab:
    """The controls of the tab, and their event handlers."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._conversation, self._feedback = ConversationHandler(services), FeedbackActions(services)
        self._examples = ExampleQuestions(services)
        with gr.Row(elem_id="ask"):
            with gr.Column(scale=1, min_width=220, elem_id="ask-settings"):
                self._lay_out_settings()
            with gr.Column(scale=4, min_width=320, elem_id="ask-conversation"):
                self._lay_out_conversation()
            with gr.Column(scale=3, min_width=320, elem_id="sources", visible=False) as self._side:
                gr.Markdown("### Sources")
                self._sources = SourcePanel(services)
        self._wire()

    def _lay_out_settings(self) -> None:
        self._new = gr.Button("New conversation", elem_id="new-conversation")
        self._collections = gr.CheckboxGroup([], label="Collections", info="None ticked: all texts.")
        self._earlier = gr.Dropdown([], label="Earlier conversations", info="Choose one to continue it.")
        with gr.Accordion("Search settings", open=False, elem_id="search-settings"):
            self._profile = gr.Dropdown(["default"], value="default", label="Profile", info="How to search.")

    def _lay_out_conversation(self) -> None:
        self._chat = gr.Chatbot(
            label="Conversation",
            show_label=False,
            elem_id="conversation",
            height="56vh",
            buttons=[],
            latex_delimiters=[],
            allow_tags=False,
            allow_file_downloads=False,
            placeholder=_PLACEHOLDER,
        )
        self._status = controls.html_area("status")
        self._question = gr.Textbox(
            label="Question",
            placeholder="Ask a question; Shift+Enter starts a new line.",
            lines=1,
            max_lines=6,
            max_length=LONGEST_QUESTION,
            elem_id="question",
            autofocus=True,
            submit_btn="Ask",
            html_attributes=gr.InputHTMLAttributes(enterkeyhint="send"),
        )
        with gr.Accordion("The last answer as text", open=False, elem_id="copy"):
            self._copy = gr.Textbox(label="Answer with its sources", buttons=["copy"], lines=4, interactive=False)
        self._state = gr.State(ConversationState())

    def _wire(self) -> None:
        shown = [self._chat, self._status, self._copy, self._state, self._side, *self._sources.outputs]
        asking = [self._question, self._collections, self._profile, self._state]
        choices = [self._collections, self._profile, self._earlier, self._chat]
        gr.on(None, self.choices, None, choices, **controls.QUIET_EVENT)
        answering: dict[str, Any] = {"concurrency_limit": None, "trigger_mode": "multiple", **controls.QUIET_EVENT}
        settling = [self._state], [self._earlier, self._side, *self._sources.groups]
        asked = self._question.submit(self.ask, asking, [self._question, *shown], **answering)
        asked.then(self.settle, *settling, **controls.QUIET_EVENT)
        chosen = self._chat.example_select(self.ask_example, asking[1:], [self._question, *shown], **answering)
        chosen.then(self.settle, *settling, **controls.QUIET_EVENT)
        self._question.stop(self.stop, None, None, **controls.QUIET_EVENT)
        self._profile.input(self.describe_profile, [self._profile], [self._profile], **controls.QUIET_EVENT)
        fresh = [self._question, self._earlier, *shown]
        gr.on([self._new.click, self._chat.clear], self.start_again, None, fresh, **controls.QUIET_EVENT)
        self._earlier.input(self.reopen, [self._earlier], shown, **controls.QUIET_EVENT)
        self._chat.like(self.rate, [self._state], [self._status], **controls.QUIET_EVENT)

    def choices(self, request: gr.Request) -> list[Any]:
        """Return the collections, profiles and conversations that this caller can choose, when the page is opened."""
        principal = controls.principal_of_event(request)
        collections = principal.readable(self._services.collection_names())
        return [
            gr.update(choices=controls.collection_choices(self._services, principal)),
            gr.update(choices=controls.profile_choices(self._services)),
            gr.update(choices=controls.conversation_choices(self._services, principal)),
            gr.update(examples=[{"text": question} for question in self._examples.of(collections)]),
        ]

    def describe_profile(self, name: str) -> Any:
        """Show the description of the chosen profile."""
        profile = self._services.active.profiles.get(name)
        return gr.update(info=profile.description if profile else "")

    def settle(self, state: ConversationState, request: gr.Request) -> controls.ComponentUpdates:
        """Refresh the list of conversations and hide unused source cards after an answer."""
        earlier = gr.update(choices=controls.conversation_choices(self._services, controls.principal_of_event(request)))
        side = {self._side: gr.update(visible=bool(state.cards))}
        return {self._earlier: earlier, **side, **self._sources.hide_unused(state.cards)}

    async def ask(
        self, question: str, collections: Sequence[str], profile: str, state: ConversationState, request: gr.Request
    ) -> AsyncGenerator[controls.ComponentUpdates, None]:
        """Answer a question and show the progress."""
        if not question.strip():
            yield {self._status: "Type a question first."}
            return
        browser = str(request.session_hash)
        asked = AskRequest(question=question.strip(), collections=tuple(collections or ()), profile=profile)
        yield {self._question: gr.update(value="", submit_btn=False, stop_btn="Stop")}
        states = self._conversation.ask(controls.principal_of_event(request), browser, asked, state)
        cards: Sequence[Any] = ()
        try:
            async for now in states:
                updates = self._show(now) if now.cards != cards or now.result else self._show_messages(now)
                cards = now.cards
                yield updates
        finally:
            await states.aclose()
        if not self._conversation.pending.is_running(browser):  # otherwise the next question is being answered
            yield {self._question: gr.update(submit_btn="Ask", stop_btn=False)}

    async def ask_example(
        self,
        collections: Sequence[str],
        profile: str,
        state: ConversationState,
        event: gr.SelectData,
        request: gr.Request,
    ) -> AsyncGenerator[controls.ComponentUpdates, None]:
        """Ask the example question that was clicked."""
        async for updates in self.ask(str(event.value["text"]), collections, profile, state, request):
            yield updates

    async def stop(self, request: gr.Request) -> None:
        """Stop the answer in progress."""
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
        """Store a thumb up or down for the turn that a message belongs to."""
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
        side = gr.update(visible=bool(state.cards))
        return {**self._show_messages(state), self._copy: copy, self._side: side, **self._sources.show(state.cards)}

    def _show_messages(self, state: ConversationState) -> controls.ComponentUpdates:
        return {self._chat: list(state.messages), self._status: escape_html(state.status), self._state: state}
