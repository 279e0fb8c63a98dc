"""Where a conversation is held: the collections that are asked, the profile, and the engine they make."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import EltError, UsageError
from elt_llm_core.results import QueryResult, TraceStage
from elt_llm_core.state.sessions import Sessions, Turn

from elt_llm_api.commands.ask import open_asked
from elt_llm_api.options import CommandContext

if TYPE_CHECKING:
    from elt_llm_query.engine import Engine


class ChatRoom(Closeable):
    """One conversation at a time over one engine, which it closes. A conversation begins with its first answer."""

    def __init__(
        self,
        context: CommandContext,
        sessions: Sessions,
        engine: "Engine",
        collections: Sequence[str],
        profile: str,
        session_id: str = "",
    ) -> None:
        self.context = context
        self.collections = tuple(collections)
        self.profile = profile
        self.session_id = session_id
        """Id of the conversation, empty before its first turn."""
        self._sessions = sessions
        self._engine = engine

    @property
    def turns(self) -> list[Turn]:
        """The turns of this conversation, in order."""
        return self._sessions.turns(self.session_id) if self.session_id else []

    @property
    def last(self) -> Turn:
        """The last turn. Raises UsageError before the first one."""
        turns = self._sessions.turns(self.session_id, last=1) if self.session_id else []
        if not turns:
            raise UsageError("Nothing was asked yet.", hint="Ask something first.")
        return turns[0]

    @property
    def writes(self) -> bool:
        """Whether a language model writes the answers."""
        return self._engine.llm is not None

    def ask(self, question: str, **options: Any) -> QueryResult:
        """The answer, kept as the conversation's next turn; `options` are the engine's. Raises EltError.

        Stopped by Ctrl-C it keeps nothing.
        """
        from elt_llm_query.conversation.conversation import Conversation
        from elt_llm_query.synthesis.prompts import load_prompts

        llm = self._engine.llm
        prompt = load_prompts(self.context.load().config_dir)["follow_up"] if llm else None
        session_id = self.session_id or self._sessions.create(self.collections, self.profile)
        try:
            result = Conversation(self._engine, self._sessions, session_id, llm=llm, prompt=prompt).ask(
                question, **options
            )
        except (EltError, KeyboardInterrupt):
            if not self.session_id:
                self._sessions.delete(session_id)
            raise
        self.session_id = session_id
        return result

    def explained(self) -> tuple[TraceStage, ...]:
        """How the last answer came about, with the search made once more.

        What a search tells of the passages it did not use is not kept: no purge could find it. Raises UsageError before
        the first answer, RetrievalError.
        """
        last = self.last
        found = self._engine.search(last.understood, explain=True)
        kept = last.result.trace.stages
        before, after = kept[:1] if kept[:1] and kept[0].name == "follow up" else (), kept[-1:]
        return (*before, *found.stages, *after)

    def move(self, collections: Sequence[str], profile: str) -> None:
        """Ask these collections with this profile from now on. Nothing changes if they cannot be opened."""
        engine = open_asked(self.context, tuple(collections), profile)
        self._engine.close()
        self._engine, self.collections, self.profile = engine, tuple(collections), profile
        if self.session_id:
            self._sessions.move(self.session_id, collections, profile)

    def begin_anew(self) -> None:
        """What is asked next begins another conversation; this one is kept."""
        self.session_id = ""

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()
