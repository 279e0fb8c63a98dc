"""A caller's own conversations, and its feedback on answers."""

from collections.abc import Sequence

from elt_llm_core.state.erasure import quoted_documents
from elt_llm_core.state.sessions import ConversationTurn, FeedbackRecord, RatedAnswer, SessionRecord, Verdict

from elt_llm_api.serve.access.principal import Forbidden, Principal
from elt_llm_api.serve.actions.questions import QuestionActions, QuestionRequest
from elt_llm_api.serve.services import ServiceActions


class ConversationActions(ServiceActions):
    """What a caller may do with conversations. `owner` of each is the name of the key that created it."""

    def create(
        self, principal: Principal, collections: Sequence[str], prefixes: Sequence[str], profile: str
    ) -> SessionRecord:
        """Create a conversation over these collections, else those of the profile, else all that the caller may read.

        Raises Forbidden for a collection it may not read, UsageError for an unknown profile.
        """
        self._services.profile(profile)
        request = QuestionRequest.model_construct(
            collections=tuple(collections), prefixes=tuple(prefixes), profile=profile, question=""
        )
        scope = QuestionActions(self._services).scope(principal, request)
        session_id = self._services.sessions.create(scope, profile, principal.name)
        return self._services.session(principal, session_id)

    def all(self, principal: Principal, limit: int, offset: int) -> list[SessionRecord]:
        """Return the caller's conversations, the last used first; without those with a collection it may not read."""
        own = self._services.sessions.of_owner(principal.name)
        return [one for one in own if all(map(principal.may_read, one.collections))][offset : offset + limit]

    def read(self, principal: Principal, session_id: str) -> tuple[SessionRecord, list[ConversationTurn]]:
        """Return a conversation with its turns. Raises Forbidden."""
        return self._services.session(principal, session_id), self._services.sessions.turns(session_id)

    def delete(self, principal: Principal, session_id: str) -> None:
        """Delete a conversation of this caller, and the feedback on its answers. Raises Forbidden.

        The caller may delete a conversation even if it may not read it any more.
        """
        record = self._services.sessions.find(session_id)
        if record is None or record.owner != principal.name:
            raise Forbidden(f"There is no conversation '{session_id}', or it belongs to somebody else.")
        self._services.sessions.delete(session_id)


class FeedbackActions(ServiceActions):
    """Stores and lists feedback on answers."""

    def rate_turn(
        self, principal: Principal, session_id: str, number: int, verdict: Verdict, comment: str
    ) -> FeedbackRecord:
        """Rate a turn of one of the caller's conversations. Raises Forbidden."""
        session = self._services.session(principal, session_id)
        turn = next((one for one in self._services.sessions.turns(session_id) if one.number == number), None)
        if turn is None:
            raise Forbidden(f"There is no turn {number} in the conversation '{session_id}'.")
        answer = RatedAnswer(
            principal.name,
            turn.asked,
            session=session_id,
            turn=number,
            collections=session.collections,
            documents=frozenset(quoted_documents(turn.result)),
        )
        return self._services.feedback.give(answer, verdict, comment)

    def rate_request(self, principal: Principal, request_id: str, verdict: Verdict, comment: str) -> FeedbackRecord:
        """Rate the answer to a request of the caller, as long as the server keeps it. Raises Forbidden."""
        answer = self._services.recent_answers.find(principal.name, request_id)
        if answer is None:
            raise Forbidden(
                f"The server keeps no answer of yours to a request '{request_id}'.",
                hint="It keeps the last thousand until it restarts; those in a conversation stay.",
            )
        return self._services.feedback.give(answer, verdict, comment)

    def all(self, principal: Principal, limit: int, offset: int) -> list[FeedbackRecord]:
        """Return all feedback on answers from readable collections, the latest first.

        Raises Forbidden unless the caller administers the server.
        """
        if not principal.administers:
            raise Forbidden("Only administrators of the server may list feedback.")
        records = self._services.feedback.all()
        return [one for one in records if all(map(principal.may_read, one.answer.collections))][offset : offset + limit]
