"""Questions and searches of a caller: within its scope, in the bounded threads, over what is published now."""

import asyncio
import logging
import traceback
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import Event as Flag
from typing import TYPE_CHECKING

from elt_llm_core.errors import EltError, UsageError
from elt_llm_core.results import QueryResult
from elt_llm_core.settings import StrategyName
from elt_llm_core.state.erasing import shown_in
from elt_llm_core.state.feedback import RatedAnswer
from elt_llm_core.state.sessions import SessionRecord
from elt_llm_query.conversation.conversation import Conversation
from elt_llm_query.conversation.given_turns import GivenTurns
from elt_llm_query.engine import Engine
from elt_llm_query.events import Event, Listener, unheard
from elt_llm_query.strategies import may_ask_model
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from elt_llm_api.serve.access.principal import Forbidden, Principal
from elt_llm_api.serve.monitoring.observation import Kind
from elt_llm_api.serve.monitoring.recorder import Watch
from elt_llm_api.serve.services import Services

if TYPE_CHECKING:
    from elt_llm_query.retrieve.pipeline import Found

logger = logging.getLogger(__name__)
LONGEST_QUESTION = 20_000  # characters
LONGEST_ANSWER = 100_000
MOST_TURNS = 100


class Abandoned(EltError):
    """Who asked has left."""


class Unexpected(EltError):
    """What nobody thought of happened amid a stream, where no status can tell it any more."""


class Question(BaseModel):
    """What every question names: the words, where to look, and in which way."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = Field(
        min_length=1,
        max_length=LONGEST_QUESTION,
        description="The question, in words.",
        examples=["How many points does a ground need for Grade A?"],
    )
    collections: tuple[str, ...] = Field(
        (), max_length=200, description="Collections to look in; none: those of the profile, else all.", examples=[[]]
    )
    prefixes: tuple[str, ...] = Field(
        (), max_length=50, description="Collections whose names begin so, as far as the key reads them.", examples=[[]]
    )
    profile: str = Field("default", max_length=200, description="Profile to ask with.", examples=["default"])
    where: tuple[str, ...] = Field(
        (), max_length=50, description="Conditions on metadata, such as year>=2020; all must hold.", examples=[[]]
    )
    strategy: StrategyName | None = Field(None, description="How to retrieve; unset: as the profile says.")
    explain: StrictBool = Field(False, description="Whether the trace says what became of each passage.")


class SearchRequest(Question):
    """A search for passages."""

    top_k: StrictInt | None = Field(None, ge=1, le=200, description="Passages to return; unset: as the profile says.")


class Said(BaseModel):
    """One earlier question, and what was answered."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = Field(min_length=1, max_length=LONGEST_QUESTION, examples=["What does a loan cost?"])
    answer: str = Field("", max_length=LONGEST_ANSWER, examples=["A loan costs 40 euros."])


class AskRequest(Question):
    """A question that is to be answered, in a conversation or by itself."""

    session: str | None = Field(
        None, max_length=64, description="Id of the conversation it belongs to; unset: it stands by itself."
    )
    history: tuple[Said, ...] = Field(
        (),
        max_length=MOST_TURNS,
        description="Earlier questions and answers, oldest first, of a conversation that the caller keeps itself.",
        examples=[[]],
    )


@dataclass(frozen=True)
class Silence:
    """Nothing happened for a while; the answer is still being made."""


@dataclass(frozen=True)
class Answered:
    """The last event of a stream: everything that is known when all is said."""

    result: QueryResult


class Asking:
    """Asks for callers. Every way to a question, and so to a trace or an answer, leads through `scope`."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def scope(self, principal: Principal, request: Question) -> tuple[str, ...]:
        """The collections that a request may look in, in order: the one place where that is decided.

        Raises Forbidden for one that the key may not read or if none is left, UsageError for an unknown profile.
        """
        named, prefixes = request.collections, request.prefixes
        if not named and not prefixes:
            profile = self._services.profile(request.profile)
            known = set(self._services.known())
            named = tuple(name for name in profile.collections if name in known and principal.may_read(name))
            prefixes = profile.collection_prefixes or (() if profile.collections else ("",))
        found = self._services.collections(principal, named, prefixes)
        if not found:
            raise Forbidden(
                "There is no collection that this key may read.", hint="Ingest one, or name one that the key may read."
            )
        return tuple(found)

    async def search(self, principal: Principal, request: SearchRequest) -> "Found":
        """The passages for a question, best first. Raises Overloaded, Forbidden, and what searching raises."""
        with self._watch("search", principal, request) as watch:
            return watch.found(await self._services.workers.run(lambda gone: self._search(principal, request, gone)))

    async def ask(self, principal: Principal, request: AskRequest, request_id: str = "") -> QueryResult:
        """The whole answer; one that nobody waits for any more is stopped. Raises as `search` does.

        The answer to a request with an id can be rated under that.
        """
        with self._watch("ask", principal, request, request_id) as watch:
            work = self._services.workers.run(lambda gone: self._ask(principal, request, gone, unheard, request_id))
            return watch.answered(await work)

    async def stream(
        self, principal: Principal, request: AskRequest, request_id: str = "", silence: float | None = None
    ) -> AsyncGenerator[Event | Silence | Answered, None]:
        """The answer as it is made: sources, words, and last the whole. Closing the stream stops the answer.

        Whenever nothing comes for `silence` seconds, that is told. Raises as `ask` does, at the first step or later.
        """
        loop = asyncio.get_running_loop()
        heard: asyncio.Queue[Event | None] = asyncio.Queue()  # as long as an answer, which is bounded itself

        def work(gone: Flag) -> QueryResult:
            def listen(event: Event) -> None:
                if not gone.is_set():
                    loop.call_soon_threadsafe(heard.put_nowait, event)

            return self._ask(principal, request, gone, listen, request_id)

        answering = asyncio.ensure_future(self._services.workers.run(work))
        answering.add_done_callback(lambda _: heard.put_nowait(None))
        try:
            with self._watch("ask", principal, request, request_id) as watch:
                while (event := await _next(heard, silence)) is not None:
                    yield event
                _refuse_unexpected(answering)
                yield Answered(watch.answered(await answering))
        finally:
            answering.cancel()

    def _watch(self, kind: Kind, principal: Principal, request: Question, request_id: str = "") -> Watch:
        watch = self._services.recorder.watch
        return watch(kind, principal.name, request.question, request.profile, request_id=request_id)

    def _search(self, principal: Principal, request: SearchRequest, gone: Flag) -> "Found":
        query = self._services.in_force.settings_for(request.profile).query
        by_model = may_ask_model(request.strategy or query.strategy, query)
        with self._lent(self.scope(principal, request), request.profile, gone, by_model=by_model) as engine:
            return engine.search(
                request.question,
                top_k=request.top_k,
                where=request.where,
                strategy=request.strategy,
                explain=request.explain,
                cancelled=gone.is_set,
            )

    @contextmanager
    def _lent(self, scope: tuple[str, ...], profile: str, gone: Flag, *, by_model: bool = True) -> Iterator[Engine]:
        """The engine, when it is its turn: work `by_model`, where there is one, waits for that most of the time.

        Raises Abandoned, and what opening raises.
        """
        with self._services.engines.lend(scope, profile) as engine:
            waits = by_model and engine.llm is not None
            with nullcontext() if waits else self._services.workers.computing(gone):
                _unless(gone)
                yield engine

    def _ask(
        self, principal: Principal, request: AskRequest, gone: Flag, listen: Listener, request_id: str
    ) -> QueryResult:
        session = self._services.session(principal, request.session) if request.session else None
        if session:
            request = self._in_session(request, session)
        scope = self.scope(principal, request)
        if session:
            self._widen(session, scope, request.profile)
        with self._lent(scope, request.profile, gone) as engine:
            result = self._asked(engine, request, session)(
                request.question,
                where=request.where,
                strategy=request.strategy,
                explain=request.explain,
                listen=listen,
                cancelled=gone.is_set,
            )
        self._services.recent.remember(rated(principal.name, request_id, scope, result))
        return result

    def _widen(self, session: SessionRecord, scope: tuple[str, ...], profile: str) -> None:
        """Have a conversation name every collection it was ever asked over: who reads it must read them all."""
        names = tuple(dict.fromkeys([*session.collections, *scope]))
        if (names, profile) != (session.collections, session.profile):
            self._services.sessions.move(session.session_id, names, profile)

    def _in_session(self, request: AskRequest, session: SessionRecord) -> AskRequest:
        """The request with the collections and the profile of its conversation where it names none."""
        if request.history:
            raise UsageError("A question belongs to a conversation that is kept here, or brings its own; not to both.")
        update: dict[str, object] = {}
        if not request.collections and not request.prefixes:
            known = set(self._services.known())
            update["collections"] = tuple(name for name in session.collections if name in known)
        if "profile" not in request.model_fields_set:
            update["profile"] = session.profile
        return request.model_copy(update=update)

    def _asked(self, engine: Engine, request: AskRequest, session: SessionRecord | None) -> Callable[..., QueryResult]:
        if session is None and not request.history:
            return engine.ask
        prompt = self._services.in_force.prompts["follow_up"] if engine.llm else None
        if session:
            return Conversation(engine, self._services.sessions, session.session_id, llm=engine.llm, prompt=prompt).ask
        given = GivenTurns([(said.question, said.answer) for said in request.history])
        return Conversation(engine, given, "", llm=engine.llm, prompt=prompt).ask


def rated(owner: str, request_id: str, scope: tuple[str, ...], result: QueryResult) -> RatedAnswer:
    """What is remembered of an answer for who wants to rate it."""
    documents = frozenset(shown_in(result))
    return RatedAnswer(owner, result.question, request_id=request_id, collections=scope, documents=documents)


def _unless(gone: Flag) -> None:
    """Raises Abandoned if nobody waits any more."""
    if gone.is_set():
        raise Abandoned("Nobody waits for this any more.")


def _refuse_unexpected(answering: "asyncio.Future[QueryResult]") -> None:
    """Raises Unexpected for a failure that is none of ours: its words may be those of documents. The log says where."""
    error = answering.exception()
    if error is not None and not isinstance(error, EltError):
        where = "".join(traceback.format_tb(error.__traceback__))
        logger.error("A stream failed unexpectedly with %s:\n%s", type(error).__name__, where)
        raise Unexpected("The server failed.", hint="Its log says more.") from error


async def _next(heard: "asyncio.Queue[Event | None]", silence: float | None) -> Event | Silence | None:
    try:
        return await asyncio.wait_for(heard.get(), silence)
    except TimeoutError:
        return Silence()
