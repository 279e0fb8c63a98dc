"""What a job writes: tables of rows, and in every cell a value with what it rests on."""

from collections.abc import Iterable, Mapping
from typing import Literal, Self

from elt_llm_core.enterprise_model import Record
from pydantic import Field, model_validator

Verdict = Literal["found", "inferred", "absent", "conflict"]
Method = Literal["rule", "extractive", "llm", "curated"]
ReviewStatus = Literal["PENDING", "APPROVED", "REJECTED", "NEEDS_CLARIFICATION"]
Value = str | int | float | tuple[str, ...] | None


class Evidence(Record):
    """Words of a document: `quote` is its text[span[0]:span[1]], character for character."""

    collection: str
    source: str = Field(description="Path of the document in its collection; of a part, with # and its name.")
    document_id: str
    document_hash: str = Field(description="Of the file's bytes, 64 hex digits.")
    page: int | None = Field(None, ge=1, description="Page the quote begins on; None where the format has none.")
    section: str | None = Field(None, description="Headings above it, joined by ' > '.")
    span: tuple[int, int] = Field(description="Characters of the document's text, the end not included.")
    quote: str = Field(min_length=1)
    quote_hash: str = Field(description="SHA-256 of the quote in UTF-8, 64 hex digits.")
    score: float = Field(ge=0, le=1, description="How well it supports the value.")
    about: str = Field("", description="The one of several values it stands for; empty: all.")

    @property
    def place(self) -> str:
        """Such as "handbook.pdf, page 8"."""
        return self.source if self.page is None else f"{self.source}, page {self.page}"


class Curation(Record):
    """Who put a value there by hand, and when; `reason` in their words."""

    by: str
    at: str = Field(description="ISO 8601 date, with or without time.")
    reason: str = ""


class Cell(Record):
    """One field of one row. No evidence, no "found"; what is absent has no value.

    found: the evidence says it. inferred: it was concluded, or written by a model that the evidence supports in part.
    conflict: the evidence says two things that cannot both hold. absent: nothing was found, or what was asked for is
    not in the documents.
    """

    value: Value = None
    verdict: Verdict
    evidence: tuple[Evidence, ...] = ()
    method: Method = "rule"
    model: str = Field("", description="The language model that wrote the value; empty where none did.")
    confidence: float = Field(ge=0, le=1)
    note: str = Field("", description="Why, in a sentence, where the verdict alone does not tell.")
    curation: Curation | None = None

    @model_validator(mode="after")
    def _is_honest(self) -> Self:
        empty = self.value is None or self.value in ("", ())
        if self.verdict == "absent" and not empty:
            raise ValueError("an absent field has no value")
        if self.verdict != "absent" and empty:
            raise ValueError(f"a field that is {self.verdict} has a value")
        if self.verdict == "found" and not self.evidence and self.method != "curated":
            raise ValueError("no evidence, no 'found'")
        if self.verdict == "conflict" and len(self.evidence) < 2:
            raise ValueError("a conflict has two places at least")
        if (self.method == "curated") != (self.curation is not None):
            raise ValueError("a curated field, and no other, says by whom")
        return self


def found(
    value: Value,
    evidence: Iterable[Evidence],
    *,
    method: Method = "rule",
    model: str = "",
    confidence: float | None = None,
    note: str = "",
) -> Cell:
    """A cell that its evidence says; unset, the confidence is the best score among it."""
    places = tuple(evidence)
    sure = max((place.score for place in places), default=0.0) if confidence is None else confidence
    return Cell(value=value, verdict="found", evidence=places, method=method, model=model, confidence=sure, note=note)


def absent(note: str = "", *, method: Method = "rule", model: str = "", confidence: float = 1.0) -> Cell:
    """A cell for which nothing was found; `confidence` is that of there being nothing."""
    return Cell(verdict="absent", method=method, model=model, confidence=confidence, note=note)


class Review(Record):
    """What a reviewer said of a row."""

    status: ReviewStatus = "PENDING"
    reviewer: str = ""
    comment: str = ""
    reviewed_at: str = Field("", description="ISO 8601; empty while pending.")
    stale: bool = Field(False, description="Whether the row has changed since.")


class Row(Record):
    """One term, entity, relationship or rule. `key` is the same in every run, and unique in its table."""

    key: str = Field(min_length=1)
    name: str
    group: tuple[str, ...] = Field((), description="Where it stands, outermost first, such as domain and subgroup.")
    cells: Mapping[str, Cell]
    review: Review = Review()
    notes: tuple[str, ...] = ()

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """All evidence of all cells, in the order of the cells."""
        return tuple(place for cell in self.cells.values() for place in cell.evidence)


class Table(Record):
    """Rows with the same columns; a row may lack a column."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...] = ()
    groups: tuple[str, ...] = Field(("domain", "subgroup"), description="What the parts of a row's `group` are called.")


def by_first_group(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Rows of one outermost group together, groups as they first come, rows without any last."""
    listed = tuple(rows)
    names = dict.fromkeys(row.group[0] for row in listed if row.group and row.group[0])
    numbers = {name: number for number, name in enumerate(names)}
    return tuple(sorted(listed, key=lambda row: numbers.get(row.group[0] if row.group else "", len(numbers))))


class JobResult(Record):
    """All that a job found. Two runs over the same texts with the same settings give equal results, byte for byte."""

    job: str
    kind: str
    description: str = ""
    tables: tuple[Table, ...]
    figures: Mapping[str, int | float | str] = Field(default_factory=dict, description="Counts and shares by name.")
    notes: tuple[str, ...] = ()

    def table(self, name: str) -> Table:
        """The table of that name; KeyError if the job has none."""
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(name)
