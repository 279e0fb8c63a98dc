"""Conditions that a question suggests: its years, dates and names that are values of the collections' fields."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from threading import Lock

from elt_llm_core.index.fields import Field
from elt_llm_core.text.normalise import words

from elt_llm_query.retrieve.searchable import Searchable
from elt_llm_query.understanding.dates import dates_of, years_of

_NAMED_BY = ("organisations", "topics", "title", "section")
"""Text fields whose values people call by name."""
_MOST_VALUES = 20_000  # of a field that is looked through
_LONGEST_NAME = 8  # words
_LONGEST_VALUE = 500  # characters
_SHORTEST_NAME = 4  # letters of a value that is one word; shorter ones stand in too many questions
_MOST = 5  # conditions that are suggested


class Suggestions:
    """Reads the names in the fields of some generations when a question is first asked, and keeps them.

    Safe to share between threads.
    """

    def __init__(self, generations: Sequence[Searchable]) -> None:
        self._generations = tuple(generations)
        self._lock = Lock()

    def of(self, question: str, taken: frozenset[str] = frozenset()) -> tuple[str, ...]:
        """Conditions as `--where` takes them, at most five; none on a field in `taken`."""
        found = dict.fromkeys((*self._of_time(question), *self._of_names(question)))
        fields = [(text, text.partition("=")[0]) for text in found]
        return tuple(text for text, field in fields if field not in taken)[:_MOST]

    def _of_time(self, question: str) -> Iterator[str]:
        """Years and dates; a year that documents are of, rather than one that passages mention."""
        for year in years_of(question):
            if any(int(year) in field.values for field in self._fields("year")):
                yield f"year={year}"
            elif self._mentioned(year):
                yield f"dates={year}"
        yield from (f"dates={date}" for date in dates_of(question) if self._mentioned(date))

    def _mentioned(self, date: str) -> bool:
        for field in self._fields("dates"):
            place = bisect_left(field.values, date)
            if place < len(field.values) and str(field.values[place]).startswith(date):
                return True
        return False

    def _of_names(self, question: str) -> Iterator[str]:
        with self._lock:
            names = self._names
        asked = words(question)
        longest_first = (
            tuple(asked[start : start + length])
            for length in range(min(_LONGEST_NAME, len(asked)), 0, -1)
            for start in range(len(asked) - length + 1)
        )
        taken: set[str] = set()
        for run in longest_first:
            found = names.get(run)
            if found is not None and taken.isdisjoint(run):
                taken.update(run)
                yield found

    @cached_property
    def _names(self) -> Mapping[tuple[str, ...], str]:
        """The condition by the folded words of each value; of equal names, that of the field listed first."""
        names: dict[tuple[str, ...], str] = {}
        for name in _NAMED_BY:
            for field in self._fields(name):
                for value in field.values if len(field.values) <= _MOST_VALUES else ():
                    # A section is called by its last heading, whatever it stands under.
                    called = tuple(words(str(value).rpartition(" > ")[2]))
                    if _is_name(called) and len(str(value)) <= _LONGEST_VALUE and '"' not in str(value):
                        names.setdefault(called, f"{name}={value}")
        return names

    def _fields(self, name: str) -> Iterator[Field]:
        for generation in self._generations:
            field = generation.filter_fields.get(name)
            if field is not None:
                yield field


def _is_name(called: Sequence[str]) -> bool:
    return 0 < len(called) <= _LONGEST_NAME and (len(called) > 1 or len(called[0]) >= _SHORTEST_NAME)
