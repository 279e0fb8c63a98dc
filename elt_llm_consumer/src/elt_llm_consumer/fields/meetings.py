"""Every mention of a name in the statements of the texts, and which of them count."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from elt_llm_consumer.fields.statements import Statement
from elt_llm_consumer.names import Mention, Names

_RULE_OF_CAPITALS = 3
"""Names written with a capital so often within sentences of a document are meant only where they are."""
_SMALL_FOR_EACH = 2
# "may appeal", "it concerns": after these one word in small letters is what is done, not a thing.
_IS_VERB = re.compile(
    r"(?<!\w)(?:may|must|shall|should|can|cannot|could|will|would|to|it|he|she|they|we|you|who|which|not|never)\s{1,3}$",
    re.IGNORECASE,
)
_LOOK_BACK = 12
_TAKES_UP = re.compile(
    r"(?:the|a|an|this|that|such a|each|every|any|no|der|die|das|dieser|diese|dieses|jeder|jede|jedes) (\w{2,40})",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"(It|They|Es|Sie) \w")
_TAKEN_ARTICLE = re.compile(
    r"(?:(?:the|a|an|each|every|any|no|der|die|das|ein|eine|jeder|jede|jedes) )?$", re.IGNORECASE
)


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


class Meetings:
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
        if is_done(statement.text, mention):
            return
        start, end = mention.start + statement.start, mention.end + statement.start
        placed = Mention(start, end, mention.name, mention.written, mention.form, mention.doubt)
        found = self._by_name[mention.name]
        found.at[statement.number].append(placed)
        self._by_statement[statement.number].append(placed)
        if not statement.cells and " " not in mention.written:
            written = found.written[statement.document.document_id]
            written.capital += mention.doubt in {"", "kind of it"}
            written.small += mention.doubt == "small letters"


def taken_up_by_pronoun(statement: Statement, before: Statement, mentions: Iterable[Mention]) -> tuple[int, int] | None:
    """Where a statement says "It ..." of what the one before it began with, in the same paragraph."""
    met = _PRONOUN.match(statement.text[statement.begins - statement.start :])
    if met is None or not statement.follows or before.cells:
        return None
    begun = (before.text[before.begins - before.start : one.start - before.start] for one in mentions if one.certain)
    if not any(_TAKEN_ARTICLE.match(words) for words in begun):
        return None
    return statement.begins + met.start(1), statement.begins + met.end(1)


def is_done(text: str, mention: Mention) -> bool:
    """Whether a word is what somebody does, and no thing: after "may", "it" and their like, in small letters."""
    before = text[max(0, mention.start - _LOOK_BACK) : mention.start]
    return mention.doubt == "small letters" and bool(_IS_VERB.search(before))


def begins_with(text: str, mentions: Iterable[Mention]) -> bool:
    """Whether a sentence begins with one of its mentions, an article before it or none."""
    return any(_TAKEN_ARTICLE.match(text[: one.start]) for one in mentions)


def taken_up_again(statement: Statement, key: Sequence[str], names: Names) -> tuple[int, int] | None:
    """Where a statement takes up a name of several words by its last: after "a Case File is opened", "The file ...".

    Only at its head and in the same paragraph.
    """
    if len(key) < 2 or not statement.follows:
        return None
    met = _TAKES_UP.match(statement.text[statement.begins - statement.start :])
    if met is None or names.key(met[1]) != tuple(key[-1:]):
        return None
    return statement.begins + met.start(1), statement.begins + met.end(1)
