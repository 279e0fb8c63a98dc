"""Conversations: their turns in order, each with the question as asked and as understood, and its whole result."""

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from elt_llm_core.errors import UsageError
from elt_llm_core.results import QueryResult
from elt_llm_core.store.clock import now
from elt_llm_core.store.database import Database, Row

EARLIER_TURNS = "earlier_turns"
"""In the metadata of a result: the numbers of the turns of its conversation that a model read for it."""
_LONGEST_TITLE = 80
_FEWEST_LETTERS = 4  # of an id given short


@dataclass(frozen=True)
class SessionRecord:
    """One conversation."""

    session_id: str
    title: str
    collections: tuple[str, ...]
    profile: str
    created_at: str
    updated_at: str
    turns: int
    owner: str = "local"
    """Name of the caller that began it."""


@dataclass(frozen=True)
class Turn:
    """One question and its answer. `understood` is the question made to stand by itself; often it did."""

    number: int
    asked: str
    understood: str
    answer: str
    result: QueryResult
    created_at: str


class Sessions:
    """The conversations in a state database. Safe to use from many threads and processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, collections: Sequence[str], profile: str = "default", owner: str = "local") -> str:
        """Begin a conversation; returns its id."""
        session_id, moment = uuid.uuid4().hex, now()
        self._database.execute(
            "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)",
            (session_id, "", json.dumps(list(collections)), profile, moment, moment, owner),
        )
        return session_id

    def all(self) -> list[SessionRecord]:
        """Every conversation, the one last used first."""
        return [_record(row) for row in self._database.rows(f"{_SELECT} ORDER BY s.updated_at DESC, s.id")]

    def of_owner(self, owner: str) -> list[SessionRecord]:
        """Every conversation that this caller began, the one last used first."""
        rows = self._database.rows(f"{_SELECT} WHERE s.owner = ? ORDER BY s.updated_at DESC, s.id", (owner,))
        return [_record(row) for row in rows]

    def find(self, session_id: str) -> SessionRecord | None:
        """The conversation of exactly this id, if there is one."""
        rows = self._database.rows(f"{_SELECT} WHERE s.id = ?", (session_id,))
        return _record(rows[0]) if rows else None

    def get(self, session_id: str) -> SessionRecord:
        """The conversation whose id this is or begins with. Raises UsageError if there is none, or more than one."""
        found = (
            self._database.rows(f"{_SELECT} WHERE substr(s.id, 1, ?) = ? LIMIT 2", (len(session_id), session_id))
            if len(session_id) >= _FEWEST_LETTERS
            else []
        )
        if len(found) != 1:
            what = "More than one conversation begins" if found else "No conversation begins"
            raise UsageError(f"{what} with '{session_id}'.", hint="Run: elt-llm chat --list")
        return _record(found[0])

    def turns(self, session_id: str, last: int | None = None) -> list[Turn]:
        """The turns in order; `last` gives the latest so many."""
        rows = self._database.rows(
            "SELECT number, asked, understood, answer, result, created_at FROM turns WHERE session = ?"
            " ORDER BY number DESC LIMIT ?",
            (session_id, -1 if last is None else last),
        )
        return [_turn(row) for row in reversed(rows)]

    def add(self, session_id: str, asked: str, result: QueryResult) -> Turn:
        """Append a turn; `result.question` is how the question was understood. Raises UsageError without a session."""
        moment = now()
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
                (moment, known[0] or _title(asked), session_id),
            )
        return Turn(number, asked, result.question, result.answer, result, moment)

    def move(self, session_id: str, collections: Sequence[str], profile: str) -> None:
        """Let a conversation go on over other collections, or with another profile."""
        self._database.execute(
            "UPDATE sessions SET collections = ?, profile = ? WHERE id = ?",
            (json.dumps(list(collections)), profile, session_id),
        )

    def delete(self, session_id: str) -> None:
        """Delete a conversation with all its turns; none of that id is no error."""
        self._database.execute("DELETE FROM sessions WHERE id = ?", (session_id,))

    def erase(self, is_gone: Callable[[QueryResult], bool]) -> int:
        """Delete every turn whose result `is_gone` says yes to, and those that come of it.

        These are the ones right after it that lean on it, and all that a model wrote having read it. A conversation
        that has no turn left goes too; another is named by its first turn that is left. Returns how many turns there
        were.
        """
        return sum(self._erase_of(record, is_gone) for record in self.all())

    def _erase_of(self, record: SessionRecord, is_gone: Callable[[QueryResult], bool]) -> int:
        doomed: list[Turn] = []
        turns = self.turns(record.session_id)
        for turn in turns:
            leans = turn.understood != turn.asked and bool(doomed) and doomed[-1].number == turn.number - 1
            read = turn.result.metadata.get(EARLIER_TURNS, ())
            if leans or any(one.number in read for one in doomed) or is_gone(turn.result):
                doomed.append(turn)
        left = [turn for turn in turns if turn not in doomed]
        with self._database.transaction():
            for turn in doomed:
                self._database.execute(
                    "DELETE FROM turns WHERE session = ? AND number = ?", (record.session_id, turn.number)
                )
            if doomed and left:
                title = (_title(left[0].asked), record.session_id)
                self._database.execute("UPDATE sessions SET title = ? WHERE id = ?", title)
        if doomed and not left:
            self.delete(record.session_id)
        return len(doomed)


def _title(asked: str) -> str:
    return " ".join(asked.split())[:_LONGEST_TITLE]


_SELECT = (
    "SELECT s.id, s.title, s.collections, s.profile, s.created_at, s.updated_at,"
    " (SELECT count(*) FROM turns t WHERE t.session = s.id), s.owner FROM sessions s"
)


def _record(row: Row) -> SessionRecord:
    session_id, title, collections, *others = row
    return SessionRecord(session_id, title, tuple(json.loads(collections)), *others)


def _turn(row: Row) -> Turn:
    number, asked, understood, answer, result, created_at = row
    return Turn(number, asked, understood, answer, QueryResult.model_validate_json(result), created_at)
