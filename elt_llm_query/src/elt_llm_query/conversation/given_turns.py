"""A conversation that nobody keeps here: its earlier turns come with each question, and nothing is added."""

from collections.abc import Sequence

from elt_llm_core.results import QueryResult
from elt_llm_core.state.sessions import Turn

from elt_llm_query.conversation.follow_up import Before, rewrite


class GivenTurns:
    """Earlier questions with their answers, oldest first, as `Conversation` reads them.

    How each was understood is found again by the rules, from those before it.
    """

    def __init__(self, said: Sequence[tuple[str, str]]) -> None:
        self._turns: list[Turn] = []
        for number, (question, answer) in enumerate(said, 1):
            understood = rewrite(question, [Before(turn.understood) for turn in self._turns]).text
            result = QueryResult(question=understood, answer=answer, answered=bool(answer.strip()))
            self._turns.append(Turn(number, question, understood, answer, result, ""))

    def turns(self, session_id: str, last: int | None = None) -> list[Turn]:
        """The turns in order; `last` gives the latest so many."""
        return self._turns if last is None else self._turns[-last:] if last else []

    def add(self, session_id: str, asked: str, result: QueryResult) -> Turn:
        """The turn as it would be kept; it is not."""
        return Turn(len(self._turns) + 1, asked, result.question, result.answer, result, "")
