"""Which statements of the texts speak of which name, and how plainly."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from elt_llm_consumer.fields.statements import Statement
from elt_llm_consumer.names import Mention, Names

_RULE_OF_CAPITALS = 3
"""Names written with a capital so often within sentences of a document are meant only where they are."""
_SMALL_FOR_EACH = 2


@dataclass(frozen=True)
class About:
    """A statement that speaks of a name: where it names it, as offsets in the document, and if a heading above does.

    `surely` is False where none of the mentions is beyond doubt.
    """

    statement: Statement
    mentions: tuple[tuple[int, int], ...] = ()
    under_heading: bool = False
    surely: bool = True


class Subjects:
    """Knows for each name the statements that speak of it; made once for all names, in one pass over the texts."""

    def __init__(self, statements: Sequence[Statement], names: Names) -> None:
        self.statements = statements
        self.names = names
        self._met = _Meetings(statements, names)
        self._by_place: dict[tuple[str, str], list[Statement]] = defaultdict(list)
        for statement in statements:
            self._by_place[statement.document.collection, statement.document.document_id].append(statement)
        self._titled = self._under_titles()

    def of(self, name: str) -> list[About]:
        """The statements that name it, or stand under a heading that is its name, in order."""
        named = self._met.counted(name)
        titled = self._titled.get(name, set())
        return [
            About(
                self.statements[number],
                tuple((mention.start, mention.end) for mention in named.get(number, ())),
                number in titled,
                any(mention.certain for mention in named.get(number, ())) or number in titled,
            )
            for number in sorted(named.keys() | titled)
        ]

    def names_in(self, statement: Statement) -> list[str]:
        """The names that a statement speaks of, each once, in order."""
        return list(dict.fromkeys(mention.name for mention in self._met.in_statement(statement.number)))

    def within(self, collection: str, document_id: str, span: tuple[int, int]) -> list[Statement]:
        """The statements of a document that lie within a span."""
        known = self._by_place.get((collection, document_id), ())
        return [one for one in known if span[0] <= one.start and one.end <= span[1]]

    def _under_titles(self) -> Mapping[str, set[int]]:
        by_key = {"".join(self.names.key(form)): name for name in self.names.names for form in self.names.forms(name)}
        by_key |= {"".join(self.names.key(name)): name for name in self.names.names}
        found: dict[str, set[int]] = defaultdict(set)
        for statement in self.statements:
            if statement.headings and not statement.cells:
                name = by_key.get("".join(self.names.key(statement.headings[-1])))
                if name is not None:
                    found[name].add(statement.number)
        return found


@dataclass
class _Document:
    """How one document writes a name within its sentences."""

    capital: int = 0
    small: int = 0

    @property
    def insists(self) -> bool:
        """Whether it means the name only where it has a capital."""
        return self.capital >= _RULE_OF_CAPITALS and self.capital * _SMALL_FOR_EACH >= self.small


@dataclass
class _Found:
    at: dict[int, list[Mention]] = field(default_factory=lambda: defaultdict(list))
    written: dict[str, _Document] = field(default_factory=lambda: defaultdict(_Document))


class _Meetings:
    """Every mention in every statement, and which of them count."""

    def __init__(self, statements: Sequence[Statement], names: Names) -> None:
        self._statements = statements
        self._by_name: dict[str, _Found] = defaultdict(_Found)
        self._by_statement: dict[int, list[Mention]] = defaultdict(list)
        for statement in statements:
            for mention in names.mentions(statement.text):
                self._keep(statement, mention)

    def counted(self, name: str) -> Mapping[int, list[Mention]]:
        """By the number of the statement the mentions that count, with offsets in the document."""
        if name not in self._by_name:
            return {}
        found = self._by_name[name]
        by_number = {number: self._that_count(number, found) for number in found.at}
        return {number: mentions for number, mentions in by_number.items() if mentions}

    def in_statement(self, number: int) -> Iterable[Mention]:
        """Those of one statement that count, in order."""
        mentions = self._by_statement.get(number, ())
        return [one for one in mentions if one in self._that_count(number, self._by_name[one.name])]

    def _that_count(self, number: int, found: _Found) -> list[Mention]:
        insists = found.written[self._statements[number].document.document_id].insists
        refused: Collection[str] = {"longer name", "small letters"} if insists else {"longer name"}
        return [mention for mention in found.at[number] if mention.doubt not in refused]

    def _keep(self, statement: Statement, mention: Mention) -> None:
        start, end = mention.start + statement.start, mention.end + statement.start
        placed = Mention(start, end, mention.name, mention.written, mention.form, mention.doubt)
        found = self._by_name[mention.name]
        found.at[statement.number].append(placed)
        self._by_statement[statement.number].append(placed)
        if not statement.cells and " " not in mention.written:
            written = found.written[statement.document.document_id]
            written.capital += mention.doubt in {"", "kind of it"}
            written.small += mention.doubt == "small letters"


def most_common_headings(abouts: Iterable[About]) -> list[str]:
    """The outermost headings over statements, that of most statements first, then in alphabetical order."""
    counted = Counter(about.statement.headings[0] for about in abouts if about.statement.headings)
    return [title for title, _ in sorted(counted.items(), key=lambda it: (-it[1], it[0]))]
