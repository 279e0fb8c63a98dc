"""Which statements of the texts speak of which name, and how plainly."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from elt_llm_consumer.fields.meetings import Meetings, taken_up_again, taken_up_by_pronoun
from elt_llm_consumer.fields.statements import Statement
from elt_llm_consumer.names import Mention, Names


@dataclass(frozen=True)
class About:
    """A statement that speaks of a name: where it names it, as offsets in the document, and if a heading above does.

    `surely` is False where none of the mentions is beyond doubt.
    """

    statement: Statement
    mentions: tuple[tuple[int, int], ...] = ()
    under_heading: bool = False
    surely: bool = True
    in_chapter: bool = False
    """Whether any heading above is the name, not only the nearest."""


class Subjects:
    """Knows for each name the statements that speak of it; made once for all names, in one pass over the texts."""

    def __init__(self, statements: Sequence[Statement], names: Names) -> None:
        self.statements = statements
        self.names = names
        self._called: dict[tuple[str, ...], str] = {}
        for name in names.names:
            self._called.setdefault(names.key(name), name)
        self._met = Meetings(statements, names)
        self._abouts: dict[str, Sequence[About]] = {}
        self._by_place: dict[tuple[str, str], list[Statement]] = defaultdict(list)
        for statement in statements:
            self._by_place[statement.document.collection, statement.document.document_id].append(statement)
        self._titled, self._in_chapters = self._under_titles()

    def of(self, name: str) -> Sequence[About]:
        """The statements that name it, or stand under a heading that is its name, in order."""
        name = self._called.get(self.names.key(name), name)  # of names that are the same the first is met
        if name not in self._abouts:
            self._abouts[name] = self._speaking_of(name)
        return self._abouts[name]

    def _speaking_of(self, name: str) -> Sequence[About]:
        named = self._met.counted(name)
        titled = self._titled.get(name, set())
        taken_up = {
            number + 1: span
            for number in named
            if number + 1 < len(self.statements) and number + 1 not in named
            for span in [self._taken_up(name, number + 1, named[number])]
            if span is not None
        }
        return [
            About(
                self.statements[number],
                tuple((it.start, it.end) for it in named.get(number, ()))
                or tuple(filter(None, [taken_up.get(number)])),
                number in titled,
                any(it.certain for it in named.get(number, ())) or number in titled or number in taken_up,
                number in self._in_chapters.get(name, ()),
            )
            for number in sorted(named.keys() | titled | taken_up.keys())
        ]

    def _taken_up(self, name: str, number: int, before: Sequence[Mention]) -> tuple[int, int] | None:
        statement = self.statements[number]
        again = taken_up_again(statement, self.names.key(name), self.names)
        return again or taken_up_by_pronoun(statement, self.statements[number - 1], before)

    def names_in(self, statement: Statement) -> list[str]:
        """The names that a statement speaks of, each once, in order."""
        return list(dict.fromkeys(mention.name for mention in self._met.in_statement(statement.number)))

    def within(self, collection: str, document_id: str, span: tuple[int, int]) -> list[Statement]:
        """The statements of a document that lie within a span."""
        known = self._by_place.get((collection, document_id), [])
        first, last = (bisect_left(known, place, key=lambda one: one.start) for place in span)
        return [one for one in known[first:last] if one.end <= span[1]]

    def at(self, collection: str, document_id: str, span: tuple[int, int]) -> list[Statement]:
        """The statements of a document that a span touches."""
        known = self._by_place.get((collection, document_id), [])
        first = bisect_left(known, span[0] + 1, key=lambda one: one.end)
        return known[first : bisect_left(known, span[1], key=lambda one: one.start)]

    def _under_titles(self) -> tuple[Mapping[str, set[int]], Mapping[str, set[int]]]:
        """By name the statements right under a heading that is the name, and those anywhere below one."""
        by_key = {"".join(self.names.key(form)): name for name in self.names.names for form in self.names.forms(name)}
        by_key |= {"".join(self.names.key(name)): name for name in self.names.names}
        right: dict[str, set[int]] = defaultdict(set)
        below: dict[str, set[int]] = defaultdict(set)
        called = cache(lambda heading: by_key.get("".join(self.names.key(heading))))
        for statement in self.statements:
            if statement.cells:
                continue
            found = [called(heading) for heading in statement.headings]
            for name in filter(None, found):
                below[self._called[self.names.key(name)]].add(statement.number)
            if found and found[-1] is not None:
                right[self._called[self.names.key(found[-1])]].add(statement.number)
        return right, below


def most_common_heading(abouts: Iterable[About]) -> tuple[str, list[About]]:
    """The outermost heading over most statements, the first in the alphabet of several, and those under it."""
    under: dict[str, list[About]] = defaultdict(list)
    for about in abouts:
        if about.statement.headings:
            under[about.statement.headings[0]].append(about)
    return min(under.items(), key=lambda it: (-len(it[1]), it[0])) if under else ("", [])
