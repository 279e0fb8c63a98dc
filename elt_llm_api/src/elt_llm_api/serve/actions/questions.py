"""Answer questions and searches of callers over published collections, in a bounded number of threads."""

import asyncio
import logging
import traceback
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import Event
from typing import Annotated

from elt_llm_core.errors import EltError, UsageError
from elt_llm_core.results import QueryResult
from elt_llm_core.settings.tree import StrategyName
from elt_llm_core.state.erasure import quoted_documents
from elt_llm_core.state.sessions import RatedAnswer, SessionRecord
from elt_llm_query.conversation.conversation import Conversation, InMemoryTurns
from elt_llm_query.engine import Engine
from elt_llm_query.search import SearchResult
from elt_llm_query.synthesis.events import Event as AnswerEvent
from elt_llm_query.synthesis.events import Listener, ignore_events
from elt_llm_query.understanding.strategies import may_ask_model
from pydantic import Field, StrictBool, StrictInt

from elt_llm_api.serve.access.principal import Forbidden, Principal, ReadableCollection
from elt_llm_api.serve.errors import NOTHING_INGESTED_HINT, NotReady
from elt_llm_api.serve.monitoring.measures import Kind
from elt_llm_api.serve.monitoring.recorder import QuestionTimer
from elt_llm_api.serve.services import RequestModel, ServiceActions

logger = logging.getLogger(__name__)
LONGEST_QUESTION = 20_000  # characters
LONGEST_ANSWER = 100_000
LONGEST_STYLE = 4000
MOST_TURNS = 100
CollectionNames = Annotated[
    tuple[Annotated[str, Field(max_length=63)], ...],
    Field(max_length=200, description="Names of collections to search. If empty: those of the profile, else all."),
]


class RequestAbandoned(EltError):
    """The client disconnected before its request was answered."""


class InternalError(EltError):
    """An unexpected error while an answer is streamed, when HTTP status 200 has already been sent."""


class ScopeRequest(RequestModel):
    """The collections to search, and the profile to search with."""

    collections: tuple[str, ...] = Field(
        (),
        max_length=200,
        description="Collections to search. If empty: those of the profile, else all.",
        examples=[[]],
    )
    prefixes: tuple[str, ...] = Field(
        (), max_length=50, description="Also search readable collections whose names start with these.", examples=[[]]
    )
    profile: str = Field("default", max_length=200, description="Profile to ask with.", examples=["default"])


class QuestionRequest(ScopeRequest):
    """The fields of every question: its words, where to search, and how."""

    question: str = Field(
        min_length=1,
        max_length=LONGEST_QUESTION,
        description="The question, in words.",
        examples=["How many points does a ground need for Grade A?"],
    )
    where: tuple[str, ...] = Field(
        (), max_length=50, description="Conditions on metadata, such as year>=2020; all must hold.", examples=[[]]
    )
    strategy: StrategyName | None = Field(None, description="How to retrieve; unset: as in the profile.")
    explain: StrictBool = Field(
        False, description="Whether the trace reports for each chunk why it was kept or dropped."
    )


class SearchRequest(QuestionRequest):
    """A request to search for chunks, without an answer."""

    top_k: StrictInt | None = Field(None, ge=1, le=200, description="Chunks to return; unset: as in the profile.")


class PreviousTurn(RequestModel):
    """An earlier question and its answer."""

    question: str = Field(min_length=1, max_length=LONGEST_QUESTION, examples=["What does a loan cost?"])
    answer: str = Field("", max_length=LONGEST_ANSWER, examples=["A loan costs 40 euros."])


class AskRequest(QuestionRequest):
    """A question to answer, alone or within a conversation."""

    session: str | None = Field(
        None, max_length=64, description="Id of the conversation it belongs to; unset: it belongs to none."
    )
    history: tuple[PreviousTurn, ...] = Field(
        (),
        max_length=MOST_TURNS,
        description="Earlier questions and answers, oldest first, of a conversation that the client keeps itself.",
        examples=[[]],
    )
    style: str = Field(
        "",
        max_length=LONGEST_STYLE,
        description="How a language model should write, such as 'in bullet points'. The prompt's rules still apply.",
    )


@dataclass(frozen=True)
class KeepAlive:
    """An event without content, which shows that the answer is still in progress."""


@dataclass(frozen=True)
class FinalAnswer:
    """The last event of a stream, with the complete result."""

    result: QueryResult


StreamEvent = AnswerEvent | KeepAlive | FinalAnswer


class QuestionActions(ServiceActions):
    """Searches and answers for callers. Every question is limited to the collections of `scope`."""

    def scope(self, principal: Principal, request: ScopeRequest) -> tuple[ReadableCollection, ...]:
        """Return the collections that a request may search, in order. No other code decides this.

        Raises Forbidden for a collection that the key may not read, a prefix that matches none, and if none is left;
        NotReady if nothing was ingested yet and the key may read everything; UsageError for an unknown profile.
        """
        names, prefixes = request.collections, request.prefixes
        if not names and not prefixes:
            profile = self._services.active.profile(request.profile)
            readable = self._services.readable_names(principal)
            names = tuple(name for name in profile.collections if name in readable)
            prefixes = profile.collection_prefixes or (() if profile.collections else ("",))
        scope = self._services.collections(principal, names, prefixes)
        if not scope and principal.may_read_all and not self._services.collection_names():
            raise NotReady("Nothing was ingested yet.", hint=NOTHING_INGESTED_HINT)
        unmatched = (one for one in request.prefixes if not any(it.name.startswith(one) for it in scope))
        if prefix := next(unmatched, ""):
            raise Forbidden(f"No collection that this key may read starts with '{prefix}'.", hint="List them first.")
        if not scope:
            raise Forbidden(
                "There is no collection that this key may read.", hint="Ingest one, or name one that the key may read."
            )
        return tuple(scope)

    def _asks_everything(
        self, principal: Principal, request: ScopeRequest, session: SessionRecord | None = None
    ) -> bool:
        """Return whether no request, profile or conversation limits a question to some of the readable collections."""
        profile = self._services.active.profile(request.profile)
        chosen = (*request.collections, *request.prefixes, *profile.collections, *profile.collection_prefixes)
        readable = self._services.readable_names(principal)
        return not any(chosen) and (session is None or set(readable) <= set(session.collections))

    async def search(self, principal: Principal, request: SearchRequest) -> SearchResult:
        """Return the chunks for a question, best first. Raises ServerOverloaded, Forbidden, and search errors."""
        with self._record("search", principal, request) as timer:
            work = self._services.workers.run(lambda abandoned: self._search(principal, request, abandoned))
            return timer.found(await work)

    async def ask(self, principal: Principal, request: AskRequest, request_id: str = "") -> QueryResult:
        """Return the complete answer. Cancelling the call stops the answer. Raises the errors of `search`.

        The answer to a request with an id can be rated by that id.
        """
        with self._record("ask", principal, request, request_id) as timer:
            work = self._services.workers.run(
                lambda abandoned: self._ask(principal, request, abandoned, ignore_events, request_id)
            )
            return timer.answered(await work)

    async def stream(
        self, principal: Principal, request: AskRequest, request_id: str = "", silence: float | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        """Yield the sources, then the answer's text piece by piece as it is written, and finally the complete result.

        Closing the stream stops the answer. After every `silence` seconds without an event, yield KeepAlive. Raises the
        errors of `ask`, at the first or at a later step.
        """
        loop = asyncio.get_running_loop()
        # The queue is unbounded, because the length of an answer is bounded.
        events: asyncio.Queue[AnswerEvent | None] = asyncio.Queue()

        def work(abandoned: Event) -> QueryResult:
            def listen(event: AnswerEvent) -> None:
                if not abandoned.is_set():
                    loop.call_soon_threadsafe(events.put_nowait, event)

            return self._ask(principal, request, abandoned, listen, request_id)

        answering = asyncio.ensure_future(self._services.workers.run(work))
        answering.add_done_callback(lambda _: events.put_nowait(None))
        try:
            with self._record("ask", principal, request, request_id) as timer:
                while (event := await _next_event(events, silence)) is not None:
                    yield event
                _wrap_unexpected_error(answering)
                yield FinalAnswer(timer.answered(await answering))
        finally:
            answering.cancel()

    def _record(
        self, kind: Kind, principal: Principal, request: QuestionRequest, request_id: str = ""
    ) -> QuestionTimer:
        watch = self._services.recorder.watch
        return watch(kind, principal.name, request.question, request.profile, request_id=request_id)

    def _search(self, principal: Principal, request: SearchRequest, abandoned: Event) -> SearchResult:
        query = self._services.active.settings_for(request.profile).query
        uses_model = may_ask_model(request.strategy or query.strategy, query)
        scope = self.scope(principal, request)
        with self._lend_engine(scope, request.profile, abandoned, uses_model=uses_model) as engine:
            return engine.search(
                request.question,
                top_k=request.top_k,
                where=request.where,
                strategy=request.strategy,
                explain=request.explain,
                everything=self._asks_everything(principal, request),
                cancelled=abandoned.is_set,
            )

    @contextmanager
    def _lend_engine(
        self, scope: tuple[ReadableCollection, ...], profile: str, abandoned: Event, *, uses_model: bool = True
    ) -> Iterator[Engine]:
        """Lend an engine as soon as a compute slot is free. A request that may wait for a model server needs no slot.

        Raises RequestAbandoned, and the errors of opening an engine.
        """
        with self._services.engines.lend(scope, profile) as engine:
            waits_for_model = uses_model and engine.llm is not None
            with nullcontext() if waits_for_model else self._services.workers.computing(abandoned):
                raise_if_abandoned(abandoned)
                yield engine

    def _ask(
        self, principal: Principal, request: AskRequest, abandoned: Event, listen: Listener, request_id: str
    ) -> QueryResult:
        session = self._services.session(principal, request.session) if request.session else None
        everything = self._asks_everything(principal, request, session)
        if session:
            request = self._in_session(request, session)
        scope = self.scope(principal, request)
        searched = tuple(one.name for one in scope)
        if session:
            # A conversation lists every collection that it has searched: its readers must be allowed to read them all.
            names = tuple(dict.fromkeys([*session.collections, *searched]))
            if (names, request.profile) != (session.collections, session.profile):
                self._services.sessions.move(session.session_id, names, request.profile)
        with self._lend_engine(scope, request.profile, abandoned) as engine:
            result = self._ask_function(engine, request, session)(
                request.question,
                where=request.where,
                strategy=request.strategy,
                explain=request.explain,
                everything=everything,
                style=request.style,
                listen=listen,
                cancelled=abandoned.is_set,
            )
        if request_id:
            documents = frozenset(quoted_documents(result))
            answer = RatedAnswer(
                principal.owner, result.question, request_id=request_id, collections=searched, documents=documents
            )
            self._services.recent_answers.put((principal.owner, request_id), answer)
        return result

    def _in_session(self, request: AskRequest, session: SessionRecord) -> AskRequest:
        """Return the request with the collections and the profile of its conversation as defaults."""
        if request.history:
            raise UsageError("A question has either a conversation of the server or its own history, not both.")
        update: dict[str, object] = {}
        if not request.collections and not request.prefixes:
            existing = set(self._services.collection_names())
            update["collections"] = tuple(name for name in session.collections if name in existing)
        if "profile" not in request.model_fields_set:
            update["profile"] = session.profile
        return request.model_copy(update=update)

    def _ask_function(
        self, engine: Engine, request: AskRequest, session: SessionRecord | None
    ) -> Callable[..., QueryResult]:
        if session is None and not request.history:
            return engine.ask
        prompt = self._services.active.prompts["follow_up"] if engine.llm else None
        if session:
            return Conversation(engine, self._services.sessions, session.session_id, llm=engine.llm, prompt=prompt).ask
        turns = InMemoryTurns([(turn.question, turn.answer) for turn in request.history])
        return Conversation(engine, turns, "", llm=engine.llm, prompt=prompt).ask


def raise_if_abandoned(abandoned: Event) -> None:
    """Raise RequestAbandoned if the client has disconnected, which sets the event."""
    if abandoned.is_set():
        raise RequestAbandoned("The client has disconnected.")


def _wrap_unexpected_error(answering: "asyncio.Future[QueryResult]") -> None:
    """Replace an unexpected error, whose message may quote documents, by InternalError, and log its traceback."""
    error = answering.exception()
    if error is not None and not isinstance(error, EltError):
        where = "".join(traceback.format_tb(error.__traceback__))
        logger.error("A stream failed unexpectedly with %s:\n%s", type(error).__name__, where)
        raise InternalError("The server failed.", hint="The operator finds the reason in the server's log.") from error


async def _next_event(
    events: "asyncio.Queue[AnswerEvent | None]", silence: float | None
) -> AnswerEvent | KeepAlive | None:
    try:
        return await asyncio.wait_for(events.get(), silence)
    except TimeoutError:
        return KeepAlive()
