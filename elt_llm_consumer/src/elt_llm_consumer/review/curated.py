"""Values that reviewers put in place of what was found, from a file: with who, when and why."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date

from elt_llm_core.settings_section import Section
from pydantic import Field, model_validator

from elt_llm_consumer.corpus import Corpus
from elt_llm_consumer.review.merging import with_rows
from elt_llm_consumer.rows import Cell, Curation, Evidence, JobResult, Row

_LONGEST_NOTE = 200  # characters of an overruled value
_NOT_THERE = "The quote given for it is not in the documents."


class Override(Section):
    """One value for one field of one row."""

    kind: str = Field("", description="Kind of job it is for, such as catalog; unset: every kind.")
    table: str = Field(description="Table of the row.")
    key: str = Field("", description="Key of the row; or else its name.")
    name: str = Field("", description="Name of the row, where no other of the table has it.")
    field: str = Field(description="Column whose value it is.")
    value: str | int | float | tuple[str, ...] | None = Field(description="The value; null: there is none.")
    by: str = Field(min_length=1, description="Who says so.")
    at: date = Field(description="When, such as 2026-01-31.")
    reason: str = Field("", description="Why, in their words.")
    quote: str = Field("", description="Words of a document that bear it out, as they stand there.")
    source: str = Field("", description="The document they are in; unset: the first that has them.")

    @model_validator(mode="after")
    def _names_a_row(self) -> "Override":
        if bool(self.key) == bool(self.name):
            raise ValueError("give the key of the row or its name, and not both")
        return self

    def is_of(self, table: str, row: Row) -> bool:
        """Whether it is meant for this row."""
        return table == self.table and (row.key == self.key if self.key else row.name == self.name)

    def __str__(self) -> str:
        """How messages name it."""
        return f"{self.table}, {self.key or self.name}, {self.field}"


class CuratedFile(Section):
    """The file that `sources.curated` names."""

    overrides: tuple[Override, ...] = Field((), description="What reviewers put in place of what is found.")


class Curated:
    """Applies overrides to rows, and knows which of them have found theirs."""

    def __init__(self, overrides: Sequence[Override], kind: str, corpora: Sequence[Corpus] = ()) -> None:
        self._overrides = [one for one in overrides if one.kind in ("", kind)]
        self._corpora = corpora
        self._kind = kind
        self._applied: set[int] = set()
        self._problems: list[str] = []

    def row(self, table: str, row: Row) -> Row:
        """The row with what reviewers say of it."""
        for number, override in enumerate(self._overrides):
            if override.is_of(table, row) and not self._is_in(override, row):
                self._applied.add(number)
                cells = {**row.cells, override.field: self._cell(override, row.cells.get(override.field))}
                row = row.model_copy(update={"cells": cells})
        return row

    def result(self, result: JobResult) -> JobResult:
        """The result with what reviewers say of rows that follow from others."""
        return with_rows(result, self.row)

    def problems(self, result: JobResult, waiting: Sequence[tuple[str, str, str]] = ()) -> list[str]:
        """What could not be applied, a sentence each; `waiting` are table, key and name of rows not made yet."""
        found = [*dict.fromkeys(self._problems), *self._given_twice()]
        columns = {table.name: table.columns for table in result.tables}
        for number, override in enumerate(self._overrides):
            comes = any(
                table == override.table and override.key in ("", key) and override.name in ("", name)
                for table, key, name in waiting
            )
            if number not in self._applied and not comes:
                found.append(f"Curated value without a row: {override}{self._why(override, columns)}.")
            elif number in self._applied and override.field not in columns.get(override.table, ()):
                found.append(f"Curated value for a column that there is not: {override}.")
        return found

    def _given_twice(self) -> list[str]:
        counts = Counter(map(str, self._overrides))
        return [
            f"Curated values given {count} times, of which the last holds: {it}."
            for it, count in counts.items()
            if count > 1
        ]

    def _why(self, override: Override, columns: dict[str, tuple[str, ...]]) -> str:
        if override.table in columns:
            return ""
        return f" (a {self._kind} has no such table; name the kind of job that has)"

    def _is_in(self, override: Override, row: Row) -> bool:
        cell = row.cells.get(override.field)
        return cell is not None and cell.curation == _curation(override) and cell.value == override.value

    def _cell(self, override: Override, found: Cell | None) -> Cell:
        evidence = self._evidence(override)
        notes = [_overruled(found)] if found else []
        if override.quote and not evidence:
            notes.append(_NOT_THERE)
            self._problems.append(f"Curated value: {override}: {_NOT_THERE}")
        return Cell(
            value=override.value if override.value not in ("", ()) else None,
            verdict="absent" if override.value in (None, "", ()) else "found",
            evidence=evidence,
            method="curated",
            confidence=1.0,
            note=" ".join(notes),
            curation=_curation(override),
        )

    def _evidence(self, override: Override) -> tuple[Evidence, ...]:
        return next(self._places(override), ()) if override.quote.strip() else ()

    def _places(self, override: Override) -> Iterator[tuple[Evidence, ...]]:
        for document in (document for corpus in self._corpora for document in corpus.documents):
            start = document.text.find(override.quote) if override.source in ("", document.source) else -1
            if start >= 0:
                yield (document.evidence(start, start + len(override.quote), 1.0),)


def _curation(override: Override) -> Curation:
    return Curation(by=override.by, at=override.at.isoformat(), reason=override.reason)


def _overruled(cell: Cell) -> str:
    if cell.verdict == "absent":
        return "In place of nothing found."
    value = ", ".join(cell.value) if isinstance(cell.value, tuple) else str(cell.value)
    short = value if len(value) <= _LONGEST_NOTE else value[:_LONGEST_NOTE] + " ..."
    return f"In place of ({cell.verdict}, {cell.method}): {short}"
