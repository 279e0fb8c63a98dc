"""Score statements as possible values of a field: rules, lists of states, and responsible persons."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from elt_llm_core.text.languages import word_pattern
from elt_llm_core.text.languages import words as language_words
from elt_llm_core.text.outline import Span
from elt_llm_query.grounding.rules import find_numbers

from elt_llm_consumer.catalog.mentions import NamedStatement
from elt_llm_consumer.jobs.sections import CatalogField
from elt_llm_consumer.sentences.clauses import describes_mention, follows_preposition, is_party_to_rule
from elt_llm_consumer.sentences.reader import SentenceReader
from elt_llm_consumer.sentences.statements import TextStatement
from elt_llm_consumer.sentences.words import (
    CONDITIONALS,
    FINITE_VERBS,
    NAME_PREPOSITIONS,
    PREPOSITIONS,
    CueMatcher,
    finite_verbs,
    listed_verbs,
    sentence_words,
)

_COPULA = word_pattern(r"(?<!\w)@be_before_states@\s{1,3}(?:@before_states@\s{1,3})?")
_MAX_LIST_LENGTH = 300
_ENDS = re.compile(r"[.;:!?()](?:\s|$)|[\n|]")
_BETWEEN = word_pattern(r",\s{1,3}(?:@or@\s{1,3})?|\s{1,3}@or@\s{1,3}")
_OR = word_pattern(r"\s@or@\s")
_MIN_ITEMS, _MAX_ITEM_WORDS = 3, 4
_FIRST_OF_STATE = language_words("first_in_state")
# Items that are not states: things (with an article, number or pronoun) and actions (with an agent, "by ...", or verb).
_NO_STATE = word_pattern(
    r"[\d\"\u201c\u201d*_`]|(?:^|\s)@not_last_in_state@$|(?<!\w)@not_in_state@(?!\w)",
    re.IGNORECASE,
)
_DEFINITE = word_pattern(r"^@definite_articles@\s", re.IGNORECASE)
_FREQUENCY = re.compile(r"\w{2,20}ly$")
_STATE_OF = word_pattern(r"(?<!\w)@states@\s{1,3}(?:of|von)(?:\s\w{1,6})?\s{1,3}$")
_CONDITION = word_pattern(r"(?<!\w)@if@(?:\s{1,3}\w{1,10}){0,2}\s{1,3}$", re.IGNORECASE)
_CONDITIONAL = word_pattern(r"(?<!\w)(?:@if@|@except@)\s", re.IGNORECASE)
_IN_CONDITION = word_pattern(r"(?<!\w)@if@\s[^,;:]{0,200}$", re.IGNORECASE)
_AWARE = re.compile(r"\s{1,3}aware(?!\w)")  # "becoming aware of a Leak" is no state of the leak
_BRACKETS = re.compile(r"^\s{0,3}(?:\([^()]{1,80}\)\s{0,3})?$")


@dataclass(frozen=True)
class StateList:
    """A list of states such as "ordered, in use or scrapped", text[start:end]. Its verb "is" starts at `copula`."""

    copula: int
    start: int
    end: int


def find_states(text: str) -> list[StateList]:
    """Return, in order, each list of at least three states after a verb: "is ordered, in use or scrapped".

    These do not count as states: things ("a grower, a miller or a baker"), frequencies, several places of one action
    ("sent to the ward, to the clinic or to the house"), and actions ("or refused by the clerk").
    """
    found = []
    for copula in _COPULA.finditer(text):
        rest = text[copula.end() : copula.end() + _MAX_LIST_LENGTH]
        end = _ENDS.search(rest)
        listed = rest[: end.start()] if end else rest
        if _OR.search(listed) and _are_states(_BETWEEN.split(listed)):
            found.append(StateList(copula.start(), copula.end(), copula.end() + len(listed)))
    return found


def _are_states(items: list[str]) -> bool:
    words = [item.split() for item in items]
    if len(items) < _MIN_ITEMS or any(not 1 <= len(one) <= _MAX_ITEM_WORDS for one in words):
        return False
    if any(_NO_STATE.search(item) or _DEFINITE.match(item) or item[:1].isupper() for item in items):
        return False
    plural = [
        one[0] not in _FIRST_OF_STATE and one[-1].endswith("s") and not one[-1].endswith(("ss", "us")) for one in words
    ]
    if all(several or _FREQUENCY.match(one[-1]) for one, several in zip(words, plural, strict=True)):
        return False
    # In "sent to the office, to the store or to the house", the first item contains "to", with which the others start.
    firsts = {one[0] for one in words[1:]}
    return not (len(firsts) == 1 and len(words[1]) > 1 and firsts <= set(words[0][1:]))


_ARTICLE = word_pattern(r"^@before_owner@\s{1,3}", re.IGNORECASE)
_ONLY_ARTICLES = word_pattern(r"^\s{0,3}(?:@before_entity@\s{1,3}){0,2}$", re.IGNORECASE)
_GERMAN_PLACES = language_words("prepositions", ["de"])
# Further names of a list after a name: ", Cards and the Case Files", "und die Messwerte".
_FURTHER_NAMES = (
    r"(?-i:(?:(?:,|\s@and@)\s(?:(?:@definite_articles@|den)\s)?[A-ZÄÖÜ]\w{1,30}(?:\s[A-ZÄÖÜ]\w{1,30}){0,4}){0,9})"
)
_AFTER_NAME = word_pattern(
    rf"{_FURTHER_NAMES}(?:\s(?:ist|sind)\s(?P<who>.{{1,200}}))?\s(?:verantwortlich|zuständig)",
    re.IGNORECASE | re.DOTALL,
)
_NAME_ENDS = word_pattern(r"^\s{0,3}(?:[,.;:)\n]|$|@after_owned@(?!\w))", re.IGNORECASE)
# What may follow the name of a thing, or its class, in a statement about all such things: other names, and the end.
_WHOLE = word_pattern(rf"[\"\u201d*_]{{0,2}}{_FURTHER_NAMES}\s{{0,3}}(?:[.;]|$)")
_ONE_HOLDER = word_pattern(r"\s@definite_articles@\s", re.IGNORECASE)
_CLASS = re.compile(r"[\s:\"\u201c*_]{1,4}(?P<name>(?:[A-Z][\w-]{0,30}(?:\s(?=[A-Z])|(?!\w))){1,3}|[\w-]{1,30})")
_CLASS_WITHIN = re.compile(
    r"(?:.{0,250}\s)?(?P<as>als)[\s\"\u201c\u201e*_]{1,4}(?P<name>.{1,100}?)[\"\u201c\u201d*_]{0,2}\s{1,3}\w{1,30}",
    re.IGNORECASE | re.DOTALL,
)
"""A German phrase around a class: "als Intern eingestuft"."""
_SEVERAL = re.compile(r"[,;]|\s(?:und|oder)\s")
# "The Pump is not (may be, was, previously) classified as Public" does not give the class.
_NEGATORS = language_words("negators")
_UNSTATED = _NEGATORS | CONDITIONALS | language_words("permissions") | language_words("past_or_possible")
_PAST = language_words("past")
_USED_TO = word_pattern(
    r"(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\w)@used_to@\s{1,3}(?:\w{1,12}\s{1,3}){0,2}$", re.IGNORECASE
)
_PLACES_AND_TIMES = PREPOSITIONS | {"ab"}
_CLOSING = FINITE_VERBS | _UNSTATED | {"worden", "sein"}  # verbs at the end of a German clause
_NO_CLASS = language_words("no_class")
# The name after "owned by": capitalised words, joined by articles, "of", "for" and "and".
_PERSON = word_pattern(
    r"[\s:]{1,3}(?P<name>(?:@definite_articles@\s)?[^\W\d_a-zß-ÿ][\w'\u2019.-]{0,30}"
    r"(?:\s(?:(?:of|for|and|und|für|&)\s)?(?:@definite_articles@\s)?[^\W\d_a-zß-ÿ][\w'\u2019-]{0,30}){0,7})"
)
_ENDS_OF_SENTENCE = re.compile(r"\s{0,3}(?:[.;]|$)")
_TO_VERB = word_pattern(rf"{_FURTHER_NAMES}(?:\s\w{{2,6}}){{1,3}}")
_OF_CUE = re.compile(r"\s(?:of|for|von|für)$")
_OF = word_pattern(r"\s(?:of|for|von|für|der|des)\s", re.IGNORECASE)
_COORDINATION = word_pattern(r"(?:\s{0,3},\s{0,3}(?:@and@\s{1,3})?|\s{1,3}@and@\s{1,3})(?:@before_item@\s{1,3})?")
_MAIL_HEADER = re.compile(r"(?:From|Von): [^\n]{1,500}\n(?:[^\n]{0,2000}\n){0,9}(?:Date|Sent|Datum|Gesendet): ")
_CLAUSE = word_pattern(r"[,;:]\s{1,3}(?:(?:@and@|but)\s{1,3})?")
_AND = word_pattern(r"\s@and@\s")
_ENDS_IN_AND = word_pattern(r"\s@and@\s{1,3}$")
_PLURAL_VERB = word_pattern(r"@plural_be@\s", re.IGNORECASE)
_NOBODY = word_pattern(r"(?<!\w)@not_in_owner@(?!\w)", re.IGNORECASE)
_CAPITAL = re.compile(r"\s(?=[^\W\d_a-zß-ÿ])")
_MAX_NAME_WORDS = 8
_MAX_VERBS = 3  # words between an entity and "classified as": "must always be"


def has_condition(text: str) -> bool:
    """Return whether a text contains a condition or an exception."""
    return bool(_CONDITIONAL.search(text))


def _responsible(named: NamedStatement, answers: CueMatcher) -> "StatedClaim | None":
    """Return who is responsible for the thing that the statement names, if anybody.

    `answers` finds phrases such as "responsible for"; one must be directly before the name. "Responsible for the
    yearly report on Loans" does not make anybody responsible for loans. Several persons can be responsible for a thing,
    but only one is "the owner of" it.
    """
    text, offset = named.statement.text, named.statement.offset
    for start, end in () if named.statement.cells else answers.spans(text):
        for first, last in named.local_mentions:
            before, after = text[end : max(0, first)], text[last:]
            if german := _within_answer(text[start:end], first - start, last - start):
                subject = " ".join(filter(None, (text[offset:start].strip(), german["who"])))
                return None if german["who"] and subject != german["who"] else _person(subject, subject, is_only=False)
            if first >= end and _is_coordinated(before) and _NAME_ENDS.match(after):
                # The subject of the last clause is responsible only if it is a capitalized name and not a clause.
                whole = text[offset:start]
                several = bool(_PLURAL_VERB.match(text, start))
                shared = _ENDS_IN_AND.search(whole)
                subject = _shared_subject(whole) if shared else _last_subject(whole, several=several)
                return _person(
                    subject, whole, is_only=bool(_ONE_HOLDER.search(text[start:end]) and _WHOLE.match(after))
                )
    return None


def _owner_after(named: NamedStatement, phrases: CueMatcher) -> "StatedClaim | None":
    """Return the person after a phrase such as "owned by" or "owner of ... is", if it is about the named thing.

    The thing is the subject of the phrase, or within it: "The Owner of the Pump is Ms Fox".
    """
    text = named.statement.text
    for start, end in () if named.statement.cells else phrases.spans(text):
        within = [mention for mention in named.local_mentions if start < mention[0] and mention[1] < end]
        of_thing = any(
            _is_coordinated(_OF.split(text[start:first], maxsplit=1)[-1]) and _TO_VERB.fullmatch(text, last, end)
            for first, last in within
        )
        person = _PERSON.match(text, end)
        if person is None or _is_unstated(text[named.statement.offset : start]):
            continue
        if of_thing or (not within and _is_about_whole(named, start)):
            whole = person["name"] if _ENDS_OF_SENTENCE.match(text, person.end()) else ""
            return _person(person["name"], whole, is_only=True)
    return None


def _within_answer(answer: str, first: int, last: int) -> "re.Match[str] | None":
    """Match a German answer around a name: "ist für die Pumpe verantwortlich", "Für Pumpen ist Frau Fox zuständig"."""
    lead = re.search(r"(?:^|\s)für\s(?P<names>.*)", answer[: max(0, first)], re.IGNORECASE)
    return _AFTER_NAME.fullmatch(answer, last) if lead and _is_coordinated(lead["names"]) else None


def _person(subject: str, whole: str, *, is_only: bool) -> "StatedClaim | None":
    """Return the subject of a clause as a responsible person; None if it is not a name."""
    name = _ARTICLE.sub("", " ".join(subject.split()))
    longest = max(len(one.split()) for one in _COORDINATION.split(name))
    first = name.partition(" ")[0].casefold()
    if first in _GERMAN_PLACES:  # "Im Netz ist verantwortlich für Zähler: Frau Fox"
        return None
    if first in PREPOSITIONS:  # "Since the 2023 review the Head of Stores"
        name = next((tail for tail in (name[it.end() :] for it in _CAPITAL.finditer(name)) if _is_name(tail)), "")
        is_only = False
    if not name[:1].isupper() or longest > _MAX_NAME_WORDS or _NOBODY.search(name) or finite_verbs().spans(name):
        return None
    return StatedClaim(name, is_only and subject == whole and not re.search(r"\d", name) and not _OR.search(name))


def _shared_subject(before: str) -> str:
    """Return the subject that a second verb shares: "The Clerk" before "The Clerk is old and is responsible for".

    Return "" if it is unknown: of two verbs before "and", the second may have a subject of its own.
    """
    clause = _CLAUSE.split(before)[-1]
    verbs = finite_verbs().spans(clause)
    subject = clause[: verbs[0][0]] if len(verbs) == 1 else ""
    return subject if _is_name(subject) else ""


def _last_subject(before: str, *, several: bool) -> str:
    """Return the subject of the last clause before a verb; if `several`, with all names of a list such as "A, B and C".

    In "In Wales, A and B", the words before the comma are no name.
    """
    marks = list(_CLAUSE.finditer(before))
    while several and marks and marks[-1].group().startswith(",") and _AND.search(before):
        earlier = marks[-2].end() if len(marks) > 1 else 0
        if not _is_name(before[earlier : marks[-1].start()]):
            break
        marks.pop()
    return before[marks[-1].end() if marks else 0 :]


def _is_name(text: str) -> bool:
    """Return whether a text consists of noun phrases that only "of", "for" and "and" join: "The Head of Stores"."""
    words = sentence_words(text)
    phrases = list(SentenceReader(listed_verbs()).phrases(words))
    ends = [0, *(phrase.last for phrase in phrases)]
    between = [words[end : phrase.first] for end, phrase in zip(ends, phrases, strict=False)]
    joining = NAME_PREPOSITIONS | language_words("and")
    joined = all(part and {word.low for word in part} <= joining for part in between[1:])
    return bool(phrases) and joined and not between[0] and ends[-1] == len(words)


def _stated_class(named: NamedStatement, phrases: CueMatcher) -> "StatedClaim | None":
    """Return the class after a phrase such as "classified as", or in a German phrase such as "als Intern eingestuft".

    Return None if the statement gives no class. A phrase that is negated, or about the past or a possibility, does not
    count.
    """
    text, offset = named.statement.text, named.statement.offset
    for start, end in () if named.statement.cells else phrases.spans(text):
        within = _CLASS_WITHIN.fullmatch(text, start, end)
        found = within or _CLASS.match(text, end)
        if found is None or not _NEGATORS.isdisjoint(found["name"].casefold().split()):
            continue
        at, until = (within.start("as"), _closing_verbs_end(text, end)) if within else (start, found.end())
        # In German, the verb may be before the subject: "Früher war die Pumpe als Intern eingestuft".
        ends = [] if within else [last for _, last in named.local_mentions if last <= start]
        if until is None or _is_unstated(text[max(0, *ends, offset) : at]):
            continue
        is_one = found["name"].casefold() not in _NO_CLASS and not _SEVERAL.search(found["name"])
        return StatedClaim(found["name"], is_one and _is_about_whole(named, at) and bool(_WHOLE.match(text[until:])))
    return None


def _is_about_whole(named: NamedStatement, phrase: int) -> bool:
    """Return whether a statement starts with the entity, and only a few verbs are between it and the phrase."""
    text, offset = named.statement.text, named.statement.offset
    starts = [last for first, last in named.local_mentions if _ONLY_ARTICLES.match(text[offset:first])]
    between = [text[last:phrase].casefold().split() for last in starts]
    return any(len(verbs) <= _MAX_VERBS and _PLACES_AND_TIMES.isdisjoint(verbs) for verbs in between)


def _closing_verbs_end(text: str, participle_end: int) -> int | None:
    """Return the end of the verbs after a German participle; None if they are about the past or a possibility."""
    end = participle_end
    for word in sentence_words(text, participle_end):
        if word.separator or word.low not in _CLOSING:
            break
        if word.low in _UNSTATED:
            return None
        end = word.end
    return end


def _is_unstated(before: str) -> bool:
    """Return whether the verb at the end of `before` is negated, or about the past or a possibility: "may not be"."""
    for word in reversed(sentence_words(before)):
        if word.low in _UNSTATED or word.low in FINITE_VERBS - {"be"}:
            return word.low in _UNSTATED
    return False


def _is_past(before: str) -> bool:
    """Return whether the verb at the end of `before` is about the past: "were formerly", "used to be"."""
    verbs = (word.low for word in reversed(sentence_words(before)) if word.low in _PAST | FINITE_VERBS - {"be"})
    return next(verbs, "") in _PAST or bool(_USED_TO.search(before))


_TIMES = frozenset({"minute", "hour", "day", "week", "month", "year"})


def _is_only_unit(named: NamedStatement) -> bool:
    """Return whether each mention is a unit of time after a number, as in "within five Working Days"."""
    text = named.statement.text
    units = [find_numbers(f"2 {text[slice(*it)].split()[-1]}") for it in named.local_mentions]
    if not units or not all(len(found) == 1 and found[0].measure in _TIMES for found in units):
        return False
    ends = [one.end for one in find_numbers(text)]
    return all(
        any(end <= start and not text[end:start].strip(" )") for end in ends) for start, _ in named.local_mentions
    )


def _is_coordinated(before: str) -> bool:
    """Return whether the text before a name contains only other names of the same list: "Loans, Cards and"."""
    *names, last = _COORDINATION.split(before)
    bare = [_ARTICLE.sub("", name.strip()) for name in names]
    return bool(_ONLY_ARTICLES.match(last)) and all(
        name[:1].isupper() and len(name.split()) <= _MAX_NAME_WORDS and not finite_verbs().spans(name) for name in bare
    )


def _is_about_another(named: NamedStatement) -> bool:
    """Return whether a sentence starts with another name, and has the entity only after a preposition or "if".

    "Books that are evidence in a Complaint are kept until the Complaint is closed" is about books.
    """
    text, offset = named.statement.text, named.statement.offset
    if not named.subject_is_other:
        return False
    before = [text[offset:start] for start, _ in named.local_mentions]
    return all(follows_preposition(words, frozenset({"of"})) or _CONDITION.search(words) for words in before)


def _is_owner(named: NamedStatement, cue: Span) -> bool:
    """Return whether a cue makes the entity an owner, or something else owned: "The Clerk is the owner of the Pump"."""
    text, offset = named.statement.text, named.statement.offset
    if text[: cue[1]].casefold().endswith(" by"):
        return any(_ONLY_ARTICLES.match(text[cue[1] : first]) for first, _ in named.local_mentions if first >= cue[1])
    if _OF_CUE.search(text, *cue) and all(first >= cue[1] for first, _ in named.local_mentions):
        # "The Owner of the report on the Pump" owns no pump.
        return not any(_is_coordinated(text[cue[1] : first]) for first, _ in named.local_mentions)
    return any(
        _ONLY_ARTICLES.match(text[offset:first]) and _COPULA.match(text[last : cue[0]].lstrip())
        for first, last in named.local_mentions
        if last <= cue[0]
    )


_ROW, _TITLED, _SUBJECT, _BEFORE_VERB, _NEAR, _HEADING, _NAMED = 1.0, 0.9, 0.85, 0.75, 0.7, 0.62, 0.45
_STATES = 0.95
_OWN_RULE = 0.95
"""The score of rules about an entity below a heading with its name. These rules keep the order of the text."""
_UNSURE = 0.95
_MORE = 0.05
"""The maximum that a second cue word, or the search score of a statement, adds to the statement's score."""
_NEAR_WORDS, _SUBJECT_WORDS, _FIRST_WORDS = 5, 12, 3
_MAX_STATEMENT_LENGTH = 3000
"""The maximum length, in characters, of a statement that is used as evidence."""
_SENTENCE_WORDS = 8
"""In a table row, cue words such as "must" count only in cells with at least this many words."""
# The text between two items of an enumeration: in "a consent or a duty", the cue "duty" is not about the consent.
_BESIDE = word_pattern(
    r"\s{0,3}(?:,|@item_conjunctions@)"
    r"(?:\s{1,3}(?:@item_conjunctions@|@definite_articles@|@indefinite_articles@)){0,2}\s{0,3}$"
)
_WHICH = word_pattern(r",\s{1,3}@relatives@\s", re.IGNORECASE)  # "a list of permits, which are kept" keeps the list
# A number, with the word of a reference before it. "Rule 4", "article 4" and "D3.2" are references instead of amounts.
_FIGURE = word_pattern(r"(?<![\w.])((?:[A-Z]\w{2,20}|@document_parts@) )?\d[\d.,]{0,11}(?!\w)")


@dataclass(frozen=True)
class StatedClaim:
    """What a statement gives as the only value: an owner, or a class. `whole`: for the whole entity, at any time."""

    value: str
    whole: bool = True


@dataclass(frozen=True)
class FieldCandidate:
    """A statement that may give a field's value. `score` is from 0 to 1; an empty `value` means the whole statement."""

    statement: TextStatement
    score: float
    value: str = ""
    claim: StatedClaim | None = None
    denies: bool = False
    """Whether the statement has words such as "classified as", but gives no class: "is not classified as Public"."""
    source: TextStatement | None = None
    """The row with the value, if the statement only refers to it: "as above"."""

    @property
    def order(self) -> tuple[float, int]:
        """The key by which candidates are sorted, best first."""
        return 2 * _MORE * self.denies - self.score, self.statement.number

    @property
    def content(self) -> str:
        """The value or, if it is empty, the whole statement on one line."""
        return self.value or self.statement.content


class SentenceField:
    """Chooses the sentences and table rows that give the value of one field."""

    def __init__(self, settings: CatalogField, rule_words: Sequence[str]) -> None:
        self._settings = settings
        self._cues = CueMatcher(settings.cues)
        self._rules = CueMatcher(rule_words)
        self._answers, self._classes = CueMatcher(settings.answers), CueMatcher(settings.classes_after)
        self._owned = CueMatcher(settings.answers_after)

    def depends_on_search(self, named: Sequence[NamedStatement], most: int) -> bool:
        """Return whether scores from a search could change which candidates are among the best `most`."""
        likely = self.candidates(named, {}, _MORE)
        return len(likely) > most or any(one.score < self._settings.least_score for one in likely)

    def candidates(
        self, named: Sequence[NamedStatement], search_scores: Mapping[int, float], below: float = 0.0
    ) -> list[FieldCandidate]:
        """Return the statements that may give the value, best first, with scores of at least `least_score` - `below`.

        `search_scores` maps statement numbers to the scores that the search gave them.
        """
        least = self._settings.least_score - below
        scored = [self._scored(one, search_scores.get(one.statement.number, 0.0)) for one in named]
        kept = [one for one in scored if one is not None and one.score >= least]
        return sorted(kept, key=lambda one: one.order)

    def _scored(self, named: NamedStatement, search_score: float) -> FieldCandidate | None:
        statement = named.statement
        if len(statement.text) > _MAX_STATEMENT_LENGTH or statement.only_names or _MAIL_HEADER.match(statement.text):
            return None
        if not named.under_heading and _is_only_unit(named):
            return None
        if who := _responsible(named, self._answers) or _owner_after(named, self._owned):
            return FieldCandidate(statement, _STATES, who.value, who)
        cues = self._cue_spans(named)
        if cues is None or ((self._settings.states or self._settings.headers) and _is_about_another(named)):
            return None
        own_rule = self._is_own_rule(named)
        score = _OWN_RULE if own_rule else self._directness(named, cues)
        score *= 1.0 if named.certain else _UNSURE
        different = {statement.text[start:end].casefold() for start, end in cues}
        score += _MORE * (len(different) > 1 and not own_rule) + _MORE * search_score
        claim = _stated_class(named, self._classes)
        denies = claim is None and not statement.cells and bool(self._classes.spans(statement.text))
        return FieldCandidate(statement, round(min(score, 1.0), 4), claim=claim, denies=denies)

    def _cue_spans(self, named: NamedStatement) -> list[Span] | None:
        """Return the spans of the field's cue words, such as "kept for"; None if the statement lacks required words."""
        statement = named.statement
        states = find_states(statement.text)
        cues = _outside_mentions(self._cues.outside_names(statement.text, statement.offset), named)
        if self._settings.states:
            cues = self._lifecycle_spans(cues, named, states)
        else:
            cues = [one for one in cues if not any(it.start <= one[0] < it.end for it in states)]
        if self._settings.headers:
            cues = [one for one in cues if statement.cells or not _is_past(statement.text[statement.offset : one[0]])]
        if self._settings.answers:
            cues = [one for one in cues if not _is_owner(named, one)]
        if self._cues.listed and not cues:
            return None
        if self._settings.rule:
            rules = _outside_mentions(self._rules.spans(statement.text), named)
            # Amounts, times and dates alone can make a rule: "is sent by 10.00 p.m.".
            figures = _FIGURE.finditer(statement.text)
            rules += [match.span() for match in figures if match.start() >= statement.offset and not match[1]]
            return (cues or rules) if rules else None
        return cues

    def _lifecycle_spans(self, cues: list[Span], named: NamedStatement, states: Sequence[StateList]) -> list[Span]:
        """Return the spans of the cue words about the entity's own lifecycle, and of the list of its states."""
        statement = named.statement
        text, offset, own_states = statement.text, statement.offset, _states_of(named)
        cues = [cue for cue in cues if not _AWARE.match(text, cue[1])]
        if statement.cells:
            return cues
        if not named.mentions:
            # A condition is about something else: "unless the customer is registered".
            return [cue for cue in cues if not _IN_CONDITION.search(text[offset : cue[0]])]
        own = named.local_mentions
        lifecycle = [cue for cue in cues if any(describes_mention(text, mention, cue, offset) for mention in own)]
        return lifecycle + [(one.start, one.end) for one in states if one == own_states]

    def _is_own_rule(self, named: NamedStatement) -> bool:
        """Return whether a statement is a rule about the entity below a heading with its name."""
        statement = named.statement
        is_list = self._settings.states and _states_of(named) is not None
        if is_list or not self._settings.rule or not named.in_chapter or statement.cells:
            return False
        return any(is_party_to_rule(statement.text, one, statement.offset) for one in named.local_mentions)

    def _directness(self, named: NamedStatement, cues: Sequence[Span]) -> float:
        """Return a score for how directly a statement gives the entity's field."""
        statement = named.statement
        if self._settings.states and _states_of(named):
            return _STATES
        if statement.cells:
            first = next((cell for cell in statement.cells if len(cell.text) > 1), statement.cells[0])
            is_own = (first.start, first.end) in named.mentions
            long = [cell for cell in statement.cells if len(cell.text.split()) >= _SENTENCE_WORDS]
            cued = any(cell.start <= statement.start + start < cell.end for cell in long for start, _ in cues)
            return _ROW if is_own and cued else _NAMED
        if not named.mentions:
            return _HEADING if named.under_heading else 0.0
        best = max(_mention_score(statement, mention, cues) for mention in named.local_mentions)
        return max(_TITLED, best) if named.under_heading else best


def _outside_mentions(cues: Sequence[Span], named: NamedStatement) -> list[Span]:
    """Return the spans of the cue words that are not part of the name itself.

    For example, "certificate" is not a cue word in a mention of "Vetting Certificate". But a cue phrase may enclose a
    name: "keep each Permit for".
    """
    own = named.local_mentions
    return [
        (start, end)
        for start, end in cues
        if all(end <= first or start >= last or start < first <= last < end for first, last in own)
    ]


def _states_of(named: NamedStatement) -> StateList | None:
    """Return the list of states in the statement if these are states of the entity itself; otherwise None."""
    statement = named.statement
    lists = find_states(statement.text)
    for start, end in named.local_mentions:
        before = statement.text[statement.offset : start]
        # "If a Card is lost, stolen or found" does not list states, but "the status of a Card is lost, ..." does.
        if not _CONDITION.search(before) and (_STATE_OF.search(before) or not follows_preposition(before)):
            for states in lists:
                if end <= states.copula and _BRACKETS.match(statement.text[end : states.copula]):
                    return states
    return None


def _mention_score(statement: TextStatement, mention: Span, cues: Sequence[Span]) -> float:
    """Return the score of a mention by its position: before the verb, near a cue word, or elsewhere."""
    text, start = statement.text, statement.offset
    verb = min((at for at, _ in finite_verbs().spans(text) if at >= start), default=None)
    before = text[start : mention[0]]
    words = len(before.split())
    if words <= _FIRST_WORDS or (verb is not None and mention[0] < verb and words <= _SUBJECT_WORDS):
        return _BEFORE_VERB if follows_preposition(before) else _SUBJECT
    gaps = [text[min(mention[1], cue[1]) : max(mention[0], cue[0])] for cue in cues]
    distances = [len(gap.split()) for gap in gaps if not _BESIDE.match(gap) and not _WHICH.match(gap)]
    return _NEAR if min(distances, default=_NEAR_WORDS + 1) <= _NEAR_WORDS else _NAMED
