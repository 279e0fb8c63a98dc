"""One conversation in a browser: questions, answers as they are made, and the sources of each."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from elt_llm_core.errors import EltError
from elt_llm_core.results import QueryResult
from elt_llm_query.events import AnswerBegins, Event, Piece, SourcesFound, Understood

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.asking import Answered, Asking, AskRequest, Silence
from elt_llm_api.serve.actions.conversations import Conversations
from elt_llm_api.serve.safe_text import as_markdown, as_text
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.answers import answer_markdown, failure_markdown, partial_markdown
from elt_llm_api.serve.ui.cards import Card, cited_cards, found_cards
from elt_llm_api.serve.ui.html_tables import flat
from elt_llm_api.serve.ui.stopping import Stops, until_stopped

Message = dict[str, Any]
"""`{"role": "user" or "assistant", "content": Markdown}`."""
_WAITING = "…"
_LOOKING = "Looking for passages …"
_BETWEEN = 0.06  # seconds between two looks at an answer that is being written


@dataclass(frozen=True)
class Conversation:
    """What a browser shows of a conversation. `session` is its id, None before the first question."""

    session: str | None = None
    messages: tuple[Message, ...] = ()
    cards: tuple[Card, ...] = ()
    turns: tuple[int | None, ...] = ()
    """For each question with its answer the number of its turn, by which it is rated; None where it was not kept."""
    result: QueryResult | None = None
    said: str = ""
    """What is going on, in a few words."""


@dataclass
class _Writing:
    """An answer that is being written, as far as it is known."""

    text: str = ""
    understood: str = ""
    shown: float = 0.0


class Talking:
    """Asks for browsers, and tells each what to show next."""

    def __init__(self, services: Services) -> None:
        self._services, self._asking, self._conversations = services, Asking(services), Conversations(services)
        self.stops = Stops()

    async def ask(
        self, principal: Principal, browser: str, question: AskRequest, before: Conversation
    ) -> AsyncGenerator[Conversation, None]:
        """The conversation with the question, then with the answer as it is made, then with the whole of it.

        `browser` names whose answer `stops.stop` ends. Failures are told in the conversation.
        """
        messages = (*_settled(before.messages), user(question.question), assistant(_WAITING))
        now = replace(before, messages=messages, turns=(*before.turns, None), cards=(), result=None, said=_LOOKING)
        yield now
        stopped = self.stops.begin(browser)
        writing = _Writing()
        try:
            session = before.session or await self._begun(principal, question)
            now = replace(now, session=session)
            events = self._asking.stream(principal, question.model_copy(update={"session": session}))
            async for event in until_stopped(events, stopped):
                now = _after(event, now, writing)
                if not isinstance(event, Piece) or time.monotonic() - writing.shown > _BETWEEN:
                    writing.shown = time.monotonic()
                    yield now
            if now.result is not None:
                yield await self._numbered(now, session)
            elif stopped.is_set() and not self.stops.runs(browser):  # else the next question is shown already
                yield replace(now, messages=_last(now, partial_markdown(writing.text, "Stopped.")), said="Stopped.")
        except EltError as error:
            yield replace(now, messages=_last(now, failure_markdown(error)), said="It failed.")
        finally:
            self.stops.end(browser, stopped)

    async def reopened(self, principal: Principal, session: str) -> Conversation:
        """A conversation of the caller from before, with the sources of its last answer. Raises Forbidden."""
        record, turns = await asyncio.to_thread(self._conversations.read, principal, session)
        messages = [one for turn in turns for one in (user(turn.asked), assistant(answer_markdown(turn.result)))]
        result = turns[-1].result if turns else None
        cards = tuple(cited_cards(result)) if result else ()
        numbers = tuple(turn.number for turn in turns)
        return Conversation(record.session_id, tuple(messages), cards, numbers, result)

    async def _begun(self, principal: Principal, question: AskRequest) -> str:
        given = question.collections, question.prefixes, question.profile
        return (await asyncio.to_thread(self._conversations.begin, principal, *given)).session_id

    async def _numbered(self, now: Conversation, session: str) -> Conversation:
        """With the number that the last answer was kept under."""
        [last] = await asyncio.to_thread(self._services.sessions.turns, session, 1)
        return replace(now, turns=(*now.turns[:-1], last.number))


def user(text: str) -> Message:
    """What somebody asked, as it was typed."""
    return {"role": "user", "content": as_markdown(text)}


def assistant(markdown: str) -> Message:
    """Markdown of ours, with what documents and models said made safe."""
    return {"role": "assistant", "content": markdown}


def copied(result: QueryResult) -> str:
    """The answer with its sources as plain text, for the clipboard."""
    lines = [result.answer, ""]
    for one in result.citations:
        page = f", page {one.page}" if one.page else ""
        lines.append(f"{one.reference} {one.source_title} ({one.source}{page}): “{flat(one.excerpt)}”")
    return "\n".join(lines).strip()


def _after(event: Event | Silence | Answered, now: Conversation, writing: _Writing) -> Conversation:
    match event:
        case Silence():
            return now
        case Understood(question):
            writing.understood = question
            return replace(now, said=f"Understood as: {question}")
        case SourcesFound(chunks):
            return replace(now, cards=tuple(found_cards(chunks)), said="Reading the passages …")
        case AnswerBegins():
            writing.text = ""
            return replace(now, said="Answering …")
        case Piece(text):
            writing.text += text
            return replace(now, messages=_last(now, partial_markdown(writing.text)))
        case Answered(result):
            understood = f'<div class="facts">Understood as: {as_text(writing.understood)}</div>\n\n'
            told = (understood if writing.understood else "") + answer_markdown(result)
            return replace(
                now, messages=_last(now, told), cards=tuple(cited_cards(result)), result=result, said=_said(result)
            )


def _said(result: QueryResult) -> str:
    if not result.answered:
        return "Not found; the closest passages are shown."
    return f"Answered from {len(result.citations)} {'place' if len(result.citations) == 1 else 'places'}."


def _settled(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages; of an answer that was not begun when the next question came, that it was stopped."""
    if messages and messages[-1]["content"] == _WAITING:
        return (*messages[:-1], assistant(partial_markdown("", "Stopped.")))
    return messages


def _last(now: Conversation, content: str) -> tuple[Message, ...]:
    """The messages with the last one saying this."""
    earlier: Sequence[Message] = now.messages[:-1]
    return (*earlier, assistant(content))
