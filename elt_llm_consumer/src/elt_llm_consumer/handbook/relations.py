"""Who is related to what, as sentences of the handbook say it: source, verb and target, all places together."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from elt_llm_consumer.handbook.candidates import Candidate, Found
from elt_llm_consumer.handbook.clauses import Clause, Modality
from elt_llm_consumer.handbook.grammar import QUANTIFIERS
from elt_llm_consumer.handbook.kinds import Kinds
from elt_llm_consumer.handbook.phrases import Phrase
from elt_llm_consumer.handbook.reading import Sentence
from elt_llm_consumer.handbook.targets import Target
from elt_llm_consumer.handbook.verbs import Verbs
from elt_llm_consumer.rows import Evidence

IS_A, KIND_OF, OF, HAVE = "is a", "is a kind of", "of", "have"
_BEHIND_OBJECT = frozenset({"to", "from", "with", "on", "against", "in", "by", "mit", "von", "an", "bei", "vor"})
_BEHIND_VERB = _BEHIND_OBJECT | {"for", "under", "through", "into", "über", "für"}
_SAID, _AGAIN, _LOOSE = 0.9, 0.7, 0.75
_NOT_COUNTED = frozenset({"no", "another", "some", "few", "both", "either", "neither"})
_EMPTY = frozenset({"include", "mean", "refer", "say", "show", "see", "need", "want"})
"""Verbs that tell what words mean, or nothing that lasts."""


@dataclass(frozen=True)
class Told:
    """One sentence that says a relationship. `modality` is empty where none is told; `count` is how many targets."""

    source: Candidate
    verb: str
    target: Candidate
    modality: Modality | None
    count: str
    evidence: Evidence
    score: float
    again: bool = False
    """Whether the sentence says "it" or "they", and the one before who that is."""


@dataclass
class Relation:
    """A relationship with every sentence that says it, each once."""

    source: Candidate
    verb: str
    target: Candidate
    told: list[Told] = field(default_factory=list)

    @property
    def key(self) -> str:
        """What it is called by in every run."""
        return f"{self.source.key}/{self.verb.replace(' ', '-')}/{self.target.key}"


class Relations:
    """Finds the relationships between candidates."""

    def __init__(self, found: Found, kinds: Kinds) -> None:
        self._found, self._kinds = found, kinds
        self._verbs = Verbs()

    def find(self, sentences: Iterable[Sentence]) -> list[Relation]:
        """The relationships in order of source, verb and target."""
        relations: dict[str, Relation] = {}
        for told in (*self._defined(), *(one for sentence in sentences for one in self._said(sentence))):
            if told.source.key == told.target.key:
                continue
            fresh = Relation(told.source, told.verb, told.target)
            relation = relations.setdefault(fresh.key, fresh)
            if all(one.evidence.quote != told.evidence.quote for one in relation.told):
                relation.told.append(told)
        return sorted(
            relations.values(), key=lambda one: (one.source.name.casefold(), one.verb, one.target.name, one.key)
        )

    def _defined(self) -> Iterator[Told]:
        for candidate in self._found.candidates:
            near = self._kinds.genus(candidate)
            if near is not None:
                evidence = near[0].definition.evidence
                yield Told(candidate, KIND_OF, near[1], None, "", evidence, evidence.score)

    def _said(self, sentence: Sentence) -> Iterator[Told]:
        for clause in sentence.clauses:
            yield from self._of_clause(sentence, clause)
        yield from self._of_phrases(sentence)

    def _of_clause(self, sentence: Sentence, clause: Clause) -> Iterator[Told]:
        subjects = sentence.subjects_of(clause)
        sources = [one for one in map(self._found.of, subjects) if one is not None]
        modality = _denied(clause.modality) if any(one.count == "no" for one in subjects) else clause.modality
        score = _AGAIN if clause.again else _SAID
        evidence = sentence.with_before(score) if clause.again else sentence.evidence(score)
        for verb, target, turned in _named(clause):
            other = self._found.of(target.phrase)
            if other is None:
                continue
            for one in sources:
                source, to = (other, one) if turned else (one, other)
                count = "" if turned else _count(target.phrase)
                yield Told(source, verb, to, modality, count, evidence, score, clause.again)

    def _of_phrases(self, sentence: Sentence) -> Iterator[Told]:
        """Such as "chair of each committee", "the club's secretary", "person appointed by the Board"."""
        words, evidence = sentence.words, sentence.evidence(_LOOSE)
        for phrase, following in zip_longest(sentence.phrases, sentence.phrases[1:]):
            own = self._found.of(phrase)
            if own is None:
                continue
            if phrase.owner is not None and (owner := self._found.of(phrase.owner)) is not None:
                yield Told(own, OF, owner, None, "", evidence, _LOOSE)
            if following is None or (other := self._found.of(following)) is None:
                continue
            between = [word.low for word in words[phrase.last : following.first]]
            if any(word.stop for word in words[phrase.last : following.last]):
                continue
            if between == ["of"] and following.owner is None:
                yield Told(own, OF, other, None, _count(following), evidence, _LOOSE)
            elif len(between) == len(("appointed", "by")) and between[1] == "by":
                verb = self._verbs.base(between[0], "participle")
                if verb:
                    yield Told(other, verb, own, None, "", evidence, _LOOSE)


def _named(clause: Clause) -> Iterator[tuple[str, Target, bool]]:
    """The verb as it is written between two names, the target, and whether the target is who acts."""
    direct, behind = False, 0
    if clause.verb in _EMPTY and not clause.passive:
        return
    for number, target in enumerate(clause.targets):
        behind += target.by != ""
        if target.by == "":
            direct = True
            if not clause.passive:
                yield from _objects(clause, number)
        elif target.by == "by" and clause.passive:
            yield clause.verb, target, True
        elif (
            clause.verb not in {"be", HAVE}
            and behind == 1
            and target.by in (_BEHIND_OBJECT if direct else _BEHIND_VERB)
        ):
            yield (
                (f"be {Verbs.participle(clause.verb)}" if clause.passive else clause.verb) + f" {target.by}",
                target,
                False,
            )


def _objects(clause: Clause, number: int) -> Iterator[tuple[str, Target, bool]]:
    target = clause.targets[number]
    if clause.verb != "be":
        yield clause.verb, target, False
        return
    if target.phrase.determined and not target.phrase.count:
        yield IS_A, target, False
    following = clause.targets[number + 1] if number + 1 < len(clause.targets) else None
    if following is not None and following.by == "of":
        yield f"is {target.phrase.written} of", following, False


def _denied(modality: Modality) -> Modality:
    """The modality behind "no": "No club may" is "a club may not"."""
    denied: dict[Modality, Modality] = {
        "may": "may not",
        "must": "must not",
        "should": "should not",
        "does": "does not",
    }
    return denied.get(modality, modality)


def _count(phrase: Phrase) -> str:
    """How many, as far as it is said: "each", "one or more", "nine"."""
    return "" if phrase.count in _NOT_COUNTED or not _is_quantity(phrase.count) else phrase.count


def _is_quantity(count: str) -> bool:
    return bool(count) and any(
        part in QUANTIFIERS or part.isdigit() or part in {"least", "most"} for part in count.split()
    )
