"""Conversations of a caller: its own alone, as long as it may read what they are about."""

from collections.abc import Sequence

from elt_llm_core.state.sessions import SessionRecord, Turn

from elt_llm_api.serve.access.principal import Forbidden, Principal
from elt_llm_api.serve.actions.asking import Asking, Question
from elt_llm_api.serve.services import Services


class Conversations:
    """What a caller may do with conversations. `owner` of each is the name of the key that began it."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def begin(
        self, principal: Principal, collections: Sequence[str], prefixes: Sequence[str], profile: str
    ) -> SessionRecord:
        """Begin a conversation over these collections, else those of the profile, else all that it may read.

        Raises Forbidden for a collection it may not read, UsageError for an unknown profile.
        """
        self._services.profile(profile)
        asked = Question.model_construct(
            collections=tuple(collections), prefixes=tuple(prefixes), profile=profile, question=""
        )
        scope = Asking(self._services).scope(principal, asked)
        session_id = self._services.sessions.create(scope, profile, principal.name)
        return self._services.session(principal, session_id)

    def all(self, principal: Principal, limit: int, offset: int) -> list[SessionRecord]:
        """Its conversations, the one last used first; those with a collection that it may not read are not shown."""
        mine = self._services.sessions.of_owner(principal.name)
        return [one for one in mine if all(map(principal.may_read, one.collections))][offset : offset + limit]

    def read(self, principal: Principal, session_id: str) -> tuple[SessionRecord, list[Turn]]:
        """A conversation with its turns. Raises Forbidden."""
        return self._services.session(principal, session_id), self._services.sessions.turns(session_id)

    def delete(self, principal: Principal, session_id: str) -> None:
        """Delete a conversation of this caller, with what was said of its answers. Raises Forbidden.

        It may do so with one that it may not read any more.
        """
        record = self._services.sessions.find(session_id)
        if record is None or record.owner != principal.name:
            raise Forbidden(f"There is no conversation '{session_id}', or it is somebody else's.")
        self._services.sessions.delete(session_id)
