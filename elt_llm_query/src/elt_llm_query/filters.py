"""Filters: what `--where` says, read into conditions, and the values of a field that fulfil one.

A condition is `field=value`, with `!=`, `>`, `>=`, `<`, `<=`, `in` or `not in` for `=`; all conditions must hold.

- text equals, letter by letter; `in a,b,c` is any of them, a value with a comma standing in double quotes.
- `section=A > B` is that section and those below it.
- numbers and dates compare, and `=` takes a range too: `year=2019..2021`, `modified_at=2024-01-01..2024-03-31`.
- a date may be a year, a month, a day or a moment (UTC): `dates=2024-03` is all of March, `dates<=2024-03` all until
  its end. A passage that names a month only is not before or after a day within it.
- of a field with several values, such as topics, one has to fulfil the condition; `!=` and `not in` leave out every
  passage that the opposite finds, and so keep those without a value.
"""

import csv
import re
from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np
from elt_llm_core.errors import UsageError
from elt_llm_core.index.fields import Field, Value
from numpy.typing import NDArray

Operator = Literal["=", "!=", ">", ">=", "<", "<=", "in", "not in"]
MOST_CONDITIONS = 50
MOST_CHARACTERS = 2000
_OPERATOR = re.compile(r"!=|>=|<=|==|=|>|<|\s(?:not\s)?in\s", re.IGNORECASE)
_KNOWN: dict[str, Operator] = {
    "=": "=",
    "==": "=",
    "!=": "!=",
    ">": ">",
    ">=": ">=",
    "<": "<",
    "<=": "<=",
    "in": "in",
    "not in": "not in",
}
_NUMBER = re.compile(r"[+-]?\d{1,18}(?:\.\d{0,18})?")
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d(?:T\d\d(?::\d\d(?::\d\d)?)?)?)?)?")
_EARLIEST = "0001-01-01T00:00:00"
_EXAMPLE = "Write field=value, such as --where year>=2020 or --where 'kind in table,prose'."


@dataclass(frozen=True)
class Condition:
    """One condition: the field as it was called, and the operands, one unless the operator is in or not in."""

    field: str
    operator: Operator
    operands: tuple[str, ...]

    @property
    def denies(self) -> bool:
        """Whether what its values are found in is left out."""
        return self.operator in ("!=", "not in")

    def __str__(self) -> str:
        listed = ",".join(self.operands)
        return f"{self.field} {self.operator} {listed}"


def parse_conditions(where: Sequence[str]) -> tuple[Condition, ...]:
    """The conditions that these texts state. Raises UsageError if one is not understood, or there are too many."""
    if len(where) > MOST_CONDITIONS:
        raise UsageError(f"{len(where)} filters were given; {MOST_CONDITIONS} is the most that can be.")
    return tuple(_parsed(text) for text in where)


def chosen_values(field: Field, condition: Condition) -> NDArray[np.bool_]:
    """Which values of the field the condition names, before it is denied; shape (len(field.values),).

    Raises UsageError if the field's type has no such operator, or an operand is not of that type.
    """
    chosen = np.zeros(len(field.values), dtype=bool)
    if field.type in ("text", "path"):
        if condition.operator in (">", ">=", "<", "<="):
            raise UsageError(
                f"'{condition.field}' is text, which does not compare: {condition}", hint="Use =, !=, in or not in."
            )
        for operand in condition.operands:
            for start, stop in _text_spans(field, operand):
                chosen[start:stop] = True
        return chosen
    for operand in condition.operands:
        chosen[_ordered_places(field, condition, operand)] = True
    return chosen


def _parsed(text: str) -> Condition:
    found = _OPERATOR.search(text[:MOST_CHARACTERS])
    name, value = (text[: found.start()].strip(), text[found.end() :].strip()) if found else ("", "")
    if not found or not name or not value or len(text) > MOST_CHARACTERS:
        raise UsageError(f"'{text[:100]}' is not a filter.", hint=_EXAMPLE)
    operator = _KNOWN[" ".join(found.group().lower().split())]
    operands = _listed(value) if operator in ("in", "not in") else (_unquoted(value),)
    if not all(operands):
        raise UsageError(f"'{text[:100]}' has an empty value.", hint=_EXAMPLE)
    return Condition(name, operator, operands)


def _listed(value: str) -> tuple[str, ...]:
    bare = value[1:-1] if value.startswith("(") and value.endswith(")") else value
    try:
        return tuple(one.strip() for one in next(csv.reader([bare], skipinitialspace=True, strict=True), [""]))
    except csv.Error as error:
        raise UsageError(f"'{value[:100]}' is not a list: {error}.", hint=_EXAMPLE) from error


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value.startswith('"') and value.endswith('"')
    return value[1:-1] if quoted else value


def _text_spans(field: Field, operand: str) -> list[tuple[int, int]]:
    """Where the values stand that equal a text or, of a path, lie below it."""
    values = field.values
    spans = [(bisect_left(values, operand), bisect_right(values, operand))]
    if field.type == "path":
        below = f"{operand} > "
        spans.append((bisect_left(values, below), bisect_left(values, below + "\U0010ffff")))
    return spans


def _ordered_places(field: Field, condition: Condition, operand: str) -> list[int]:
    """Places of the values of a number or date field that one operand names."""
    first, between, last = operand.partition("..")
    if between and condition.operator in (">", ">=", "<", "<="):
        raise UsageError(f"A range does not compare: {condition}", hint="Use = with a range, or >= with one value.")
    last = last if between else first
    begin, _ = _around(field, _of_type(field, condition, first))
    if field.type != "number":
        begin = min((bisect_left(field.values, first[:length]) for length in _beginning_with(first)), default=begin)
    end_before, end = _around(field, _of_type(field, condition, last))
    start, stop = {
        ">": (end, len(field.values)),
        ">=": (begin, len(field.values)),
        "<": (0, end_before),
        "<=": (0, end),
    }.get(condition.operator, (begin, end))
    if field.type == "number" or condition.operator in (">", ">="):
        return list(range(start, stop))
    vague = _not_surely_until(last, before=condition.operator == "<")
    return [place for place in range(start, stop) if field.values[place] not in vague]


def _beginning_with(first: str) -> list[int]:
    """Lengths of the year, month and day that begin when `first` does, itself included: they stand right before it."""
    lengths = [length for length in (4, 7, 10) if length <= len(first)]
    return [length for length in lengths if first == first[:length] + "0000-01-01T00:00:00"[length : len(first)]]


def _not_surely_until(last: str, *, before: bool) -> set[str]:
    """The year, month or day that `last` lies in, if such a value may be later than it, or `before` not before it."""
    around = {last[:length] for length in (4, 7, 10) if length < len(last)}
    return {value for value in around if before or _end_of(value) > _end_of(last)}


def _end_of(date: str) -> str:
    """The last second of a year, month, day, hour or minute."""
    if len(date) == 7:
        date += f"-{monthrange(int(date[:4]), int(date[5:]))[1]}"
    return date + "0000-12-31T23:59:59"[len(date) :]


def _around(field: Field, value: Value) -> tuple[int, int]:
    """Where the values stand that are this one or, of dates, lie within it."""
    values = field.values
    before = bisect_left(values, value)
    if isinstance(value, str):
        return before, bisect_left(values, value + "~")
    return before, bisect_right(values, value)


def _of_type(field: Field, condition: Condition, operand: str) -> Value:
    """An operand as a value of the field. Raises UsageError if it cannot be one."""
    operand = operand.strip()
    if field.type == "number":
        if not _NUMBER.fullmatch(operand):
            raise UsageError(f"'{condition.field}' is a number, and '{operand}' is none: {condition}", hint=_EXAMPLE)
        return float(operand) if "." in operand else int(operand)
    if not _DATE.fullmatch(operand) or not _is_moment(operand + _EARLIEST[len(operand) :]):
        raise UsageError(
            f"'{condition.field}' is a date, and '{operand}' is none: {condition}",
            hint="Write a year, a month, a day or a moment: 2024, 2024-03, 2024-03-31, 2024-03-31T18:00.",
        )
    return operand


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
