"""Questions and searches of a caller: within its scope, in the bounded threads, over what is published now."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from threading import Event as Flag
from typing import TYPE_CHECKING

from elt_llm_core.results import QueryResult
from elt_llm_core.settings import StrategyName
from elt_llm_core.settings_loader import load_profile
from elt_llm_query.conversation.conversation import Conversation
from elt_llm_query.engine import Engine
from elt_llm_query.events import Event, Listener, unheard
from elt_llm_query.synthesis.prompts import load_prompts
from pydantic import BaseModel, ConfigDict, Field

from elt_llm_api.serve.access.principal import Forbidden, Principal
from elt_llm_api.serve.services import Services

if TYPE_CHECKING:
    from elt_llm_query.retrieve.pipeline import Found

LONGEST_QUESTION = 20_000  # characters


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
    explain: bool = Field(False, description="Whether the trace says what became of each passage.")


class SearchRequest(Question):
    """A search for passages."""

    top_k: int | None = Field(None, ge=1, le=200, description="Passages to return; unset: as the profile says.")


class AskRequest(Question):
    """A question that is to be answered, in a conversation or by itself."""

    session: str | None = Field(
        None, max_length=64, description="Id of the conversation it belongs to; unset: it stands by itself."
    )


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

        Raises Forbidden for one that the key may not read or if none is left, SettingsError for an unknown profile.
        """
        named, prefixes = request.collections, request.prefixes
        if not named and not prefixes:
            profile = load_profile(request.profile, self._services.loaded)
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
        return await self._services.workers.run(lambda _: self._search(principal, request))

    async def ask(self, principal: Principal, request: AskRequest) -> QueryResult:
        """The whole answer; one that nobody waits for any more is stopped. Raises as `search` does."""
        return await self._services.workers.run(lambda gone: self._ask(principal, request, gone, unheard))

    async def stream(self, principal: Principal, request: AskRequest) -> AsyncGenerator[Event | Answered, None]:
        """The answer as it is made: sources, words, and last the whole. Closing the stream stops the answer.

        Raises as `ask` does, at the first step or later.
        """
        loop = asyncio.get_running_loop()
        heard: asyncio.Queue[Event | None] = asyncio.Queue()  # as long as an answer, which is bounded itself

        def work(gone: Flag) -> QueryResult:
            def listen(event: Event) -> None:
                if not gone.is_set():
                    loop.call_soon_threadsafe(heard.put_nowait, event)

            return self._ask(principal, request, gone, listen)

        answering = asyncio.ensure_future(self._services.workers.run(work))
        answering.add_done_callback(lambda _: heard.put_nowait(None))
        try:
            while (event := await heard.get()) is not None:
                yield event
            yield Answered(await answering)
        finally:
            answering.cancel()

    def _search(self, principal: Principal, request: SearchRequest) -> "Found":
        with self._services.engines.lend(self.scope(principal, request), request.profile) as engine:
            return engine.search(
                request.question,
                top_k=request.top_k,
                where=request.where,
                strategy=request.strategy,
                explain=request.explain,
            )

    def _ask(self, principal: Principal, request: AskRequest, gone: Flag, listen: Listener) -> QueryResult:
        scope = self.scope(principal, request)
        with self._services.engines.lend(scope, request.profile) as engine:
            return self._asked(engine, principal, request)(
                request.question,
                where=request.where,
                strategy=request.strategy,
                explain=request.explain,
                listen=listen,
                cancelled=gone.is_set,
            )

    def _asked(self, engine: Engine, principal: Principal, request: AskRequest) -> Callable[..., QueryResult]:
        if request.session is None:
            return engine.ask
        session = self._services.session(principal, request.session)
        loaded = self._services.loaded
        prompt = load_prompts(loaded.config_dir, loaded.project)["follow_up"] if engine.llm else None
        sessions = self._services.sessions
        return Conversation(engine, sessions, session.session_id, llm=engine.llm, prompt=prompt).ask
