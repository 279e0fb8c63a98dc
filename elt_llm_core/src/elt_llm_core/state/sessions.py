"""Conversations, turn by turn, and feedback on answers."""

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from elt_llm_core.errors import UsageError
from elt_llm_core.results import QueryResult
from elt_llm_core.state.jobs import ErasePredicate, QuotedDocument, quoted_from_json, quoted_to_json
from elt_llm_core.store.database import DatabaseTable
from elt_llm_core.store.records import utc_now

EARLIER_TURNS_KEY = "earlier_turns"
"""The key in a result's metadata that lists the numbers of earlier turns that the language model read."""
_ALL = (1 << 63) - 1  # turns
_MAX_TITLE = 80  # characters
_MIN_PREFIX_LENGTH = 4  # characters of a shortened conversation id


@dataclass(frozen=True)
class SessionRecord:
    """A stored conversation, without its turns."""

    session_id: str
    title: str
    collections: tuple[str, ...]
    profile: str
    created_at: str
    updated_at: str
    turns: int
    owner: str = "local"
    """The name of the caller that started the conversation."""


@dataclass(frozen=True)
class ConversationTurn:
    """A question (`asked`) and its answer. `understood` is the question rewritten so that it needs no earlier turn."""

    number: int
    asked: str
    understood: str
    answer: str
    result: QueryResult
    created_at: str


class SessionTable(DatabaseTable):
    """The conversations in a state database. Threads and processes can use the table concurrently."""

    def create(self, collections: Sequence[str], profile: str = "default", owner: str = "local") -> str:
        """Start a conversation and return its id."""
        session_id, moment = uuid.uuid4().hex, utc_now("microseconds")
        self._database.execute(
            "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)",
            (session_id, "", json.dumps(list(collections)), profile, moment, moment, owner),
        )
        return session_id

    def all(self) -> list[SessionRecord]:
        """Return all conversations, most recently used first."""
        return self._select("ORDER BY s.updated_at DESC, s.id")

    def of_owner(self, owner: str) -> list[SessionRecord]:
        """Return all conversations of a caller, most recently used first."""
        return self._select("WHERE s.owner = ? ORDER BY s.updated_at DESC, s.id", owner)

    def find(self, session_id: str) -> SessionRecord | None:
        """Return the conversation with exactly this id, or None."""
        return next(iter(self._select("WHERE s.id = ?", session_id)), None)

    def get(self, session_id: str) -> SessionRecord:
        """Return the conversation whose id starts with `session_id`. Raises UsageError unless exactly one matches."""
        is_long = len(session_id) >= _MIN_PREFIX_LENGTH
        found = self._select("WHERE substr(s.id, 1, ?) = ? LIMIT 2", len(session_id), session_id) if is_long else []
        if len(found) != 1:
            number = "More than one" if found else "No"
            raise UsageError(
                f"{number} conversation has an id that starts with '{session_id}'.", hint="Run: elt-llm chat --list"
            )
        return found[0]

    def _select(self, condition: str, *parameters: str | int) -> list[SessionRecord]:
        rows = self._database.rows(f"{_SELECT_SESSION} {condition}", parameters)
        return [
            SessionRecord(session_id, title, tuple(json.loads(collections)), *others)
            for session_id, title, collections, *others in rows
        ]

    def turns(self, session_id: str, last: int | None = None) -> list[ConversationTurn]:
        """Return the turns of a conversation in order, or only the `last` turns."""
        rows = self._database.rows(
            "SELECT number, asked, understood, answer, result, created_at FROM turns WHERE session = ?"
            " ORDER BY number DESC LIMIT ?",
            (session_id, _ALL if last is None else last),
        )
        return [
            ConversationTurn(number, asked, understood, answer, QueryResult.model_validate_json(result), created_at)
            for number, asked, understood, answer, result, created_at in reversed(rows)
        ]

    def add(self, session_id: str, asked: str, result: QueryResult) -> ConversationTurn:
        """Append a turn. `result.question` is the rewritten question. Raises UsageError for an unknown id."""
        moment = utc_now("microseconds")
        with self._database.transaction():
            known = self._database.row("SELECT title FROM sessions WHERE id = ?", (session_id,))
            if known is None:
                raise UsageError(f"There is no conversation '{session_id}'.", hint="Run: elt-llm chat --list")
            last = self._database.row("SELECT coalesce(max(number), 0) FROM turns WHERE session = ?", (session_id,))
            number = int(last[0] if last else 0) + 1
            self._database.execute(
                "INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?)",
                (session_id, number, asked, result.question, result.answer, result.model_dump_json(), moment),
            )
            self._database.execute(
                "UPDATE sessions SET updated_at = ?, title = ? WHERE id = ?",
                (moment, known[0] or _session_title(asked), session_id),
            )
        return ConversationTurn(number, asked, result.question, result.answer, result, moment)

    def move(self, session_id: str, collections: Sequence[str], profile: str) -> None:
        """Let the following questions of a conversation search other collections, with another profile."""
        self._database.execute(
            "UPDATE sessions SET collections = ?, profile = ? WHERE id = ?",
            (json.dumps(list(collections)), profile, session_id),
        )

    def delete_last(self, session_id: str, number: int) -> None:
        """Delete a turn if it is the last of its conversation; otherwise nothing changes."""
        with self._database.transaction():
            self._database.execute(
                "DELETE FROM turns WHERE session = ? AND number = ?"
                " AND number = (SELECT max(number) FROM turns WHERE session = ?)",
                (session_id, number, session_id),
            )
            self._database.execute(  # the next first question becomes the title
                "UPDATE sessions SET title = '' WHERE id = ? AND NOT EXISTS (SELECT 1 FROM turns WHERE session = ?)",
                (session_id, session_id),
            )

    def delete(self, session_id: str) -> None:
        """Delete a conversation with all its turns. An unknown id is ignored."""
        self._database.execute("DELETE FROM sessions WHERE id = ?", (session_id,))

    def erase(self, is_gone: Callable[[QueryResult], bool]) -> int:
        """Delete turns for whose answer `is_gone` is true (it quotes a removed document), and turns that depend on one.

        A turn depends on a deleted turn if it is a follow-up question directly after it, or if the model read it to
        write the answer. A conversation that has no turns left is deleted. Otherwise its first remaining question
        becomes the title. Returns the number of deleted turns.
        """
        return sum(self._erase_of(record, is_gone) for record in self.all())

    def _erase_of(self, record: SessionRecord, is_gone: Callable[[QueryResult], bool]) -> int:
        doomed: list[ConversationTurn] = []
        turns = self.turns(record.session_id)
        for turn in turns:
            leans = turn.understood != turn.asked and bool(doomed) and doomed[-1].number == turn.number - 1
            read = turn.result.metadata.get(EARLIER_TURNS_KEY, ())
            if leans or any(one.number in read for one in doomed) or is_gone(turn.result):
                doomed.append(turn)
        left = [turn for turn in turns if turn not in doomed]
        with self._database.transaction():
            keys = [(record.session_id, turn.number) for turn in doomed]
            self._database.execute_many("DELETE FROM turns WHERE session = ? AND number = ?", keys)
            if doomed and left:
                title = (_session_title(left[0].asked), record.session_id)
                self._database.execute("UPDATE sessions SET title = ? WHERE id = ?", title)
        if doomed and not left:
            self.delete(record.session_id)
        return len(doomed)


def _session_title(asked: str) -> str:
    return " ".join(asked.split())[:_MAX_TITLE]


_SELECT_SESSION = (
    "SELECT s.id, s.title, s.collections, s.profile, s.created_at, s.updated_at,"
    " (SELECT count(*) FROM turns t WHERE t.session = s.id), s.owner FROM sessions s"
)


Verdict = Literal["up", "down"]


@dataclass(frozen=True)
class RatedAnswer:
    """The answer that feedback is about: a conversation turn (`session`, `turn`) or one request (`request_id`)."""

    owner: str
    question: str
    session: str | None = None
    turn: int | None = None
    request_id: str | None = None
    collections: tuple[str, ...] = ()
    documents: frozenset[QuotedDocument] = field(default_factory=frozenset)
    """The documents that the answer quotes or lists."""


@dataclass(frozen=True)
class FeedbackRecord:
    """One caller's feedback on one answer."""

    feedback_id: str
    answer: RatedAnswer
    verdict: Verdict
    comment: str
    created_at: str


class FeedbackTable(DatabaseTable):
    """The feedback in a state database. Deleting a turn deletes its feedback, too."""

    def give(self, answer: RatedAnswer, verdict: Verdict, comment: str) -> FeedbackRecord:
        """Store feedback, replacing the same caller's earlier feedback on the same answer."""
        record = FeedbackRecord(uuid.uuid4().hex, answer, verdict, comment, utc_now("microseconds"))
        subject = (answer.owner, answer.session, answer.turn, answer.request_id)
        quoted = (answer.question, " ".join(answer.collections), quoted_to_json(answer.documents))
        values = (record.feedback_id, *subject, *quoted, verdict, comment, record.created_at)
        with self._database.transaction():
            self._database.execute(
                "DELETE FROM feedback WHERE owner = ? AND session IS NOT DISTINCT FROM ?"
                " AND turn IS NOT DISTINCT FROM ? AND request_id IS NOT DISTINCT FROM ?",
                subject,
            )
            self._database.execute("INSERT INTO feedback VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        return record

    def all(self) -> list[FeedbackRecord]:
        """Return all feedback, latest first."""
        found = []
        for feedback_id, owner, session, turn, request, question, names, documents, *given in self._database.rows(
            "SELECT id, owner, session, turn, request_id, question, collections, documents, verdict, comment,"
            " created_at FROM feedback ORDER BY created_at DESC, id"
        ):
            quoted = quoted_from_json(documents)
            answer = RatedAnswer(owner, question, session, turn, request, tuple(names.split()), quoted)
            found.append(FeedbackRecord(feedback_id, answer, *given))
        return found

    def erase(self, is_gone: ErasePredicate) -> int:
        """Delete feedback if `is_gone` is true for the answer's documents and texts. Return how many were deleted."""
        doomed = [
            one.feedback_id
            for one in self.all()
            if is_gone(one.answer.documents, f"{one.answer.question}\n{one.comment}")
        ]
        with self._database.transaction():
            self._database.execute_many("DELETE FROM feedback WHERE id = ?", [(one,) for one in doomed])
        return len(doomed)
