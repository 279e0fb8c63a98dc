"""What people think of answers: a thumb up or down, with a few words, beside the documents the answer showed."""

import uuid
from dataclasses import dataclass, field
from typing import Literal

from elt_llm_core.state.rows import IsGone, Quoted, from_json, to_json
from elt_llm_core.store.clock import now
from elt_llm_core.store.database import Database, Row

Verdict = Literal["up", "down"]


@dataclass(frozen=True)
class RatedAnswer:
    """The answer that is rated: a turn of a conversation, or the one to a request. The fields of the other are None."""

    owner: str
    question: str
    session: str | None = None
    turn: int | None = None
    request_id: str | None = None
    collections: tuple[str, ...] = ()
    documents: frozenset[Quoted] = field(default_factory=frozenset)
    """Documents that it quotes or lists."""


@dataclass(frozen=True)
class FeedbackRecord:
    """One opinion of one answer."""

    feedback_id: str
    answer: RatedAnswer
    verdict: Verdict
    comment: str
    created_at: str


class Feedback:
    """The opinions in a state database. Safe to use from many threads and processes.

    Those of a turn go with it; `erase` takes those that show what is gone.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def give(self, answer: RatedAnswer, verdict: Verdict, comment: str) -> FeedbackRecord:
        """Keep an opinion in place of what the same caller said of the same answer before."""
        record = FeedbackRecord(uuid.uuid4().hex, answer, verdict, comment, now())
        with self._database.transaction():
            self._database.execute(
                "DELETE FROM feedback WHERE owner = ? AND session IS ? AND turn IS ? AND request_id IS ?",
                (answer.owner, answer.session, answer.turn, answer.request_id),
            )
            self._database.execute("INSERT INTO feedback VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", _row(record))
        return record

    def all(self) -> list[FeedbackRecord]:
        """Every opinion, the latest first."""
        return [_record(row) for row in self._database.rows(f"{_SELECT} ORDER BY created_at DESC, id")]

    def erase(self, is_gone: IsGone) -> int:
        """Delete every opinion that `is_gone` says yes to, words and all; returns how many."""
        doomed = [
            one.feedback_id
            for one in self.all()
            if is_gone(one.answer.documents, f"{one.answer.question}\n{one.comment}")
        ]
        with self._database.transaction():
            self._database.execute_many("DELETE FROM feedback WHERE id = ?", [(one,) for one in doomed])
        return len(doomed)


_SELECT = (
    "SELECT id, owner, session, turn, request_id, question, collections, documents, verdict, comment, created_at"
    " FROM feedback"
)


def _row(record: FeedbackRecord) -> tuple[str | int | None, ...]:
    answer = record.answer
    return (
        record.feedback_id,
        answer.owner,
        answer.session,
        answer.turn,
        answer.request_id,
        answer.question,
        " ".join(answer.collections),
        to_json(answer.documents),
        record.verdict,
        record.comment,
        record.created_at,
    )


def _record(row: Row) -> FeedbackRecord:
    feedback_id, owner, session, turn, request_id, question, collections, documents, verdict, comment, created_at = row
    answer = RatedAnswer(owner, question, session, turn, request_id, tuple(collections.split()), from_json(documents))
    return FeedbackRecord(feedback_id, answer, verdict, comment, created_at)
