"""Find the statements about each name: by mentions of the name, by pronouns, and by headings.

Grounding checks whether chunks support a sentence that a language model wrote, but not whether both are about the same
entity: a handbook about another register can support "We hold grades". `FieldSubject` checks what the quotes are about.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from elt_llm_core.text.languages import word_pattern
from elt_llm_query.grounding.citations import Quote
from elt_llm_query.grounding.grounding import GroundedSentence

from elt_llm_consumer.names.names import Mention, Names
from elt_llm_consumer.sentences.statements import TextStatement

_MIN_CAPITALS, _SMALL_FOR_EACH = 3, 2
# A lower-case word after one of these words is a verb: "may appeal", "it concerns".
_BEFORE_VERB = word_pattern(r"(?<!\w)@before_verb@\s{1,3}$", re.IGNORECASE)
_LOOK_BACK = 12
_SHORT_NAME = word_pattern(r"@before_short_name@ (\w{2,40})", re.IGNORECASE)
_PRONOUN = word_pattern(r"(@first_pronouns@) \w")
_LEADING_PRONOUN = word_pattern(r"\W{0,6}@leading_pronouns@ \w")
_ARTICLE_OR_NOTHING = word_pattern(r"(?:@before_subject@ )?$", re.IGNORECASE)


@dataclass
class _NameMentions:
    by_statement: dict[int, list[Mention]] = field(default_factory=lambda: defaultdict(list))
    usage: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """For each document, how often the name is written with a capital ("capital") and without one ("small")."""


class MentionFilter:
    """Finds every mention of a name in every statement, and decides which mentions really mean the name."""

    def __init__(self, statements: Sequence[TextStatement], names: Names) -> None:
        self._statements = statements
        self._by_name: dict[str, _NameMentions] = defaultdict(_NameMentions)
        self._by_statement: dict[int, list[Mention]] = defaultdict(list)
        for statement in statements:
            for mention in names.mentions(statement.text):
                if _is_verb_use(statement.text, mention):
                    continue
                placed = replace(mention, start=mention.start + statement.start, end=mention.end + statement.start)
                found = self._by_name[mention.name]
                found.by_statement[statement.number].append(placed)
                self._by_statement[statement.number].append(placed)
                if not statement.cells and " " not in mention.written:
                    usage = found.usage[statement.document.document_id]
                    usage["capital"] += mention.doubt in {"", "kind of it"}
                    usage["small"] += mention.doubt == "small letters"

    def counted(self, name: str) -> Mapping[int, list[Mention]]:
        """Return, by statement number, the mentions that really mean a name, with their offsets in the document."""
        if name not in self._by_name:
            return {}
        found = self._by_name[name]
        by_number = {number: self._that_count(number, found) for number in found.by_statement}
        return {number: mentions for number, mentions in by_number.items() if mentions}

    def names_in(self, number: int) -> list[str]:
        """Return the names that the statement with this number mentions, each once, in order."""
        mentions = self._by_statement.get(number, ())
        counted = (one.name for one in mentions if one in self._that_count(number, self._by_name[one.name]))
        return list(dict.fromkeys(counted))

    def first_name(self, number: int) -> str:
        """Return the name with which a statement starts, as in "The Case File is ..."; "" if it starts with none."""
        statement = self._statements[number]
        starts = {
            one.name
            for one in self._by_statement.get(number, ())
            if _ARTICLE_OR_NOTHING.match(statement.text[statement.offset : max(0, one.start - statement.start)])
            and one in self._that_count(number, self._by_name[one.name])
        }
        return min(starts, default="")

    def _that_count(self, number: int, found: _NameMentions) -> list[Mention]:
        usage = found.usage[self._statements[number].document.document_id]
        # A name that is often capitalised in this document counts only where it is capitalised.
        needs_capital = usage["capital"] >= max(_MIN_CAPITALS, usage["small"] / _SMALL_FOR_EACH)
        refused: Collection[str] = {"longer name", "small letters"} if needs_capital else {"longer name"}
        return [mention for mention in found.by_statement[number] if mention.doubt not in refused]


def _is_verb_use(text: str, mention: Mention) -> bool:
    """Return whether a mention is a verb instead of a name, such as "appeal" in "they may appeal"."""
    before = text[max(0, mention.start - _LOOK_BACK) : mention.start]
    return mention.doubt == "small letters" and bool(_BEFORE_VERB.search(before))


def _reference(
    statement: TextStatement, before: TextStatement, mentions: Iterable[Mention], key: Sequence[str], names: Names
) -> tuple[int, int] | None:
    """Return the span of the words at the start of a statement that refer back to a name, or None if none do.

    `before`, the previous statement of the paragraph, mentions the name. These words are a short form, as in "The
    file ..." after "a Case File is opened", or a pronoun such as "It" if `before` starts with the name.
    """
    content = statement.text[statement.offset :]
    match = _SHORT_NAME.match(content)
    if len(key) < 2 or match is None or names.key(match[1]) != tuple(key[-1:]):
        leads = (before.text[before.offset : one.start - before.start] for one in mentions if one.certain)
        starts = not before.cells and any(_ARTICLE_OR_NOTHING.match(words) for words in leads)
        match = _PRONOUN.match(content) if starts else None
    if match is None or not statement.same_paragraph:
        return None
    return statement.content_start + match.start(1), statement.content_start + match.end(1)


@dataclass(frozen=True)
class NamedStatement:
    """A statement about a name. `mentions` are the spans in the document where the statement mentions the name.

    `under_heading` is True if the nearest heading above the statement is the name.
    """

    statement: TextStatement
    mentions: tuple[tuple[int, int], ...] = ()
    under_heading: bool = False
    certain: bool = True
    """Whether a clear mention, the heading, or a word such as "It" shows that the statement is about the name."""
    in_chapter: bool = False
    """Whether any of the headings above the statement is the name."""
    subject_is_other: bool = False
    """Whether the statement starts with another name, or with a pronoun for one."""

    @property
    def local_mentions(self) -> list[tuple[int, int]]:
        """The spans at which the statement mentions the name, as offsets from the start of the statement."""
        return [(start - self.statement.start, end - self.statement.start) for start, end in self.mentions]


class StatementIndex:
    """An index of the statements about each name, computed for all names in one pass over the texts."""

    def __init__(self, statements: Sequence[TextStatement], names: Names) -> None:
        self.statements = statements
        self.names = names
        self._canonical: dict[tuple[str, ...], str] = {}
        for name in names.names:
            self._canonical.setdefault(names.key(name), name)
        self._mentions = MentionFilter(statements, names)
        self._by_name: dict[str, Sequence[NamedStatement]] = {}
        self._by_document: dict[tuple[str, str], list[TextStatement]] = defaultdict(list)
        for statement in statements:
            self._by_document[statement.document.collection, statement.document.document_id].append(statement)
        self._under_heading, self._in_chapter = self._by_headings()

    def of(self, name: str) -> Sequence[NamedStatement]:
        """Return, in order, the statements that mention the name, refer back to it, or have it as their heading."""
        name = self._canonical.get(self.names.key(name), name)  # mentions are stored under the first name with this key
        if name not in self._by_name:
            self._by_name[name] = self._find(name)
        return self._by_name[name]

    def _find(self, name: str) -> Sequence[NamedStatement]:
        named, headed = self._mentions.counted(name), self._under_heading.get(name, set())
        references: dict[int, tuple[int, int]] = {}
        for number, mentions in named.items():
            if number + 1 < len(self.statements) and number + 1 not in named:
                before, statement = self.statements[number : number + 2]
                span = _reference(statement, before, mentions, self.names.key(name), self.names)
                references |= {number + 1: span} if span else {}
        return [
            NamedStatement(
                self.statements[number],
                tuple((it.start, it.end) for it in named.get(number, ()))
                or tuple(filter(None, [references.get(number)])),
                number in headed,
                any(it.certain for it in named.get(number, ())) or number in headed or number in references,
                number in self._in_chapter.get(name, ()),
                self._subject(number, named) not in {"", name},
            )
            for number in sorted(named.keys() | headed | references.keys())
        ]

    def _subject(self, number: int, named: Collection[int]) -> str:
        """Return the name with which a statement starts; "" if none. `named` are the statements with the wanted name.

        "It" means the name that starts the sentence before, unless that sentence is one of these.
        """
        statement = self.statements[number]
        refers_back = statement.same_paragraph and _PRONOUN.match(statement.text[statement.offset :])
        return self._mentions.first_name(number - 1 if refers_back and number - 1 not in named else number)

    def names_in(self, statement: TextStatement) -> list[str]:
        """Return the names that a statement mentions, each once, in order."""
        return self._mentions.names_in(statement.number)

    def within(self, collection: str, document_id: str, span: tuple[int, int]) -> list[TextStatement]:
        """Return the statements of a document that lie within a span."""
        known = self._by_document.get((collection, document_id), [])
        first, last = (bisect_left(known, offset, key=lambda one: one.start) for offset in span)
        return [one for one in known[first:last] if one.end <= span[1]]

    def at(self, collection: str, document_id: str, span: tuple[int, int]) -> list[TextStatement]:
        """Return the statements of a document that overlap a span."""
        known = self._by_document.get((collection, document_id), [])
        first = bisect_left(known, span[0] + 1, key=lambda one: one.end)
        return known[first : bisect_left(known, span[1], key=lambda one: one.start)]

    def _by_headings(self) -> tuple[Mapping[str, set[int]], Mapping[str, set[int]]]:
        """Return two mappings from a name to the numbers of the statements below a heading that is the name.

        The first contains only statements whose nearest heading is the name; the second also those below subheadings.
        """
        by_key = {"".join(self.names.key(form)): name for name in self.names.names for form in self.names.forms(name)}
        by_key |= {"".join(self.names.key(name)): name for name in self.names.names}
        under: dict[str, set[int]] = defaultdict(set)
        below: dict[str, set[int]] = defaultdict(set)
        name_of = cache(lambda heading: by_key.get("".join(self.names.key(heading))))
        for statement in self.statements:
            if statement.cells:
                continue
            headed_by = [name_of(heading) for heading in statement.headings]
            for name in filter(None, headed_by):
                below[self._canonical[self.names.key(name)]].add(statement.number)
            if headed_by and headed_by[-1] is not None:
                under[self._canonical[self.names.key(headed_by[-1])]].add(statement.number)
        return under, below


def most_common_heading(statements: Iterable[NamedStatement]) -> tuple[str, list[NamedStatement]]:
    """Return the top-level heading with the most statements, and these statements; ("", []) without any heading.

    If several headings have equally many statements, the first in alphabetical order is chosen.
    """
    under: dict[str, list[NamedStatement]] = defaultdict(list)
    for one in statements:
        if one.statement.headings:
            under[one.statement.headings[0]].append(one)
    return min(under.items(), key=lambda it: (-len(it[1]), it[0])) if under else ("", [])


@dataclass(frozen=True)
class FieldSubject:
    """Checks whether sentences are about `name`, the entity or term that a field describes.

    `names` contains all names, so that a longer name is not mistaken for a shorter name inside it. `statements`
    finds sentences by entity. If it is None, the name is searched for in a quote, its chunk and its headings only.
    """

    name: str
    names: Names = field(repr=False)
    statements: StatementIndex | None = field(default=None, repr=False)

    def are_about(self, sentences: Sequence[GroundedSentence], kept: Sequence[bool]) -> list[bool]:
        """Return, for each sentence of a reply, whether its quotes are about the name.

        A quote is about the name if it mentions the name, or is under a heading that is the name. If the sentence
        itself mentions the name, any mention in the section of the quote is enough, because a model often adds a name
        to facts about other entities. A pronoun at the start of a sentence counts as the name if the previous sentence
        starts with the name and becomes part of the field's value (`kept`).
        """
        about, subject = [], False
        for sentence, stays in zip(sentences, kept, strict=True):
            mentions = self._mentions(sentence.text)
            refers_back = subject and bool(_LEADING_PRONOUN.match(sentence.text))
            at_start = any(_ARTICLE_OR_NOTHING.match(sentence.text[: one.start]) for one in mentions)
            subject = stays and (refers_back or at_start)
            named = bool(mentions) or refers_back
            about.append(
                any(self._is_about(quote) for quote in sentence.quotes)
                or (named and any(self._has_name_in_section(quote) for quote in sentence.quotes))
            )
        return about

    def _is_about(self, quote: Quote) -> bool:
        chunk = quote.chunk
        if self.statements is None:
            heading = (chunk.section or "").rpartition(" > ")[2]
            return bool(self._mentions(quote.words) or self._mentions(heading))
        quoted = self.statements.at(chunk.collection, chunk.source_id, quote.span)
        return any(one.number in self._numbers or (one.headings and self._mentions(one.headings[-1])) for one in quoted)

    def _has_name_in_section(self, quote: Quote) -> bool:
        """Return whether the name is in a heading above the quote, or in the quoted chunk's text in that section."""
        chunk = quote.chunk
        if self.statements is None:
            return bool(self._mentions(f"{chunk.section or ''}\n{chunk.text}"))
        paths = {one.headings for one in self.statements.at(chunk.collection, chunk.source_id, quote.span)}
        beside = self.statements.at(chunk.collection, chunk.source_id, chunk.span)
        return any(self._mentions(heading) for path in paths for heading in path) or any(
            one.number in self._numbers and one.headings in paths for one in beside
        )

    def _mentions(self, text: str) -> list[Mention]:
        key = self.names.key(self.name)
        return [
            one
            for one in self.names.mentions(text)
            if self.names.key(one.name) == key and one.doubt != "longer name" and not _is_verb_use(text, one)
        ]

    @cached_property
    def _numbers(self) -> frozenset[int]:
        index = self.statements
        return frozenset(one.statement.number for one in index.of(self.name)) if index else frozenset()
