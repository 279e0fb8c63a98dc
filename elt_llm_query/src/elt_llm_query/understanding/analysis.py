"""Analyse a question against the collections: corrected text, intent, aliases and suggested filters."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from threading import Lock

from elt_llm_core.index.searchable import FieldValues, Searchable
from elt_llm_core.settings.tree import QuerySettings
from elt_llm_core.text.languages import month_numbers
from elt_llm_core.text.normalise import fold, words

from elt_llm_query.retrieve.filters import Condition, FilterLimits, filter_limits, parse_conditions
from elt_llm_query.retrieve.query_variant import AlternativeNames, QueryVariant
from elt_llm_query.retrieve.trace import UnderstandDetails
from elt_llm_query.understanding.aliases import NO_ALIASES, Aliases
from elt_llm_query.understanding.question import (
    asked_language,
    intent_of,
    keyword_likeness,
    parse_question,
    shown_language,
)
from elt_llm_query.understanding.spelling import AllowedFinder, SpellingCorrector, apply_corrections


@dataclass(frozen=True)
class _Name:
    """A name with aliases. `forms` are its words folded to plain lower case, and its stems in each language."""

    written: str
    group: int
    forms: tuple[tuple[str, ...], ...]
    is_stopword: bool


class AliasIndex:
    """Finds names with aliases in a question: by their words, or by their stems in the language of a collection."""

    def __init__(self, aliases: Aliases, generations: Sequence[Searchable]) -> None:
        self._tokenisers = {id(one.tokeniser): one.tokeniser for one in generations}
        self._by_first: dict[str, list[_Name]] = defaultdict(list)
        for number, group in enumerate(aliases.groups):
            for name in group:
                stemmed = [tuple(each.stems(name)) for each in self._tokenisers.values()]
                forms = tuple(dict.fromkeys([tuple(words(name)), *filter(None, stemmed)]))
                for first in {form[0] for form in forms}:
                    self._by_first[first].append(_Name(name, number, forms, bool(stemmed) and not any(stemmed)))
        self._known = [
            tuple(name for name in group if any(_has_name(each, name) for each in generations))
            for group in aliases.groups
        ]

    def in_question(self, question: str) -> tuple[AlternativeNames, ...]:
        """Return the names in the question that have aliases, each with its aliases that the collections contain."""
        if not self._by_first:
            return ()
        sequences = [tuple(words(question)), *(tuple(each.stems(question)) for each in self._tokenisers.values())]
        as_written = question.replace("?", " ").replace(",", " ").split()
        by_group: dict[int, dict[str, None]] = defaultdict(dict)
        for sequence in sequences:
            for start, first in enumerate(sequence):
                for name in self._by_first.get(first, ()):
                    # A name that is also a stopword, such as IT, must be written in exactly this case.
                    if any(sequence[start : start + len(form)] == form for form in name.forms) and (
                        not name.is_stopword or name.written in as_written
                    ):
                        by_group[name.group].setdefault(name.written)
        return tuple(
            AlternativeNames(next(iter(names)), others)
            for group, names in by_group.items()
            if (others := tuple(other for other in self._known[group] if other not in names))
        )


def _has_name(generation: Searchable, name: str) -> bool:
    stems = generation.tokeniser.stems(name)
    return bool(stems) and all(generation.frequencies(stems).values())


_MONTHS = month_numbers(["en", "de", "fr", "es"], folded=True)
_NAMED = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR = re.compile(r"(?<![\w.,/-])(1[5-9]\d\d|20\d\d)(?![\w/]|[.,-]\d)")
_ISO = re.compile(r"(?<![\w.-])(\d{4})-(\d\d)(?:-(\d\d))?(?![\w-])")
_POINTED = re.compile(r"(?<![\w.])(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})(?!\w)")
_DAY_FIRST = re.compile(rf"(?:(?<!\w)(\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?)?\b({_NAMED})\.? (?:of )?(\d{{4}})(?!\w)")
_DAY_SECOND = re.compile(rf"\b({_NAMED})\.? (\d{{1,2}})(?:st|nd|rd|th)?, ?(\d{{4}})(?!\w)")


def years_of(text: str) -> tuple[str, ...]:
    """Return the distinct years, 1500 to 2099, in a text. A year in a date with a month does not count."""
    bare = fold(text)
    for pattern in (_ISO, _POINTED, _DAY_SECOND, _DAY_FIRST):
        bare = pattern.sub(" ", bare)
    return tuple(dict.fromkeys(_YEAR.findall(bare)))


def dates_of(text: str) -> tuple[str, ...]:
    """Return the distinct days and months in a text in ISO format (2024-03-31, 2024-03), sorted by their notation.

    First come all dates like 2024-03-31, then those like 31.3.2024, then March 31, 2024, then 31 March 2024.
    """
    folded = fold(text)
    dates = [(year, month, day) for year, month, day in _ISO.findall(folded)]
    dates += [(year, month, day) for day, month, year in _POINTED.findall(folded)]
    dates += [(year, str(_MONTHS[month]), day) for month, day, year in _DAY_SECOND.findall(folded)]
    dates += [(year, str(_MONTHS[month]), day) for day, month, year in _DAY_FIRST.findall(folded)]
    return tuple(dict.fromkeys(iso for parts in dates if (iso := _iso(*parts))))


def _iso(year: str, month: str, day: str) -> str:
    try:
        iso = date(int(year), int(month), int(day or 1)).isoformat()
    except ValueError:  # such as the 31st of February
        return ""
    return iso if day else iso[:7]


_NAMED_BY = ("organisations", "topics", "title", "section")  # text fields whose values are names in questions
_MOST_VALUES = 20_000  # a field with more values is not searched for names
_LONGEST_VALUE = 500  # characters
_LONGEST_NAME = 8  # words
_SHORTEST_NAME = 4  # letters of a value that is one word; shorter ones are in too many questions


class FilterSuggester:
    """Suggests filters for years, dates and field values in a question. Many threads may share one object."""

    def __init__(self, generations: Sequence[Searchable]) -> None:
        self._generations = tuple(generations)
        self._lock = Lock()

    def of(self, question: str, taken: frozenset[str] = frozenset()) -> tuple[str, ...]:
        """Return at most five conditions, such as `year=2024`, none of them on a field in `taken`."""
        conditions = dict.fromkeys((*self._of_time(question), *self._of_names(question)))
        return tuple(text for text in conditions if text.partition("=")[0] not in taken)[:5]

    def _of_time(self, question: str) -> Iterator[str]:
        """Yield a condition for each year in the question (`year=2024` or else `dates=2024`), and for each date."""
        for year in years_of(question):
            if any(int(year) in field.values for field in self._fields("year")):
                yield f"year={year}"
            elif self._mentioned(year):
                yield f"dates={year}"
        yield from (f"dates={date}" for date in dates_of(question) if self._mentioned(date))

    def _mentioned(self, date: str) -> bool:
        starts = ((field.values, bisect_left(field.values, date)) for field in self._fields("dates"))
        return any(index < len(values) and str(values[index]).startswith(date) for values, index in starts)

    def _of_names(self, question: str) -> Iterator[str]:
        with self._lock:
            names = self._names
        own = words(question)
        longest_first = (
            tuple(own[start : start + length])
            for length in range(min(_LONGEST_NAME, len(own)), 0, -1)
            for start in range(len(own) - length + 1)
        )
        taken: set[str] = set()
        for run in longest_first:
            condition = names.get(run)
            if condition is not None and taken.isdisjoint(run):
                taken.update(run)
                yield condition

    @cached_property
    def _names(self) -> Mapping[tuple[str, ...], str]:
        """Map each field value's words to a condition (`topics=fees`). A value of two fields belongs to the first."""
        names: dict[tuple[str, ...], str] = {}
        for name in _NAMED_BY:
            for field in self._fields(name):
                for value in field.values if len(field.values) <= _MOST_VALUES else ():
                    # A section is named by its last heading.
                    own = tuple(words(str(value).rpartition(" > ")[2]))
                    is_name = 0 < len(own) <= _LONGEST_NAME and (len(own) > 1 or len(own[0]) >= _SHORTEST_NAME)
                    if is_name and len(str(value)) <= _LONGEST_VALUE and '"' not in str(value):
                        names.setdefault(own, f"{name}={value}")
        return names

    def _fields(self, name: str) -> Iterator[FieldValues]:
        return filter(None, (one.field(name) for one in self._generations))


class QuestionAnalyser:
    """Analyses the questions that are asked about the given generations. Many threads may share one object."""

    def __init__(self, generations: Sequence[Searchable], query: QuerySettings, aliases: Aliases = NO_ALIASES) -> None:
        languages = tuple(dict.fromkeys(one.tokeniser.language for one in generations))
        self._aliases = AliasIndex(aliases, generations)
        self._speller = SpellingCorrector(generations, languages, aliases.words)
        self._suggestions = FilterSuggester(generations) if query.filters_from_question != "off" else None
        self._tokenisers = tuple(one.tokeniser for one in generations)

    def analyse(
        self, text: str, conditions: Sequence[Condition] = (), allowed: AllowedFinder | None = None
    ) -> UnderstandDetails:
        """Analyse a normalised question. The result contains the question to search for, with corrected spelling.

        No filter is suggested for a field in `conditions`. Words are corrected only to words in the chunks that
        `allowed` returns; it is called only if a word is unknown.
        """
        typed = parse_question(text)
        language = asked_language(text, typed.language)
        corrections = self._speller.corrections(text, language, allowed)
        question = parse_question(apply_corrections(text, corrections)) if corrections else typed
        taken = frozenset(one.field for one in conditions)
        return UnderstandDetails(
            language=language,
            intent=intent_of(question, language),
            expects=question.expects,
            entities=list(question.names),
            years=list(years_of(question.text)),
            dates=list(dates_of(question.text)),
            numbers=list(question.numbers),
            keyword_likeness=keyword_likeness(question),
            corrected=corrections,
            aliases={named.name: list(named.others) for named in self._aliases.in_question(question.text)},
            suggested=list(self._suggestions.of(question.text, taken)) if self._suggestions else [],
            question=question.text,
        )

    def complete(self, variant: QueryVariant) -> QueryVariant:
        """Return the query variant with the alternatives of the names in it, its `likeness`, and its language.

        `likeness` is how much the text looks like a list of keywords, 0 to 1.
        """
        also, names = list(variant.also), []
        for named in self._aliases.in_question(variant.keywords):
            if any(each.stems(named.name) for each in self._tokenisers):
                names.append(named)
            else:  # a stopword is not searched for, so the first alternative replaces the name
                also.append(named.others[0])
                names += [AlternativeNames(named.others[0], named.others[1:])] if named.others[1:] else []
        likeness = keyword_likeness(parse_question(variant.text))
        language = shown_language(variant.text)
        return replace(variant, also=tuple(also), names=tuple(names), likeness=likeness, language=language)


def apply_filters(
    conditions: Sequence[Condition], suggested: Sequence[str], generations: Sequence[Searchable]
) -> tuple[FilterLimits, tuple[Condition, ...]]:
    """Return the chunks that fulfil `conditions` and the suggested conditions, and the conditions that were applied.

    If no chunk fulfils all of them, the suggested conditions are dropped. Raises UsageError.
    """
    own = tuple(conditions)
    if not suggested:
        return filter_limits(own, generations), own
    both = (*own, *parse_conditions(suggested))
    limits = filter_limits(both, generations)
    listed = " and ".join(suggested)
    if any(one.count for one in limits.allowed):
        note = f"Only chunks with {listed} were searched, as the question suggests (query.filters_from_question)."
        return replace(limits, notes=(note, *limits.notes)), both
    limits = filter_limits(own, generations)
    note = f"The question suggests {listed}, but no chunk matches, so this filter was not applied."
    return replace(limits, notes=(note, *limits.notes)), own
