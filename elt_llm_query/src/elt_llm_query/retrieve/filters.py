"""Filters: parse `--where` conditions, and find the chunks of each collection that fulfil them.

A condition is `field=value`; the operators are `=`, `!=`, `>`, `>=`, `<`, `<=`, `in` and `not in`. A chunk must fulfil
all conditions.

- Text is compared exactly. `in a,b,c` matches any of the three values. Double quotes enclose a value with a comma.
- `section=A > B` matches that section and its subsections.
- Numbers and dates have an order. `=` also accepts a range: `year=2019..2021`, `modified_at=2024-01-01..2024-03-31`.
- A date is a year, a month, a day or a moment (UTC). `dates=2024-03` matches all of March; `dates<=2024-03` matches
  everything until the end of March. A chunk that names only a month is neither before nor after a day of that month.
- If a field has several values, such as topics, at least one must fulfil the condition. `!=` and `not in` exclude the
  chunks that `=` and `in` find, so chunks without a value remain.
"""

import csv
import re
from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, get_args

import numpy as np
from elt_llm_core.errors import UsageError
from elt_llm_core.index.searchable import AllowedChunks, FieldValue, FieldValues, Searchable, ValueFilter
from elt_llm_core.store.conditions import DocumentCondition, DocumentConditions
from elt_llm_core.utilities import nearest_names
from llama_index.core.schema import QueryBundle
from numpy.typing import NDArray

from elt_llm_query.retrieve.query_variant import AlternativeNames

Operator = Literal["=", "!=", ">", ">=", "<", "<=", "in", "not in"]
MOST_CONDITIONS = 50
MOST_CHARACTERS = 2000  # of a condition
_OPERATOR = re.compile(r"!=|>=|<=|==|=|>|<|\s(?:not\s)?in\s", re.IGNORECASE)
_OPERATORS: dict[str, Operator] = {operator: operator for operator in get_args(Operator)} | {"==": "="}
_NUMBER = re.compile(r"[+-]?\d{1,18}(?:\.\d{0,18})?")
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d(?:T\d\d(?::\d\d(?::\d\d)?)?)?)?)?")
_EXAMPLE = "Write field=value, such as year>=2020 or 'kind in table,prose'."


@dataclass(frozen=True)
class Condition:
    """A condition on a field. Only the operators `in` and `not in` allow more than one operand."""

    field: str
    operator: Operator
    operands: tuple[str, ...]

    @property
    def denies(self) -> bool:
        """Whether the condition excludes the chunks with these values instead of selecting them."""
        return self.operator in ("!=", "not in")

    def __str__(self) -> str:
        return f"{self.field} {self.operator} {','.join(self.operands)}"


def parse_conditions(where: Sequence[str]) -> tuple[Condition, ...]:
    """Parse conditions. Raises UsageError if a condition is malformed, or if there are too many."""
    if len(where) > MOST_CONDITIONS:
        raise UsageError(f"{len(where)} filters were given; at most {MOST_CONDITIONS} are supported.")
    return tuple(map(_parse_condition, where))


def document_conditions(where: Sequence[str]) -> DocumentConditions:
    """Parse the conditions that decide which documents an API key or a group sees, such as `tenant_id=acme`.

    They apply to every collection. Only `=` and `in` are supported, because a document without the field must never
    be visible. Raises UsageError.
    """
    conditions = []
    for one in parse_conditions(where):
        if one.operator not in ("=", "in"):
            raise UsageError(
                f"'{one}' cannot be a condition of an API key or a group, because only = and in are supported.",
                hint="Write it like tenant_id=acme or 'tenant_id in acme,shared'.",
            )
        conditions.append(DocumentCondition(one.field, one.operands))
    fields = [one.field for one in conditions]
    if twice := next((name for name in fields if fields.count(name) > 1), None):
        raise UsageError(f"The field '{twice}' has two conditions.", hint=f"Write one: '{twice} in a,b'")
    return tuple(conditions)


def matching_values(field: FieldValues, condition: Condition) -> list[int]:
    """Return the indexes of the field's values that match the operands.

    `!=` and `not in` give the same indexes as `=` and `in`, because the caller excludes these values. Raises UsageError
    if the field's type does not support the operator, or if an operand is not of this type.
    """
    if field.type not in ("text", "path"):
        return [index for operand in condition.operands for index in _ordered_indexes(field, condition, operand)]
    if condition.operator in (">", ">=", "<", "<="):
        raise UsageError(
            f"'{condition.field}' is text, which cannot be compared: {condition}", hint="Use =, !=, in or not in."
        )
    values, chosen = field.values, list[int]()
    for operand in condition.operands:
        chosen += range(bisect_left(values, operand), bisect_right(values, operand))
        if field.type == "path":
            below = f"{operand} > "
            chosen += range(bisect_left(values, below), bisect_left(values, below + "\U0010ffff"))
    return chosen


def _parse_condition(text: str) -> Condition:
    match = _OPERATOR.search(text[:MOST_CHARACTERS])
    name, value = (text[: match.start()].strip(), text[match.end() :].strip()) if match else ("", "")
    if not match or not name or not value or len(text) > MOST_CHARACTERS:
        raise UsageError(f"'{text[:100]}' is not a filter.", hint=_EXAMPLE)
    operator = _OPERATORS[" ".join(match.group().lower().split())]
    quoted = len(value) > 1 and value.startswith('"') and value.endswith('"')
    operands = _listed(value) if operator in ("in", "not in") else (value[1:-1] if quoted else value,)
    if not all(operands):
        raise UsageError(f"'{text[:100]}' has an empty value.", hint=_EXAMPLE)
    return Condition(name, operator, operands)


def _listed(value: str) -> tuple[str, ...]:
    bare = value[1:-1] if value.startswith("(") and value.endswith(")") else value
    try:
        return tuple(one.strip() for one in next(csv.reader([bare], skipinitialspace=True, strict=True), [""]))
    except csv.Error as error:
        raise UsageError(f"'{value[:100]}' is not a list: {error}.", hint=_EXAMPLE) from error


def _ordered_indexes(field: FieldValues, condition: Condition, operand: str) -> list[int]:
    """Return the indexes of the values in a number or date field that match the condition with this operand."""
    first, between, last = operand.partition("..")
    if between and condition.operator in (">", ">=", "<", "<="):
        raise UsageError(f"A range cannot be compared: {condition}", hint="Use = with a range, or >= with one value.")
    last = last if between else first
    start_of, _ = _equal_or_within(field, _of_type(field, condition, first))
    if field.type != "number":
        # The year 2024 starts at the same moment as the day 2024-01-01, so shorter dates are compared too.
        shorter = [first[:length] for length in (4, 7, 10) if length <= len(first)]
        alike = [date for date in shorter if first == date + "0000-01-01T00:00:00"[len(date) : len(first)]]
        start_of = min((bisect_left(field.values, date) for date in alike), default=start_of)
    end_before, end = _equal_or_within(field, _of_type(field, condition, last))
    start, stop = {
        ">": (end, len(field.values)),
        ">=": (start_of, len(field.values)),
        "<": (0, end_before),
        "<=": (0, end),
    }.get(condition.operator, (start_of, end))
    if field.type == "number" or condition.operator in (">", ">="):
        return list(range(start, stop))
    vague = _dates_possibly_later(last, before=condition.operator == "<")
    return [index for index in range(start, stop) if field.values[index] not in vague]


def _dates_possibly_later(last: str, *, before: bool) -> set[str]:
    """Return the year, month and day that contain `last` but end later: "2024-12-30" -> {"2024", "2024-12"}.

    A chunk with such a date may be later than `last`: 2024 may mean 2024-12-31. The day is returned if `last` has a
    time. With `before`, for the operator <, a period that ends together with `last` is included: "2024-12-31" gives the
    same result.
    """
    around = {last[:length] for length in (4, 7, 10) if length < len(last)}
    return {value for value in around if before or _end_of(value) > _end_of(last)}


def _end_of(date: str) -> str:
    if len(date) == 7:
        date += f"-{monthrange(int(date[:4]), int(date[5:]))[1]}"
    return date + "0000-12-31T23:59:59"[len(date) :]


def _equal_or_within(field: FieldValues, value: FieldValue) -> tuple[int, int]:
    """Return the index range of the values that equal `value` or, for dates, lie within it (2024-03-31 in 2024-03)."""
    values = field.values
    before = bisect_left(values, value)
    if isinstance(value, str):
        return before, bisect_left(values, value + "~")
    return before, bisect_right(values, value)


def _of_type(field: FieldValues, condition: Condition, operand: str) -> FieldValue:
    """Convert an operand to the field's type. Raises UsageError if this is not possible."""
    operand = operand.strip()
    if field.type == "number":
        if not _NUMBER.fullmatch(operand):
            raise UsageError(f"'{condition.field}' is a number, and '{operand}' is not: {condition}", hint=_EXAMPLE)
        return float(operand) if "." in operand else int(operand)
    try:
        datetime.fromisoformat(operand + "0001-01-01T00:00:00"[len(operand) :] if _DATE.fullmatch(operand) else "")
    except ValueError as error:
        raise UsageError(
            f"'{condition.field}' is a date, and '{operand}' is not: {condition}",
            hint="Write a year, a month, a day or a moment: 2024, 2024-03, 2024-03-31, 2024-03-31T18:00.",
        ) from error
    return operand


COLLECTION = "collection"
_OTHER_NAMES = {
    "type": "kind",
    "chunk_type": "kind",
    "topic": "topics",
    "organisation": "organisations",
    "organization": "organisations",
    "organizations": "organisations",
    "date": "dates",
    "author": "authors",
    "doc": "document",
}
_NEAREST_AMONG = 2000  # values compared to suggest a similar one; more would take too long


@dataclass
class FilteredQueryBundle(QueryBundle):
    """A question for one collection. Only chunks in `allowed` may be returned; None allows all chunks.

    `names` are names in the question with their alternatives. `limit` is the greatest number of hits, unless the
    retriever's own limit is lower. `vector` is the embedding of the question.
    """

    allowed: AllowedChunks | None = None
    names: tuple[AlternativeNames, ...] = ()
    limit: int | None = None
    vector: NDArray[np.float32] | None = None


def limited_top_k(top_k: int, question: QueryBundle) -> int:
    """Return `top_k`, or the limit of the question if that is lower."""
    limit = question.limit if isinstance(question, FilteredQueryBundle) else None
    return top_k if limit is None else min(top_k, limit)


@dataclass(frozen=True)
class FilterLimits:
    """The chunks of each collection that the filters allow, with notes.

    `of_documents` is true if every condition is about whole documents. The text around an allowed chunk is then allowed
    as well.
    """

    allowed: tuple[AllowedChunks, ...]
    notes: tuple[str, ...]
    of_documents: bool


def filter_limits(conditions: Sequence[Condition], generations: Sequence[Searchable]) -> FilterLimits:
    """Return the chunks that fulfil all conditions. Raises UsageError for unknown fields and values of a wrong type."""
    filters: list[list[ValueFilter]] = [[] for _ in generations]
    notes: list[str] = []
    of_documents = True
    for condition in conditions:
        fields = _fields_of(condition, generations)
        of_documents &= not any(field and not field.of_documents for field in fields)
        for own, field in zip(filters, fields, strict=True):
            own.append(_value_filter(condition, field))
        notes.extend(_unmatched_notes(condition, [field for field in fields if field is not None]))
    allowed = tuple(generation.allow(own) for generation, own in zip(generations, filters, strict=True))
    if conditions and not any(one.count for one in allowed):
        listed = " and ".join(str(condition) for condition in conditions)
        notes.append(f"No chunk matches the filter: {listed}.")
    return FilterLimits(allowed, tuple(notes), of_documents)


def _value_filter(condition: Condition, field: FieldValues | None) -> ValueFilter:
    """Return a filter that allows the chunks whose field fulfils the condition.

    If no value in the field matches, `=` and `in` allow no chunk, and `!=` and `not in` allow every chunk.
    """
    values = matching_values(field, condition) if field else []
    if condition.field == COLLECTION:
        return ValueFilter((), denies=bool(values) != condition.denies)
    return ValueFilter([field.codes[index] for index in values] if field else (), denies=condition.denies)


def _fields_of(condition: Condition, generations: Sequence[Searchable]) -> list[FieldValues | None]:
    if condition.field == COLLECTION:
        return [
            FieldValues(COLLECTION, "text", [one.collection] if one.size else [], (), of_documents=True)
            for one in generations
        ]
    per_generation = []
    for generation in generations:
        field = generation.field(condition.field) or generation.field(_OTHER_NAMES.get(condition.field, ""))
        if field is None and not generation.fields_complete:
            raise UsageError(
                f"Collection '{generation.collection}' was published by an earlier version:"
                f" it cannot be filtered by '{condition.field}' yet.",
                hint=f"Run: elt-llm ingest -c {generation.collection} --rebuild",
            )
        per_generation.append(field)
    if per_generation and not any(per_generation):
        known = sorted({name for generation in generations for name in generation.field_names} | {COLLECTION})
        raise UsageError(f"There is no field '{condition.field}'.", hint=nearest_names(condition.field, known))
    return per_generation


def _unmatched_notes(condition: Condition, fields: Sequence[FieldValues]) -> Iterator[str]:
    alone = [replace(condition, operands=(operand,)) for operand in condition.operands]
    without = [one for one in alone if not any(matching_values(field, one) for field in fields)]
    if not without:
        return
    values = [value for field in fields if field.type in ("text", "path") for value in field.values[:_NEAREST_AMONG]]
    for one in [replace(without[0], operands=condition.operands)] if len(without) == len(alone) else without:
        near = nearest_names(one.operands[0], [str(value) for value in values])
        yield f"No chunk has this value: {one}. {near}".rstrip()
