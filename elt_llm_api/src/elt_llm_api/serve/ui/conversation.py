"""One conversation in a browser: messages, streaming, and stopping an answer."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from elt_llm_core.errors import EltError
from elt_llm_core.results import QueryResult
from elt_llm_query.synthesis.events import AnswerDelta, AnswerStarted, Event, QuestionRewritten, SourcesFound

from elt_llm_api.display.text import count_noun
from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.conversations import ConversationActions
from elt_llm_api.serve.actions.questions import AskRequest, FinalAnswer, KeepAlive, QuestionActions
from elt_llm_api.serve.safe_text import escape_html, escape_markdown
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.markup import answer_markdown, failure_markdown, flatten_lines, partial_markdown
from elt_llm_api.serve.ui.sources import SourceCard, chunk_cards, cited_cards

T = TypeVar("T")
ChatbotMessage = dict[str, Any]
"""`{"role": "user" or "assistant", "content": Markdown}`."""
_PENDING = "…"
_SECONDS_BETWEEN_UPDATES = 0.06  # while an answer is being written


class PendingAnswers:
    """The answers being made, by the session of a browser. For use in one event loop only."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Event] = {}

    def start(self, session: str) -> asyncio.Event:
        """An event that is set when this session stops its answer; stops a previous answer of the session."""
        self.stop(session)
        stopped = self._running[session] = asyncio.Event()
        return stopped

    def stop(self, session: str) -> None:
        """Stop the answer of a session, if there is one."""
        if running := self._running.pop(session, None):
            running.set()

    def is_running(self, session: str) -> bool:
        """Whether an answer is being made for this session."""
        return session in self._running

    def end(self, session: str, stopped: asyncio.Event) -> None:
        """Remove an answer that has ended."""
        if self._running.get(session) is stopped:
            del self._running[session]


async def until_stopped(events: AsyncGenerator[T, None], stopped: asyncio.Event) -> AsyncGenerator[T, None]:
    """The events until `stopped` is set; closes their generator then, and when this generator is closed."""
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
    """What a browser shows of a conversation. `session` is its id, None before the first question."""

    session: str | None = None
    messages: tuple[ChatbotMessage, ...] = ()
    cards: tuple[SourceCard, ...] = ()
    turns: tuple[int | None, ...] = ()
    """For each question the number of its turn, by which its answer is rated; None if the turn was not stored."""
    result: QueryResult | None = None
    status: str = ""
    """The current activity, in a few words."""

    def with_answer(self, markdown: str, **changes: Any) -> "ConversationState":
        """A copy with another last message, and other changes."""
        return replace(self, messages=(*self.messages[:-1], _assistant_message(markdown)), **changes)


@dataclass
class _AnswerInProgress:
    text: str = ""
    understood: str = ""
    shown_at: float = 0.0

    def apply(self, event: Event | KeepAlive | FinalAnswer, state: ConversationState) -> ConversationState:
        """The state of the conversation after an event."""
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
    """Asks the questions of browsers, and produces the states to show."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._questions, self._conversations = QuestionActions(services), ConversationActions(services)
        self.pending = PendingAnswers()

    async def ask(
        self, principal: Principal, browser: str, question: AskRequest, before: ConversationState
    ) -> AsyncGenerator[ConversationState, None]:
        """The conversation with the question, then with the growing answer, then with the whole of it.

        `browser` names the answer that `pending.stop` stops. Failures are shown in the conversation.
        """
        earlier = before.messages
        if earlier and earlier[-1]["content"] == _PENDING:  # the previous question was overtaken by this one
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
            session = before.session or await self._create_session(principal, question)
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
            elif stopped.is_set() and not self.pending.is_running(browser):  # else the next question is shown already
                yield state.with_answer(partial_markdown(answer.text, "Stopped."), status="Stopped.")
        except EltError as error:
            yield state.with_answer(failure_markdown(error), status="Failed.")
        finally:
            self.pending.end(browser, stopped)

    async def reopen(self, principal: Principal, session: str) -> ConversationState:
        """An earlier conversation of the caller, with the sources of its last answer. Raises Forbidden."""
        record, turns = await asyncio.to_thread(self._conversations.read, principal, session)
        messages = [
            message
            for turn in turns
            for message in (_user_message(turn.asked), _assistant_message(answer_markdown(turn.result)))
        ]
        result = turns[-1].result if turns else None
        cards = tuple(cited_cards(result)) if result else ()
        return ConversationState(record.session_id, tuple(messages), cards, tuple(one.number for one in turns), result)

    async def _create_session(self, principal: Principal, question: AskRequest) -> str:
        scope = question.collections, question.prefixes, question.profile
        return (await asyncio.to_thread(self._conversations.create, principal, *scope)).session_id


def _user_message(text: str) -> ChatbotMessage:
    return {"role": "user", "content": escape_markdown(text)}


def _assistant_message(markdown: str) -> ChatbotMessage:
    return {"role": "assistant", "content": markdown}


def copyable_text(result: QueryResult) -> str:
    """The answer with its citations as plain text, for the clipboard."""
    lines = [result.answer, ""]
    for one in result.citations:
        page = f", page {one.page}" if one.page else ""
        lines.append(f"{one.reference} {one.source_title} ({one.source}{page}): “{flatten_lines(one.excerpt)}”")
    return "\n".join(lines).strip()
