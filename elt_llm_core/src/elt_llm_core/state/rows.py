"""Rows that batch jobs made, each kept as soon as it is finished: a job that is cut off goes on from them."""

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from elt_llm_core.store.clock import now
from elt_llm_core.store.database import Database

Quoted = tuple[str, str, str]
"""Collection, document id and hash of a document whose words something holds; any document of it where the id is *."""
ANY_DOCUMENT = "*"
_EMPTY = "''"
_OF_ROW = "job = ? AND kind = ? AND part = ? AND row_key = ?"
IsGone = Callable[[frozenset[Quoted], str], bool]
"""Whether what quotes these documents, and says this, is to be erased."""


@dataclass(frozen=True)
class JobName:
    """A job as it is called, and what of it was run: one job file may serve several kinds."""

    job: str
    kind: str


@dataclass(frozen=True)
class Place:
    """A row by the table it stands in and its key there."""

    table: str
    key: str


@dataclass(frozen=True)
class KeptRow:
    """A finished row as JSON text; `made_from` is the hash of all that it was made from."""

    place: Place
    made_from: str
    content: str
    documents: frozenset[Quoted] = frozenset()
    calls: int = 0
    """Calls of a language model that it took."""
    seconds: float = 0.0


@dataclass(frozen=True)
class ShownRow:
    """A row as it was last written; `digest` is of what a reviewer sees of it."""

    place: Place
    content: str
    digest: str
    documents: frozenset[Quoted] = frozenset()


class JobRows:
    """The rows of all jobs in a state database. Safe to use from many threads and processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, name: JobName, row: KeptRow) -> None:
        """Keep a finished row in place of the one there was; on the disk when this returns.

        A row that a language model wrote and one that none did are kept beside each other: a server that is out of
        reach for a day must not cost what was written before.
        """
        names = _names(name, row.place)
        with self._database.transaction():
            self._database.execute(f"DELETE FROM job_rows WHERE {_OF_ROW} AND (calls > 0) = ?", (*names, row.calls > 0))  # noqa: S608
            self._database.execute(
                "INSERT OR REPLACE INTO job_rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*names, row.made_from, row.content, to_json(row.documents), row.calls, row.seconds, now()),
            )

    def all(self, name: JobName) -> dict[Place, tuple[KeptRow, ...]]:
        """Every row kept of a job: of each place one or two."""
        rows = self._database.rows(
            "SELECT part, row_key, made_from, content, documents, calls, seconds FROM job_rows"
            " WHERE job = ? AND kind = ? ORDER BY part, row_key, made_from",
            (name.job, name.kind),
        )
        kept: dict[Place, tuple[KeptRow, ...]] = {}
        for part, key, made_from, content, documents, calls, seconds in rows:
            place = Place(part, key)
            row = KeptRow(place, made_from, content, from_json(documents), calls, seconds)
            kept[place] = (*kept.get(place, ()), row)
        return kept

    def keep_only(self, name: JobName, places: Collection[Place]) -> None:
        """Delete the rows that stand elsewhere: the job has them no more."""
        gone = [place for place in self.all(name) if place not in places]
        with self._database.transaction():
            self._database.execute_many(
                f"DELETE FROM job_rows WHERE {_OF_ROW}",  # noqa: S608 - the names of columns alone
                [_names(name, place) for place in gone],
            )

    def show(self, name: JobName, rows: Iterable[ShownRow]) -> None:
        """Keep the rows as they are written now, in place of those written before."""
        with self._database.transaction():
            self._database.execute("DELETE FROM job_shown WHERE job = ? AND kind = ?", (name.job, name.kind))
            self._database.execute_many(
                "INSERT INTO job_shown VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        name.job,
                        name.kind,
                        number,
                        it.place.table,
                        it.place.key,
                        it.content,
                        it.digest,
                        to_json(it.documents),
                    )
                    for number, it in enumerate(rows)
                ],
            )

    def shown(self, name: JobName, *, contents: bool = True) -> dict[Place, ShownRow]:
        """The rows as last written, in their order; without `contents`, which may be large, those are empty."""
        rows = self._database.rows(
            f"SELECT part, row_key, {'content' if contents else _EMPTY}, digest, documents FROM job_shown"  # noqa: S608
            " WHERE job = ? AND kind = ? ORDER BY place",
            (name.job, name.kind),
        )
        read = {text: from_json(text) for text in {row[4] for row in rows}}  # many rows rest on the same documents
        found = [ShownRow(Place(part, key), text, digest, read[said]) for part, key, text, digest, said in rows]
        return {row.place: row for row in found}

    def shown_at(self, name: JobName, place: Place) -> ShownRow | None:
        """One row as it was last written."""
        row = self._database.row(
            f"SELECT content, digest, documents FROM job_shown WHERE {_OF_ROW}",  # noqa: S608 - the names of columns
            _names(name, place),
        )
        return None if row is None else ShownRow(place, row[0], row[1], from_json(row[2]))

    def erase(self, is_gone: IsGone) -> int:
        """Delete every row that `is_gone` says yes to; returns how many, one kept and shown counted once."""
        return len(self._erase_from("job_rows", is_gone) | self._erase_from("job_shown", is_gone))

    def _erase_from(self, table: str, is_gone: IsGone) -> set[tuple[str, ...]]:
        rows = self._database.rows(f"SELECT job, kind, part, row_key, content, documents FROM {table}")  # noqa: S608
        doomed = {tuple(row[:4]) for row in rows if is_gone(from_json(row[5]), f"{row[3]}\n{row[4]}")}
        statement = f"DELETE FROM {table} WHERE {_OF_ROW}"  # noqa: S608
        with self._database.transaction():
            self._database.execute_many(statement, sorted(doomed))
        return doomed


def from_json(text: str) -> frozenset[Quoted]:
    """The documents that were kept as JSON."""
    return frozenset((str(name), str(identity), str(content)) for name, identity, content in json.loads(text))


def to_json(documents: Iterable[Quoted]) -> str:
    """Documents as they are kept, equal for equal ones."""
    return json.dumps(sorted(documents), ensure_ascii=False)


def _names(name: JobName, place: Place) -> tuple[str, str, str, str]:
    return (name.job, name.kind, place.table, place.key)
