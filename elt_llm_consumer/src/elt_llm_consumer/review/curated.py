"""Apply curated values, which reviewers set in a file together with their name, the date and a reason."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date

from elt_llm_core.settings.tree import SettingsSection
from pydantic import Field, model_validator

from elt_llm_consumer.evidence import Cell, Curation, Evidence, JobResult, Row
from elt_llm_consumer.jobs.corpus import Corpus

_MAX_NOTE_LENGTH = 200  # maximum characters of a replaced value that a note shows
_QUOTE_NOT_FOUND = "The documents do not contain the given quote."


class ValueOverride(SettingsSection):
    """A curated value: a value that a reviewer sets by hand for one cell, in place of what the job finds."""

    kind: str = Field("", description="Kind of job, such as catalog; unset: every kind.")
    table: str = Field(description="Table of the row.")
    key: str = Field("", description="Key of the row; leave it out if the name is given.")
    name: str = Field("", description="Name of the row, if unique in the table.")
    field: str = Field(description="Column of the value.")
    value: str | int | float | tuple[str, ...] | None = Field(description="The value; null marks the field as absent.")
    by: str = Field(min_length=1, description="Name of the curator.")
    at: date = Field(description="Date of the change, such as 2026-01-31.")
    reason: str = Field("", description="The curator's reason.")
    quote: str = Field("", description="A verbatim quote of a document that supports the value.")
    source: str = Field("", description="The document of the quote; unset: the first that contains it.")

    @model_validator(mode="after")
    def _check_row(self) -> "ValueOverride":
        if bool(self.key) == bool(self.name):
            raise ValueError("give either the key of the row or its name")
        return self

    def is_of(self, table: str, row: Row) -> bool:
        """Return whether this curated value is meant for the given row."""
        return table == self.table and (row.key == self.key if self.key else row.name == self.name)

    @property
    def curation(self) -> Curation:
        """The name of the curator, the date and the reason."""
        return Curation(by=self.by, at=self.at.isoformat(), reason=self.reason)

    def __str__(self) -> str:
        """Return the table, the row and the field as a text for messages."""
        return f"{self.table}, {self.key or self.name}, {self.field}"


class CuratedFile(SettingsSection):
    """The content of the file that the job's setting `sources.curated` names: the cell values that reviewers set."""

    overrides: tuple[ValueOverride, ...] = Field((), description="Values set by reviewers.")


class CuratedValues:
    """Puts curated values, which reviewers set in a file, into the cells of a job's rows.

    It remembers which values matched a row, so that `problems` can report the others.
    """

    def __init__(self, overrides: Sequence[ValueOverride], kind: str, corpora: Sequence[Corpus] = ()) -> None:
        self._overrides = [one for one in overrides if one.kind in ("", kind)]
        self._corpora = corpora
        self._kind = kind
        self._applied: dict[int, set[str]] = defaultdict(set)  # the keys of the rows that each value was put into
        self._problems: list[str] = []

    def row(self, table: str, row: Row) -> Row:
        """Return the row with the curated values for it in place of the values that the job found."""
        for number, override in enumerate(self._overrides):
            cell = row.cells.get(override.field)
            is_applied = cell is not None and (cell.curation, cell.value) == (override.curation, override.value)
            if override.is_of(table, row) and not is_applied:
                self._applied[number].add(row.key)
                row = row.model_copy(update={"cells": {**row.cells, override.field: self._cell(override, cell)}})
        return row

    def problems(self, result: JobResult, waiting: Sequence[tuple[str, str, str]] = ()) -> list[str]:
        """Return a sentence for each problem with a curated value.

        `waiting` lists table, key and name of the rows that the job has yet to make. A curated value for such a row is
        not a problem.
        """
        counts = Counter(map(str, self._overrides))
        twice = {it: count for it, count in counts.items() if count > 1}
        found = [*dict.fromkeys(self._problems)]
        found += [f"{count} curated values for one cell; the last one applies: {it}." for it, count in twice.items()]
        columns = {table.name: table.columns for table in result.tables}
        for number, override in enumerate(self._overrides):
            comes = any(
                table == override.table and override.key in ("", key) and override.name in ("", name)
                for table, key, name in waiting
            )
            if number not in self._applied and not comes:
                hint = f" (a {self._kind} job has no such table; set `kind` to the kind of job that has it)"
                found.append(f"Curated value matches no row: {override}{'' if override.table in columns else hint}.")
            elif number in self._applied and override.field not in columns.get(override.table, ()):
                found.append(f"Curated value for an unknown column: {override}.")
            if len(keys := self._applied.get(number, ())) > 1:
                found.append(
                    f"Curated value for {len(keys)} rows: {override}. Give one key: {', '.join(sorted(keys))}."
                )
        return found

    def _cell(self, override: ValueOverride, found: Cell | None) -> Cell:
        evidence = self._evidence(override)
        notes = [_overruled_value(found)] if found else []
        if override.quote and not evidence:
            notes.append(_QUOTE_NOT_FOUND)
            self._problems.append(f"Curated value for {override}: {_QUOTE_NOT_FOUND}")
        return Cell(
            value=override.value if override.value not in ("", ()) else None,
            verdict="absent" if override.value in (None, "", ()) else "found",
            evidence=evidence,
            method="curated",
            confidence=1.0,
            note=" ".join(notes),
            curation=override.curation,
        )

    def _evidence(self, override: ValueOverride) -> tuple[Evidence, ...]:
        """Return the first occurrence of the quote in the documents as evidence; empty if there is none."""
        documents = (document for corpus in self._corpora for document in corpus.documents)
        for document in documents if override.quote.strip() else ():
            start = document.text.find(override.quote) if override.source in ("", document.source) else -1
            if start >= 0:
                return (document.evidence(start, start + len(override.quote), 1.0),)
        return ()


def _overruled_value(cell: Cell) -> str:
    if cell.verdict == "absent":
        return "The curated value replaces an absent value."
    value = ", ".join(cell.value) if isinstance(cell.value, tuple) else str(cell.value)
    short = value if len(value) <= _MAX_NOTE_LENGTH else value[:_MAX_NOTE_LENGTH] + " ..."
    return f"The curated value replaces this value ({cell.verdict}, {cell.method}): {short}"
