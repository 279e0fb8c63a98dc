"""The tab Ask: questions, streamed answers and their sources, in one conversation for each browser."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_core.index.searchable import Searchable
from elt_llm_core.results import QueryResult
from elt_llm_core.state.sessions import Verdict
from elt_llm_ingest.readers import readable_suffixes
from elt_llm_query.evaluate.generated_questions import (
    ROW,
    GeneratedQuestion,
    QuestionTemplates,
    generate_questions,
    templates_for,
)
from elt_llm_query.synthesis.events import AnswerDelta, AnswerStarted, Event, QuestionRewritten, SourcesFound
from elt_llm_query.understanding.routing import has_only_fact_sheets
from markupsafe import Markup

from elt_llm_api.serve.access.principal import Principal, ReadableCollection
from elt_llm_api.serve.actions.conversations import ConversationActions, FeedbackActions
from elt_llm_api.serve.actions.jobs import JobActions
from elt_llm_api.serve.actions.questions import LONGEST_QUESTION, AskRequest, FinalAnswer, KeepAlive, QuestionActions
from elt_llm_api.serve.actions.uploads import UploadActions
from elt_llm_api.serve.safe_text import escape_html
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui import controls
from elt_llm_api.serve.ui.controls import PageContext
from elt_llm_api.serve.ui.markup import (
    CitationChips,
    answer_markdown,
    failure_markdown,
    fill_template,
    flatten_lines,
    partial_markdown,
    source_place,
    text_html,
)
from elt_llm_api.serve.ui.sources import SourceCard, SourcePanel, chunk_cards, cited_cards
from elt_llm_api.serve.ui.texts import Texts

T = TypeVar("T")
ChatbotMessage = dict[str, Any]
"""A message of the chat: `{"role": "user" or "assistant", "content": Markdown}`."""
_PENDING = "…"
_EXAMPLES = 4
_GENERATED = 120  # generated questions, of which a few are shown
_PLAIN_QUESTION = re.compile(r"\w[\w'\" ]{7,60}\?$")
_MOST_CHUNKS_READ = 5000  # examples from a larger collection take too long
COLLECTION_OF_DROPPED_FILES = "documents"
"""The collection for files that are dropped into the question box unless exactly one collection is ticked."""
_SECONDS_BETWEEN_LOOKS = 0.5  # between looks at the job that reads dropped files
_SECONDS_BETWEEN_UPDATES = 0.06  # between updates while an answer is written


class PendingAnswers:
    """The answers in progress, by Gradio session. Use an instance in one event loop only."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Event] = {}

    def start(self, session: str) -> asyncio.Event:
        """Stop the session's previous answer, and return an event that will be set to stop the new answer."""
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
    """Yield the events until `stopped` is set. `events` is closed at the end."""
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
class ShownTurn:
    """A question with its answer, as a browser shows them."""

    question: str
    markdown: str = _PENDING
    cards: tuple[SourceCard, ...] = ()
    number: int | None = None
    """The number of the stored turn, which identifies the answer in a rating; None if the turn was not stored."""
    result: QueryResult | None = None


@dataclass(frozen=True)
class ConversationState:
    """What a browser shows of a conversation. `session` is None before the first question."""

    session: str | None = None
    turns: tuple[ShownTurn, ...] = ()
    status: str = ""
    """The current activity, in a few words."""
    editing: bool = False
    """Whether the next question replaces the last one."""

    def with_last(self, status: str = "", **changes: Any) -> "ConversationState":
        """Return a copy whose last turn has new values."""
        return replace(self, turns=(*self.turns[:-1], replace(self.turns[-1], **changes)), status=status)

    @property
    def messages(self) -> list[ChatbotMessage]:
        """The questions and answers as messages of the chat."""
        return [
            message
            for turn in self.turns
            for message in (
                {"role": "user", "content": text_html(turn.question)},
                {"role": "assistant", "content": turn.markdown},
            )
        ]

    @property
    def result(self) -> QueryResult | None:
        """The result of the last turn, or None if its answer is not complete."""
        return self.turns[-1].result if self.turns else None

    @property
    def cards(self) -> tuple[SourceCard, ...]:
        """The sources of the last answer. A refusal has none, because its closest chunks are folded below it."""
        if not self.turns or (self.result and self.result.outcome == "not found"):
            return ()
        return self.turns[-1].cards

    def card(self, place: str) -> SourceCard | None:
        """Return the card at a place such as `2.1` (answer 2, citation [1]), or None if it is no longer shown."""
        return next((card for turn in self.turns for card in turn.cards if card.place == place), None)


@dataclass
class _AnswerInProgress:
    texts: Texts
    turn: int
    text: str = ""
    shown_at: float = 0.0
    chips: CitationChips | None = None

    def apply(self, event: Event | KeepAlive | FinalAnswer, state: ConversationState) -> ConversationState:
        """Return the state of the conversation after an event."""
        match event:
            case KeepAlive():
                return state
            case QuestionRewritten(question):
                return replace(state, status=self.texts("ask.understood", question=question))
            case SourcesFound(chunks):
                self.chips = CitationChips(self.turn, chunks, self.texts)
                cards = chunk_cards(chunks, self.texts, self.turn)
                return state.with_last(self.texts("ask.reading"), cards=cards)
            case AnswerStarted():
                self.text = ""
                return replace(state, status=self.texts("ask.answering"))
            case AnswerDelta(text):
                self.text += text
                return state.with_last(state.status, markdown=partial_markdown(self.text, chips=self.chips))
            case FinalAnswer(result):
                answer = answer_markdown(result, self.texts, self.turn)
                cited = self.texts.count("ask.answered", len(result.citations))
                status = cited if result.answered else self.texts("ask.not_found")
                cards = cited_cards(result, self.texts, self.turn)
                return state.with_last(status, markdown=answer, cards=cards, result=result)


class ConversationHandler:
    """Answers questions from browsers. Each answer is a sequence of conversation states to show."""

    def __init__(self, services: Services, texts: Texts) -> None:
        self._services, self._texts = services, texts
        self._questions, self._conversations = QuestionActions(services), ConversationActions(services)
        self.pending = PendingAnswers()

    async def ask(
        self, principal: Principal, browser: str, question: AskRequest, before: ConversationState
    ) -> AsyncGenerator[ConversationState, None]:
        """Yield the conversation with the question, then with the growing answer, then with the complete answer.

        `browser` is the Gradio session that `pending.stop` stops. An error is shown as the answer.
        """
        if before.turns and before.turns[-1].markdown == _PENDING:  # a new question stops the previous answer
            before = before.with_last(markdown=partial_markdown("", self._texts("ask.stopped")))
        turns = (*before.turns, ShownTurn(question.question))
        state = replace(before, turns=turns, status=self._texts("ask.searching"), editing=False)
        stopped = self.pending.start(browser)  # before the first update: an answer that ends now shows no button Ask
        answer = _AnswerInProgress(self._texts, len(turns))
        try:
            yield state
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
                yield state.with_last(state.status, number=last.number)
            elif stopped.is_set() and not self.pending.is_running(browser):  # else the next question is shown
                stop = self._texts("ask.stopped")
                yield state.with_last(stop, markdown=partial_markdown(answer.text, stop, answer.chips))
        except EltError as error:
            failure = failure_markdown(error, self._texts)
            yield state.with_last(self._texts("ask.failed"), markdown=failure, cards=())
        finally:
            self.pending.end(browser, stopped)

    async def remove_last(self, principal: Principal, state: ConversationState) -> ConversationState:
        """Return the conversation without its last turn, which is deleted. Raises Forbidden."""
        last = state.turns[-1]
        if state.session is not None and last.number is not None:
            await asyncio.to_thread(self._conversations.delete_last_turn, principal, state.session, last.number)
        return replace(state, turns=state.turns[:-1], status="")

    async def reopen(self, principal: Principal, session: str) -> ConversationState:
        """Return an earlier conversation of the caller, with the sources of its answers. Raises Forbidden."""
        record, turns = await asyncio.to_thread(self._conversations.read, principal, session)
        shown = tuple(
            ShownTurn(
                turn.asked,
                answer_markdown(turn.result, self._texts, place),
                cited_cards(turn.result, self._texts, place),
                turn.number,
                turn.result,
            )
            for place, turn in enumerate(turns, start=1)
        )
        return ConversationState(record.session_id, shown)


def copyable_text(result: QueryResult, texts: Texts) -> str:
    """Return the answer and its citations as plain text, for the clipboard."""
    lines = [result.answer, ""]
    for one in result.citations:
        place = f"{source_place(one, texts)} ({one.source})"
        lines.append(f"{one.reference} {place}: “{flatten_lines(one.excerpt)}”")
    return "\n".join(lines).strip()


def actions_html(state: ConversationState, texts: Texts) -> str:
    """Return the buttons below an answer that is complete, stopped or failed."""
    if not state.turns or state.turns[-1].markdown == _PENDING:
        return ""
    export = f"/v1/sessions/{state.session}/markdown" if state.session and state.result else ""
    text = copyable_text(state.result, texts) if state.result else ""
    lines = Markup(escape_html(text).replace("\n", "&#10;"))  # noqa: S704 - escaped
    return fill_template("actions", texts, export, lines)


class DroppedFiles:
    """Adds the files that were dropped into the question box, and waits until they can be searched."""

    def __init__(self, services: Services, texts: Texts, pending: PendingAnswers) -> None:
        self._texts, self._pending = texts, pending
        self._uploads, self._jobs = UploadActions(services), JobActions(services)

    async def add(
        self, principal: Principal, browser: str, files: Sequence[str], ticked: Sequence[str]
    ) -> AsyncGenerator[tuple[str, str], None]:
        """Yield (progress as HTML, collection). The collection is "" until the files can be searched.

        If a file is refused or not read, the files stay in the question box. Stopping the answer of this browser
        cancels the job.
        """
        collection = self._target(principal, ticked)
        stopped = self._pending.start(browser)
        try:
            job = await asyncio.to_thread(self._uploads.add, principal, collection, files)
            while not job.has_ended:
                yield controls.job_html(job, self._texts), ""
                await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
                if stopped.is_set():
                    await asyncio.to_thread(self._jobs.cancel, principal, job.id)
                job = await asyncio.to_thread(self._jobs.get, principal, job.id)
            read = job.status == "done" and not controls.unread_files(job.result)
            yield controls.job_html(job, self._texts), collection if read else ""
        except EltError as error:
            yield failure_markdown(error, self._texts), ""
        finally:
            self._pending.end(browser, stopped)

    def _target(self, principal: Principal, ticked: Sequence[str]) -> str:
        """Return the collection for the files: the first that the caller may write of the following.

        The ticked collection, if only one is ticked; `documents`; the collections named in the caller's permissions.
        """
        names = [*(ticked if len(ticked) == 1 else ()), COLLECTION_OF_DROPPED_FILES, *principal.written_patterns]
        return next((name for name in names if principal.may_write(name) and "*" not in name), names[0])


def natural_questions(generated: Sequence[GeneratedQuestion], templates: QuestionTemplates) -> tuple[str, ...]:
    """Return a few questions as people ask them: first headings that are questions, then questions about names."""
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
        self._made: dict[ReadableCollection, tuple[int, tuple[str, ...]]] = {}
        """The generation that was read, and its questions, by collection and conditions."""

    def of(self, collections: Sequence[ReadableCollection]) -> list[str]:
        """Return a few questions about the first of `collections` that questions can be generated from."""
        published = {record.name: record.published for record in self._services.store.collections.all()}
        for one in collections:
            number = published.get(one.name)
            if number is not None and self._made.get(one, (None,))[0] != number:
                try:
                    with self._services.engines.lend((one,)) as engine:
                        self._made[one] = number, self._of_generation(engine.generations[0])
                except EltError:  # the collection is damaged (the tab Health reports this) or has no heading
                    self._made[one] = number, ()
            if one in self._made and self._made[one][1]:
                return list(self._made[one][1])
        return []

    def _of_generation(self, generation: Searchable) -> tuple[str, ...]:
        if generation.size > _MOST_CHUNKS_READ or has_only_fact_sheets(generation):
            return ()
        generated = generate_questions(generation, _GENERATED)
        return natural_questions(generated, templates_for(generation.passport.language))


class AskTab:
    """The controls of the tab Ask, and their event handlers."""

    def __init__(self, page: PageContext) -> None:
        self._services, self._texts, self._pickers = page.services, page.texts, page.pickers
        self._conversation = ConversationHandler(page.services, page.texts)
        self._feedback, self._examples = FeedbackActions(page.services), ExampleQuestions(page.services)
        self._files = DroppedFiles(page.services, page.texts, self._conversation.pending)
        self._state = gr.State(ConversationState())
        with gr.Row(elem_id="ask"):
            with gr.Column(scale=1, min_width=220, elem_id="ask-settings"):
                self._lay_out_settings()
            with gr.Column(scale=4, min_width=320, elem_id="ask-conversation"):
                self._lay_out_conversation()
            self._sources = SourcePanel(page)
        self._wire()

    def _lay_out_settings(self) -> None:
        t = self._texts
        self._new = gr.Button(t("ask.new"), elem_id="new-conversation")
        self._collections = gr.CheckboxGroup([], label=t("ask.collections"), info=t("ask.collections_info"))
        self._earlier = gr.Dropdown([], label=t("ask.earlier"), info=t("ask.earlier_info"))
        with gr.Accordion(t("ask.search_settings"), open=False, elem_id="search-settings"):
            self._profile = gr.Dropdown(
                ["default"], value="default", label=t("ask.profile"), info=t("ask.profile_info")
            )

    def _lay_out_conversation(self) -> None:
        t = self._texts
        self._chat = gr.Chatbot(
            label=t("ask.conversation"), show_label=False, elem_id="conversation", height="56vh", buttons=[],
            latex_delimiters=[], allow_tags=False, allow_file_downloads=False, placeholder=t("ask.welcome"),
        )  # fmt: skip
        with gr.Row(elem_id="ask-line"):
            self._status = controls.html_area("status")
            self._actions = controls.html_area("ask-actions")
        self._question = gr.MultimodalTextbox(
            label=t("ask.question"), show_label=False, placeholder=t("ask.placeholder"), lines=1, max_lines=6,
            elem_id="question", autofocus=True, submit_btn=t("ask.button"), file_count="multiple",
            file_types=sorted(readable_suffixes()), max_plain_text_length=LONGEST_QUESTION,
            html_attributes=gr.InputHTMLAttributes(enterkeyhint="send"),
        )  # fmt: skip
        self._command = controls.command_box("ask", t)

    def _wire(self) -> None:
        shown = [self._chat, self._status, self._actions, self._state, *self._sources.outputs]
        asking = [self._question, self._collections, self._profile, self._state]
        outputs = [self._question, self._collections, self._pickers.changes, *shown]
        answering: dict[str, Any] = {"concurrency_limit": None, "trigger_mode": "multiple", **controls.QUIET_EVENT}
        settling = [self._state], [self._earlier, *self._sources.outputs]
        asked = self._question.submit(self.ask, asking, outputs, **answering)
        chosen = self._chat.example_select(self.ask_example, asking[1:], outputs, **answering)
        commanded = self._command.change(self.run_command, [self._command, *asking[1:]], outputs, **answering)
        for event in (asked, chosen):
            event.then(self.settle, *settling, **controls.QUIET_EVENT)
        commanded.then(self.list_conversations, None, [self._earlier], **controls.QUIET_EVENT)
        self._question.stop(self.stop, None, None, **controls.QUIET_EVENT)
        self._profile.input(self.describe_profile, [self._profile], [self._profile], **controls.QUIET_EVENT)
        fresh = [self._question, self._earlier, *shown]
        gr.on([self._new.click, self._chat.clear], self.start_again, [self._state], fresh, **controls.QUIET_EVENT)
        self._earlier.input(self.reopen, [self._earlier], shown, **controls.QUIET_EVENT)
        self._chat.like(self.rate, [self._state], [self._status], **controls.QUIET_EVENT)
        gr.on(None, self.choices, None, [self._profile, self._earlier, self._question], **controls.QUIET_EVENT)
        self._pickers.add(
            self._collections,
            lambda principal: gr.update(choices=controls.collection_choices(self._services, principal)),
        )
        listed = [self._pickers.listed.change, self._collections.change]
        gr.on(listed, self.welcome, [self._collections], [self._chat], **controls.LATEST_EVENT)

    def choices(self, request: gr.Request) -> list[Any]:
        """Return the profiles and conversations that this caller can choose, when the page is opened.

        Only a caller with write permission can choose files to add.
        """
        principal = controls.principal_of_event(request)
        return [
            gr.update(choices=controls.profile_choices(self._services)),
            gr.update(choices=controls.conversation_choices(self._services, principal)),
            gr.update(sources=["upload"] if principal.may_write_any else []),
        ]

    def welcome(self, ticked: Sequence[str], request: gr.Request) -> Any:
        """Update an empty conversation: questions that the ticked collections answer, or how to add documents."""
        principal = controls.principal_of_event(request)
        collections = self._services.collections(principal, self._services.readable_names(principal))
        welcome = self._texts("ask.welcome" if collections or not principal.may_write_any else "ask.welcome_empty")
        searched = [one for one in collections if not ticked or one.name in ticked]
        examples = [{"text": question} for question in self._examples.of(searched)]
        return gr.update(examples=examples, placeholder=welcome)

    def describe_profile(self, name: str) -> Any:
        """Show the description of the chosen profile."""
        profile = self._services.active.profiles.get(name)
        return gr.update(info=profile.description if profile else "")

    def list_conversations(self, request: gr.Request) -> Any:
        """Return the caller's conversations."""
        principal = controls.principal_of_event(request)
        return gr.update(choices=controls.conversation_choices(self._services, principal))

    def settle(self, state: ConversationState, request: gr.Request) -> controls.ComponentUpdates:
        """Refresh the list of conversations and the sources after an answer.

        The sources are sent again, because a page that is still drawing an answer may miss its last update.
        """
        return {self._earlier: self.list_conversations(request), **self._sources.show(state.cards)}

    async def ask(
        self,
        question: Mapping[str, Any] | None,
        collections: Sequence[str],
        profile: str,
        state: ConversationState,
        request: gr.Request,
    ) -> AsyncGenerator[controls.ComponentUpdates, None]:
        """Add the files that were dropped into the box, then answer the question. Show the progress of both."""
        text, files = str((question or {}).get("text") or "").strip(), list((question or {}).get("files") or ())
        if len(text) > LONGEST_QUESTION or not (text or files):
            wrong = "ask.too_long" if text else "ask.empty"
            yield {self._status: self._texts(wrong, most=self._texts.figure(f"{LONGEST_QUESTION:,}"))}
            return
        scope = tuple(collections or ())
        if files:
            yield {self._question: gr.update(submit_btn=False, stop_btn=self._texts("ask.stop"))}
            principal, added = controls.principal_of_event(request), ""
            async for shown, collection in self._files.add(principal, str(request.session_hash), files, scope):
                added = collection
                yield {self._status: shown}
            if not added:  # the files stay in the box
                yield {self._question: self._idle_box()}
                return
            choices = controls.collection_choices(self._services, principal)
            yield {
                self._collections: gr.update(choices=choices, value=[added]),
                self._pickers.changes: time.time(),
                self._question: gr.update(value=None, **self._idle_box()),
            }
            scope = (added,)
        if text:
            asked = AskRequest(question=text, collections=scope, profile=profile)
            async for updates in self._answer(asked, state, request):
                yield updates

    async def _answer(
        self, asked: AskRequest, state: ConversationState, request: gr.Request
    ) -> AsyncGenerator[controls.ComponentUpdates, None]:
        """Answer a question and show the progress. If the last question is being edited, it is replaced."""
        principal, browser = controls.principal_of_event(request), str(request.session_hash)
        if state.editing and state.turns:
            try:
                state = await self._conversation.remove_last(principal, state)
            except EltError as error:
                yield {self._status: failure_markdown(error, self._texts)}
                return
        states = self._conversation.ask(principal, browser, asked, state)
        stop = gr.update(value=None, submit_btn=False, stop_btn=self._texts("ask.stop"))
        started: controls.ComponentUpdates = {self._question: stop, self._actions: ""}
        cards: Sequence[Any] = ()
        try:
            async for state in states:
                updates = self._show(state) if state.cards != cards or state.result else self._show_messages(state)
                cards = state.cards
                yield {**updates, **started}
                started = {}
        finally:
            await states.aclose()
        if not self._conversation.pending.is_running(browser):  # otherwise the next question is being answered
            yield {self._question: self._idle_box(), **self._show(state)}
        yield {self._status: gr.skip()}  # Gradio repeats the last update, perhaps after the start of the next question

    def _idle_box(self) -> Any:
        return gr.update(submit_btn=self._texts("ask.button"), stop_btn=False)

    async def ask_example(
        self,
        collections: Sequence[str],
        profile: str,
        state: ConversationState,
        event: gr.SelectData,
        request: gr.Request,
    ) -> AsyncGenerator[controls.ComponentUpdates, None]:
        """Ask the example question that was clicked."""
        async for updates in self.ask({"text": event.value["text"]}, collections, profile, state, request):
            yield updates

    async def run_command(
        self, command: str, collections: Sequence[str], profile: str, state: ConversationState, request: gr.Request
    ) -> AsyncGenerator[controls.ComponentUpdates, None]:
        """Open a source, return to all sources, edit the last question, or ask the last question again."""
        name, value = controls.parse_command(command)
        card, last = state.card(value), state.turns[-1] if state.turns else None
        if name == "source":
            principal = controls.principal_of_event(request)
            yield await self._sources.open(card, principal) if card else {self._status: self._texts("sources.gone")}
        elif name == "close":
            yield self._sources.show(state.cards)
        elif name == "edit" and last:
            box = gr.update(value={"text": last.question, "files": []})
            editing = replace(state, editing=True, status=self._texts("ask.editing"))
            yield {self._question: box, self._state: editing, self._status: editing.status}
        elif name == "again" and last:
            asked = AskRequest(question=last.question, collections=tuple(collections or ()), profile=profile)
            async for updates in self._answer(asked, replace(state, editing=True), request):
                yield updates

    async def stop(self, request: gr.Request) -> None:
        """Stop the answer in progress."""
        self._conversation.pending.stop(str(request.session_hash))

    def start_again(self, state: ConversationState, request: gr.Request) -> controls.ComponentUpdates:
        """Start a new conversation. A question that the user is already typing stays in the box."""
        self._conversation.pending.stop(str(request.session_hash))
        edited = {self._question: gr.update(value=None)} if state.editing else {}
        return {**edited, self._earlier: None, **self._show(ConversationState())}

    async def reopen(self, session: str | None, request: gr.Request) -> controls.ComponentUpdates:
        """Continue an earlier conversation."""
        if not session:
            return {self._status: ""}
        try:
            return self._show(await self._conversation.reopen(controls.principal_of_event(request), session))
        except EltError as error:
            return {self._status: failure_markdown(error, self._texts)}

    async def rate(self, state: ConversationState, event: gr.LikeData, request: gr.Request) -> str:
        """Store a thumb up or down for the turn that a message belongs to."""
        place = (event.index[0] if isinstance(event.index, tuple) else event.index) // 2
        number = state.turns[place].number if place < len(state.turns) else None
        if state.session is None or number is None or event.liked not in {True, False}:
            return self._texts("ask.not_rated")
        verdict: Verdict = "up" if event.liked else "down"
        try:
            await asyncio.to_thread(
                self._feedback.rate_turn, controls.principal_of_event(request), state.session, number, verdict, ""
            )
        except EltError as error:
            return failure_markdown(error, self._texts)
        return self._texts(f"ask.rated_{verdict}")

    def _show(self, state: ConversationState) -> controls.ComponentUpdates:
        return {
            **self._show_messages(state),
            self._actions: actions_html(state, self._texts),
            **self._sources.show(state.cards),
        }

    def _show_messages(self, state: ConversationState) -> controls.ComponentUpdates:
        return {self._chat: state.messages, self._status: escape_html(state.status), self._state: state}
