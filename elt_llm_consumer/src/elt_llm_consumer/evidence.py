"""The result of a job: tables in which each cell has a verdict and the quotes that support its value."""

import hashlib
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Literal, Self

from elt_llm_core.enterprise import EnterpriseRecord
from elt_llm_core.store.records import canonical_json
from elt_llm_core.text.outline import page_label
from pydantic import Field, model_validator

Verdict = Literal["found", "inferred", "absent", "conflict"]
Method = Literal["rule", "extractive", "llm", "curated"]
ReviewStatus = Literal["PENDING", "APPROVED", "REJECTED", "NEEDS_CLARIFICATION"]
Value = str | int | float | tuple[str, ...] | None


class Evidence(EnterpriseRecord):
    """A verbatim quote of a document: `quote` equals text[span[0]:span[1]] of the document."""

    collection: str
    source: str = Field(description="Path in the collection; for a part of a file, followed by # and the part's name.")
    document_id: str
    document_hash: str = Field(description="SHA-256 of the file's bytes, 64 hex digits.")
    page: int | None = Field(None, ge=1, description="First page of the quote; None for formats without pages.")
    section: str | None = Field(None, description="Headings above the quote, joined by ' > '.")
    span: tuple[int, int] = Field(description="Character offsets in the document's text, the end excluded.")
    quote: str = Field(min_length=1)
    quote_hash: str = Field(description="SHA-256 of the quote in UTF-8, 64 hex digits.")
    score: float = Field(ge=0, le=1, description="How well the quote supports the value.")
    about: str = Field("", description="The value that the quote supports, if the cell has several values; empty: all.")

    def supporting(self, value: str) -> "Evidence":
        """Return a copy that supports only `value`, one of several values in a cell; "" means that it supports all."""
        return self.model_copy(update={"about": value})

    @property
    def place(self) -> str:
        """The path of the document and the page or sheet, such as "handbook.pdf, page 8"."""
        return ", ".join(filter(None, [self.source, page_label(self.source, self.page, self.section)]))


class Curation(EnterpriseRecord):
    """The person who set a value by hand, the date, and the reason in that person's words."""

    by: str
    at: str = Field(description="ISO 8601 date, with or without time.")
    reason: str = ""


class Cell(EnterpriseRecord):
    """One field of one row. A found cell has evidence; an absent cell has no value.

    Verdict `found`: the evidence states the value. `inferred`: a rule derived the value, or a model wrote the value and
    the evidence supports only part of it. `conflict`: the evidence states contradicting values. `absent`: the documents
    do not contain the value.
    """

    value: Value = None
    verdict: Verdict
    evidence: tuple[Evidence, ...] = ()
    method: Method = "rule"
    model: str = Field("", description="The language model that wrote the value; empty without one.")
    confidence: float = Field(ge=0, le=1)
    note: str = Field("", description="The reason in a sentence, if the verdict needs one.")
    curation: Curation | None = None

    @model_validator(mode="after")
    def _check_verdict(self) -> Self:
        empty = self.value is None or self.value in ("", ())
        if self.verdict == "absent" and not empty:
            raise ValueError("a cell whose verdict is 'absent' must not have a value")
        if self.verdict != "absent" and empty:
            raise ValueError(f"a cell whose verdict is '{self.verdict}' must have a value")
        if self.verdict == "found" and not self.evidence and self.method != "curated":
            raise ValueError("a cell whose verdict is 'found' must have evidence")
        if self.verdict == "conflict" and len(self.evidence) < 2:
            raise ValueError("a cell whose verdict is 'conflict' must have at least two quotes")
        if (self.method == "curated") != (self.curation is not None):
            raise ValueError("a cell must name a curator if, and only if, its method is curated")
        return self


def found_cell(
    value: Value,
    evidence: Iterable[Evidence],
    *,
    method: Method = "rule",
    model: str = "",
    confidence: float | None = None,
    note: str = "",
) -> Cell:
    """Return a cell with verdict `found`. The confidence defaults to the highest score of the evidence."""
    places = tuple(evidence)
    sure = max((place.score for place in places), default=0.0) if confidence is None else confidence
    return Cell(value=value, verdict="found", evidence=places, method=method, model=model, confidence=sure, note=note)


def absent_cell(note: str = "", *, method: Method = "rule", model: str = "", confidence: float = 1.0) -> Cell:
    """Return a cell with verdict `absent`; `confidence` is the confidence that the documents lack the value."""
    return Cell(verdict="absent", method=method, model=model, confidence=confidence, note=note)


def inferred_cell(value: Value, note: str = "", evidence: Iterable[Evidence] = (), *, confidence: float = 1.0) -> Cell:
    """Return a cell with verdict `inferred`."""
    return Cell(value=value, verdict="inferred", evidence=tuple(evidence), confidence=confidence, note=note)


def with_note(cell: Cell, note: str) -> Cell:
    """Return a copy of the cell with `note` appended to its note."""
    return cell.model_copy(update={"note": " ".join(filter(None, [cell.note, note]))}) if note else cell


class Review(EnterpriseRecord):
    """A reviewer's verdict on a row."""

    status: ReviewStatus = "PENDING"
    reviewer: str = ""
    comment: str = ""
    reviewed_at: str = Field("", description="ISO 8601; empty while pending.")
    stale: bool = Field(False, description="Whether the row has changed since the review.")

    @property
    def current_status(self) -> ReviewStatus:
        """The status of the row as it is now: PENDING if it has changed since its approval or rejection."""
        return "PENDING" if self.stale and self.status in {"APPROVED", "REJECTED"} else self.status


class Row(EnterpriseRecord):
    """A term, entity, relationship or rule. `key` is the same in every run, and unique in the table."""

    key: str = Field(min_length=1)
    name: str
    group: tuple[str, ...] = Field((), description="Groups of the row, outermost first, such as domain and subgroup.")
    cells: Mapping[str, Cell]
    review: Review = Review()
    notes: tuple[str, ...] = ()

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """All evidence of all cells, in the order of the cells."""
        return tuple(place for cell in self.cells.values() for place in cell.evidence)

    @property
    def quoted_documents(self) -> frozenset[tuple[str, str, str]]:
        """The collection, id and hash of each document that the row quotes."""
        return frozenset((it.collection, it.document_id, it.document_hash) for it in self.evidence)


class Table(EnterpriseRecord):
    """A table in a job's result. A row may lack the cells of some columns."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...] = ()
    groups: tuple[str, ...] = Field(("domain", "subgroup"), description="Names of the levels of a row's `group`.")


def rows_by_group(rows: Iterable[Row], depth: int) -> dict[str, list[Row]]:
    """Return the rows by the name of their group at `depth`, in order of appearance; "" for rows without a group."""
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row.group[depth] if len(row.group) > depth else "", []).append(row)
    return grouped


def group_by_domain(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Sort the rows so that all rows of one domain follow each other. The domain is the first name in a row's `group`.

    The domains keep the order in which they first appear. Rows without a domain come last.
    """
    by_domain = rows_by_group(rows, 0)
    without = by_domain.pop("", [])
    return (*chain.from_iterable(by_domain.values()), *without)


class JobResult(EnterpriseRecord):
    """The result of a job. Two runs over the same texts with the same settings give byte-identical results."""

    job: str
    kind: str
    description: str = ""
    tables: tuple[Table, ...]
    figures: Mapping[str, int | float | str] = Field(default_factory=dict, description="Counts and shares by name.")
    notes: tuple[str, ...] = ()

    def table(self, name: str) -> Table:
        """Return the table of this name. Raises KeyError if there is none."""
        return {table.name: table for table in self.tables}[name]


def hash_json(value: object) -> str:
    """Return the SHA-256 of a JSON value as 64 hex digits, independent of the order of its keys."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def content_digest(row: Row) -> str:
    """Return the SHA-256 of a row's name, group, values, verdicts and quotes, as 64 hex digits.

    Scores, spans, pages, notes and the review are not part of the digest.
    """
    cells = {
        name: {
            "value": list(cell.value) if isinstance(cell.value, tuple) else cell.value,
            "verdict": cell.verdict,
            "quotes": [[it.collection, it.source, it.quote_hash] for it in cell.evidence],
        }
        for name, cell in row.cells.items()
    }
    return hash_json({"name": row.name, "group": list(row.group), "cells": cells})
