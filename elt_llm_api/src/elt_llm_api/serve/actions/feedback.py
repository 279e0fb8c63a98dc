"""What callers think of the answers they were given, kept with what the answer showed."""

from elt_llm_core.state.erasing import shown_in
from elt_llm_core.state.feedback import FeedbackRecord, RatedAnswer, Verdict

from elt_llm_api.serve.access.principal import Forbidden, Principal
from elt_llm_api.serve.services import Services


class Opinions:
    """Gives and reads opinions of answers."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def of_turn(
        self, principal: Principal, session_id: str, number: int, verdict: Verdict, comment: str
    ) -> FeedbackRecord:
        """Rate a turn of one of the caller's conversations. Raises Forbidden."""
        session = self._services.session(principal, session_id)
        turn = next((one for one in self._services.sessions.turns(session_id) if one.number == number), None)
        if turn is None:
            raise Forbidden(f"There is no turn {number} in the conversation '{session_id}'.")
        rated = RatedAnswer(
            principal.name,
            turn.asked,
            session=session_id,
            turn=number,
            collections=session.collections,
            documents=frozenset(shown_in(turn.result)),
        )
        return self._services.feedback.give(rated, verdict, comment)

    def of_request(self, principal: Principal, request_id: str, verdict: Verdict, comment: str) -> FeedbackRecord:
        """Rate the answer to a request of the caller, as long as the server remembers it. Raises Forbidden."""
        rated = self._services.recent.of(principal.name, request_id)
        if rated is None:
            raise Forbidden(
                f"No answer of yours to a request '{request_id}' is remembered.",
                hint="The last thousand are, until the server restarts; those in a conversation stay.",
            )
        return self._services.feedback.give(rated, verdict, comment)

    def all(self, principal: Principal, limit: int, offset: int) -> list[FeedbackRecord]:
        """Every opinion on answers from what the caller may read, the latest first. Raises Forbidden.

        Whoever administers the server may see them, and nobody else.
        """
        if not principal.administers:
            raise Forbidden("What callers think of answers is for those who administer the server.")
        given = self._services.feedback.all()
        return [one for one in given if all(map(principal.may_read, one.answer.collections))][offset : offset + limit]
