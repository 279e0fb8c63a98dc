"""Statements as candidates for one field of one name: how plainly each speaks of it, and how well it fits."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from elt_llm_consumer.fields.about import About
from elt_llm_consumer.fields.clauses import Span, is_governed, is_party_of_rule, is_said_of
from elt_llm_consumer.fields.cues import Cues, verbs
from elt_llm_consumer.fields.responsible import Responsible
from elt_llm_consumer.fields.statements import Statement
from elt_llm_consumer.fields.states import States, is_condition, names_state_of, own_states, states_in
from elt_llm_consumer.sections.catalog import CatalogField

_ROW, _TITLED, _SUBJECT, _BEFORE_VERB, _NEAR, _HEADING, _NAMED = 1.0, 0.9, 0.85, 0.75, 0.7, 0.62, 0.45
_STATES = 0.95
_OWN_RULE = 0.95
"""A rule for the entity under a heading that names it: such rules are told in their order."""
_IN_ORDER = "rule for it under its heading"
_UNSURE = 0.95
_MORE = 0.05
"""What a second word of the field, or a place among the passages found by search, is worth at most."""
_NEAR_WORDS = 5
_SUBJECT_WORDS = 12
_FIRST_WORDS = 3
_LONGEST = 3000
"""Characters; what is longer is no sentence, and nobody would read it as evidence."""
_SENTENCE_WORDS = 8
"""A table cell of fewer words names things and says nothing of them."""
# "An agreement, a consent or a duty" says nothing of a consent.
_BESIDE = re.compile(
    r"\s{0,3}(?:,|or|and|oder|und)(?:\s{1,3}(?:or|and|the|an?|oder|und|der|die|das|eine?)){0,2}\s{0,3}$"
)
# "Rule 4" and D3.2 are places and no amounts.
_FIGURE = re.compile(r"(?<![\w.])([A-Z]\w{2,20} )?\d[\d.,]{0,11}(?!\w)")


@dataclass(frozen=True)
class Candidate:
    """A statement that may be a field's value, with a score from 0 to 1; `value` is what it gives, if not its text."""

    statement: Statement
    score: float
    value: str = ""
    weights: tuple[str, ...] = field(default=(), compare=False)
    """What the score is made of, in words."""

    @property
    def said(self) -> str:
        """The value, or the statement on one line."""
        return self.value or self.statement.said


class SentenceField:
    """Chooses the sentences and rows that tell one field."""

    def __init__(self, settings: CatalogField, rule_words: Sequence[str]) -> None:
        self._settings = settings
        self._cues = Cues(settings.cues)
        self._rules = Cues(rule_words)
        self._responsible = Responsible(settings.answers)

    def candidates(self, abouts: Sequence[About], found: Mapping[int, float]) -> list[Candidate]:
        """Those that tell the field surely enough, best first; `found` has by number what a search thinks of them."""
        return self._from(abouts, found, self._settings.least_score)

    def depends_on_search(self, abouts: Sequence[About], wanted: int) -> bool:
        """Whether what a search finds could change which `wanted` candidates are taken."""
        likely = self._from(abouts, {}, self._settings.least_score - _MORE)
        return len(likely) > wanted or any(one.score < self._settings.least_score for one in likely)

    def _from(self, abouts: Sequence[About], found: Mapping[int, float], least: float) -> list[Candidate]:
        scored = [self._scored(about, found.get(about.statement.number, 0.0)) for about in abouts]
        kept = [one for one in scored if one is not None and one.score >= least]
        return sorted(kept, key=lambda one: (-one.score, one.statement.number))

    def _scored(self, about: About, searched: float) -> Candidate | None:
        statement = about.statement
        if len(statement.text) > _LONGEST or statement.only_names:
            return None
        who = self._responsible.who(about)
        if who:
            return Candidate(statement, _STATES, who, ("answers for it",))
        told = self._told(about)
        if told is None:
            return None
        score, why = self._plainness(about, told)
        score *= 1.0 if about.surely else _UNSURE
        different = {statement.text[start:end].casefold() for start, end in told}
        score += _MORE * (len(different) > 1 and why != _IN_ORDER) + _MORE * searched
        return Candidate(statement, round(min(score, 1.0), 4), weights=(why,))

    def _told(self, about: About) -> list[Span] | None:
        """Where the telling words stand; None where there are none but should be."""
        text = about.statement.text
        enumerated = states_in(text)
        told = _beside(self._cues.outside_names(text, about.statement.begins - about.statement.start), about)
        if self._settings.states:
            told = self._happening(told, about, enumerated)
        else:
            told = [one for one in told if not any(states.begins <= one[0] < states.end for states in enumerated)]
        if self._cues.listed and not told:
            return None
        if self._settings.rule:
            rules = [*_beside(self._rules.spans(text), about), *_figures(about.statement)]
            return (told or rules) if rules else None
        return told

    def _happening(self, told: Sequence[Span], about: About, enumerated: Sequence[States]) -> list[Span]:
        """The words that say what becomes of the entity itself, and its states where they are enumerated."""
        statement = about.statement
        if statement.cells or not about.mentions:
            return list(told)
        own = _mentions(about)
        begins = statement.begins - statement.start
        found = [one for one in told if any(is_said_of(statement.text, mention, one, begins) for mention in own)]
        return [*found, *((one.begins, one.end) for one in enumerated if one == _states_of(about))]

    def _plainness(self, about: About, told: Sequence[Span]) -> tuple[float, str]:
        if self._settings.states and _states_of(about):
            return _STATES, "its states"
        score, why = _plainness(about, told)
        if self._settings.rule and about.in_chapter and not about.statement.cells and _is_party(about):
            return _OWN_RULE, _IN_ORDER
        return score, why


def _mentions(about: About) -> list[Span]:
    """Where it is named, as offsets in the text of the statement."""
    return [(start - about.statement.start, end - about.statement.start) for start, end in about.mentions]


def _beside(told: Sequence[Span], about: About) -> list[Span]:
    """The telling words that are not part of the name itself: a "Vetting Certificate" is no certificate of anything."""
    own = _mentions(about)
    return [(start, end) for start, end in told if all(end <= first or start >= last for first, last in own)]


def _states_of(about: About) -> States | None:
    """The states that are enumerated of the entity: it is their subject, not what their subject has or is in."""
    text, begins = about.statement.text, about.statement.begins - about.statement.start
    for start, end in _mentions(about):
        before = text[begins:start]
        if not is_condition(before) and (names_state_of(before) or not is_governed(before)):
            states = own_states(text, end)
            if states is not None:
                return states
    return None


def _is_party(about: About) -> bool:
    begins = about.statement.begins - about.statement.start
    return any(is_party_of_rule(about.statement.text, mention, begins) for mention in _mentions(about))


def _figures(statement: Statement) -> list[tuple[int, int]]:
    """Amounts, times and dates: a rule may be told by them alone, as in "is sent by 10.00 p.m."."""
    begins = statement.begins - statement.start
    return [match.span() for match in _FIGURE.finditer(statement.text) if match.start() >= begins and not match[1]]


def _plainness(about: About, told: Sequence[tuple[int, int]]) -> tuple[float, str]:
    statement = about.statement
    if statement.cells:
        first = next((cell for cell in statement.cells if len(cell.text) > 1), statement.cells[0])
        own = any(first.start == start and end == first.end for start, end in about.mentions)
        return (_ROW, "row of its own") if own and _says(statement, told) else (_NAMED, "in a row")
    if not about.mentions:
        return (_HEADING, "under its heading") if about.under_heading else (0.0, "")
    places = [_standing(statement, start, end, told) for start, end in about.mentions]
    best = max(places)
    if about.under_heading:
        return max(_TITLED, best), "named under its heading"
    return best, {_SUBJECT: "subject", _BEFORE_VERB: "before the verb", _NEAR: "near"}.get(best, "named")


def _says(statement: Statement, told: Sequence[tuple[int, int]]) -> bool:
    """Whether a telling word stands in a cell that is long enough to say something."""
    long = [cell for cell in statement.cells if len(cell.text.split()) >= _SENTENCE_WORDS]
    return any(cell.start <= statement.start + start < cell.end for cell in long for start, _ in told)


def _standing(statement: Statement, start: int, end: int, told: Sequence[tuple[int, int]]) -> float:
    """How a mention stands in its sentence: before the verb, near the telling word, or somewhere."""
    text = statement.text
    own = start - statement.start, end - statement.start
    begins = statement.begins - statement.start
    verb = min((place for place, _ in verbs().spans(text) if place >= begins), default=None)
    before = text[begins : own[0]].split()
    if len(before) <= _FIRST_WORDS or (verb is not None and own[0] < verb and len(before) <= _SUBJECT_WORDS):
        return _BEFORE_VERB if is_governed(" ".join(before)) else _SUBJECT
    between = [text[last:first] for first, last in (_ordered(own, cue) for cue in told)]
    distances = [len(words.split()) for words in between if not _BESIDE.match(words)]
    return _NEAR if min(distances, default=_NEAR_WORDS + 1) <= _NEAR_WORDS else _NAMED


def _ordered(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """Start of the later and end of the earlier of two spans."""
    return max(one[0], other[0]), min(one[1], other[1])
