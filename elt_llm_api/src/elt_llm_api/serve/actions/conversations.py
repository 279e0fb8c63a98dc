"""The conversations of a caller, and the feedback of callers on answers."""

from elt_llm_core.state.erasure import quoted_documents
from elt_llm_core.state.sessions import ConversationTurn, FeedbackRecord, RatedAnswer, SessionRecord, Verdict
from elt_llm_core.text.outline import page_label

from elt_llm_api.serve.access.principal import Forbidden, Principal
from elt_llm_api.serve.actions.questions import QuestionActions, ScopeRequest
from elt_llm_api.serve.safe_text import escape_file_name, escape_markdown
from elt_llm_api.serve.services import ServiceActions


class ConversationActions(ServiceActions):
    """Creates, lists, reads and deletes conversations. Their `owner` is `Principal.owner`."""

    def create(self, principal: Principal, request: ScopeRequest) -> SessionRecord:
        """Create a conversation over the requested collections. The default is all readable collections of the profile.

        Raises Forbidden for a collection that the caller may not read, and UsageError for an unknown profile.
        """
        self._services.active.profile(request.profile)
        scope = QuestionActions(self._services).scope(principal, request)
        names = tuple(one.name for one in scope)
        session_id = self._services.sessions.create(names, request.profile, principal.owner)
        return self._services.session(principal, session_id)

    def all(self, principal: Principal, limit: int, offset: int) -> list[SessionRecord]:
        """Return the caller's conversations, the last used first, if the caller may read all their collections."""
        own = self._services.sessions.of_owner(principal.owner)
        return [one for one in own if all(map(principal.may_read, one.collections))][offset : offset + limit]

    def read(self, principal: Principal, session_id: str) -> tuple[SessionRecord, list[ConversationTurn]]:
        """Return a conversation with its turns. Raises Forbidden."""
        return self._services.session(principal, session_id), self._services.sessions.turns(session_id)

    def markdown(self, principal: Principal, session_id: str) -> str:
        """Return a conversation as a Markdown document, each answer with its citations. Raises Forbidden."""
        record, turns = self.read(principal, session_id)
        return "\n\n".join([f"# {_safe_line(record.title)}", *map(_turn_markdown, turns)]) + "\n"

    def delete_last_turn(self, principal: Principal, session_id: str, number: int) -> None:
        """Delete a turn of one of the caller's conversations, if it is the last. Raises Forbidden."""
        self._services.session(principal, session_id)
        self._services.sessions.delete_last(session_id, number)

    def delete(self, principal: Principal, session_id: str) -> None:
        """Delete a conversation of this caller and the feedback on its answers. Raises Forbidden.

        The caller may delete a conversation even if the caller may no longer read its collections.
        """
        record = self._services.sessions.find(session_id)
        if record is None or record.owner != principal.owner:
            raise Forbidden(f"There is no conversation '{session_id}', or it belongs to somebody else.")
        self._services.sessions.delete(session_id)


def _turn_markdown(turn: ConversationTurn) -> str:
    cited = []
    for one in turn.result.citations:
        title, page = one.source_title, page_label(one.source, one.page, one.section)
        place = ", ".join(filter(None, [escape_file_name(one.source, title), _safe_line(page)]))
        cited.append(f"- {one.reference} {_safe_line(title)} ({place}): “{_safe_line(one.excerpt)}”")
    parts = [f"## {_safe_line(turn.asked)}", escape_markdown(turn.result.answer), "\n".join(cited)]
    return "\n\n".join(filter(None, parts))


def _safe_line(text: str) -> str:
    return escape_markdown(" ".join(text.split()))


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
            principal.owner,
            turn.asked,
            session=session_id,
            turn=number,
            collections=session.collections,
            documents=frozenset(quoted_documents(turn.result)),
        )
        return self._services.feedback.give(answer, verdict, comment)

    def rate_request(self, principal: Principal, request_id: str, verdict: Verdict, comment: str) -> FeedbackRecord:
        """Rate the answer to one of the caller's requests, as long as the server keeps the answer. Raises Forbidden."""
        answer = self._services.recent_answers.get((principal.owner, request_id))
        if answer is None:
            raise Forbidden(
                f"The server stores no answer to a request '{request_id}' of this caller.",
                hint="The server keeps the last thousand answers until it restarts.",
            )
        return self._services.feedback.give(answer, verdict, comment)

    def all(self, principal: Principal, limit: int, offset: int) -> list[FeedbackRecord]:
        """Return all feedback on answers from readable collections, the latest first.

        Raises Forbidden unless the caller administers the server.
        """
        if not principal.administers:
            raise Forbidden("Only administrators of the server may list feedback.")
        records = self._services.feedback.all()
        return [one for one in records if all(map(principal.sees_whole, one.answer.collections))][
            offset : offset + limit
        ]
