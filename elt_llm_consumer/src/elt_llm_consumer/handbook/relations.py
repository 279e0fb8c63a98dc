"""Find relationships between candidate entities, and duties of roles, with the sentences that state them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest

from elt_llm_core.text.languages import alternatives
from elt_llm_core.text.languages import words as language_words

from elt_llm_consumer.evidence import Evidence
from elt_llm_consumer.handbook.candidates import CandidateIndex, EntityCandidate
from elt_llm_consumer.handbook.kinds import KindClassifier
from elt_llm_consumer.handbook.reading import ParsedSentence
from elt_llm_consumer.sentences.reader import Modality, NounPhrase, SentenceClause, VerbTarget
from elt_llm_consumer.sentences.words import QUANTIFIERS, SentenceWord, listed_verbs, past_participle, sentence_words

IS_A, KIND_OF, OF, HAVE = "is a", "is a kind of", "of", "have"
_AFTER_OBJECT = language_words("after_object")
_AFTER_VERB = _AFTER_OBJECT | language_words("after_verb")
_CLAUSE_SCORE, _PRONOUN_SCORE, _PHRASE_SCORE = 0.9, 0.7, 0.75
_NEGATORS = language_words("negators")
_NOT_COUNTED = _NEGATORS | {"another", "some", "few", "both", "either"}
# Verbs that explain words, or do not state a permanent relationship.
_EMPTY = frozenset({"mean", "see", "need", "want"})
_EMPTY_UNLESS_RULE = _EMPTY | {"include", "refer", "say", "show"}
_NEGATED: Mapping[Modality, Modality] = {
    "may": "may not",
    "must": "must not",
    "should": "should not",
    "will": "will not",
    "does": "does not",
}


@dataclass(frozen=True)
class RelationStatement:
    """A sentence that states a relationship. `count` is the stated number of targets, such as "each", or empty."""

    source: EntityCandidate
    verb: str
    target: EntityCandidate
    modality: Modality | None
    count: str
    evidence: Evidence
    score: float
    again: bool = False
    """Whether the source is only called "it" or "they" here, so that the previous sentence must give its name."""

    @property
    def key(self) -> str:
        """The key of the relationship, which all sentences that state it share, and which is the same in every run."""
        return f"{self.source.key}/{self.verb.replace(' ', '-')}/{self.target.key}"


class RelationFinder:
    """Finds the relationships between candidate entities in the sentences of a handbook."""

    def __init__(self, index: CandidateIndex, kinds: KindClassifier) -> None:
        self._index, self._kinds = index, kinds

    def find(self, sentences: Iterable[ParsedSentence]) -> list[list[RelationStatement]]:
        """Return the relationships, each as its distinct statements, sorted by source, verb and target."""
        relations: dict[str, list[RelationStatement]] = {}
        stated = (
            one
            for sentence in sentences
            for found in (
                *(self._in_clause(sentence, clause) for clause in sentence.clauses),
                self._in_phrases(sentence),
            )
            for one in found
        )
        for statement in (*self._in_definitions(), *stated):
            if statement.source.key == statement.target.key:
                continue
            known = relations.setdefault(statement.key, [])
            if all(one.evidence.quote != statement.evidence.quote for one in known):
                known.append(statement)

        def rank(statements: list[RelationStatement]) -> tuple[str, str, str, str]:
            one = statements[0]
            return one.source.name.casefold(), one.verb, one.target.name, one.key

        return sorted(relations.values(), key=rank)

    def _in_definitions(self) -> Iterator[RelationStatement]:
        for candidate in self._index.candidates:
            if (genus := self._kinds.genus(candidate)) is not None:
                evidence = genus[0].definition.evidence
                yield RelationStatement(candidate, KIND_OF, genus[1], None, "", evidence, evidence.score)

    def _in_clause(self, sentence: ParsedSentence, clause: SentenceClause) -> Iterator[RelationStatement]:
        if clause.conditional:
            return
        subjects = sentence.subjects_of(clause)
        sources = [one for one in map(self._index.of, subjects) if one is not None]
        negative = any(one.count in _NEGATORS for one in subjects)  # "No club may" means "a club may not"
        score = _PRONOUN_SCORE if clause.again else _CLAUSE_SCORE
        evidence = sentence.with_before(score) if clause.again else sentence.evidence(score)
        for verb, target, inverted in _verbs_and_targets(clause):
            other = self._index.of(target.phrase)
            if other is None:
                continue
            modality = clause.modality
            if negative or _is_negated(target, clause, sentence.words):
                modality = _NEGATED.get(modality, modality)
            for one in sources:
                source, to = (other, one) if inverted else (one, other)
                count = "" if inverted else _target_count(target.phrase)
                yield RelationStatement(source, verb, to, modality, count, evidence, score, clause.again)

    def _in_phrases(self, sentence: ParsedSentence) -> Iterator[RelationStatement]:
        """Yield relationships that noun phrases state, such as "chair of each committee" or "the club's secretary"."""

        def statement(
            source: EntityCandidate, verb: str, target: EntityCandidate, count: str = ""
        ) -> RelationStatement:
            return RelationStatement(source, verb, target, None, count, evidence, _PHRASE_SCORE)

        words, evidence = sentence.words, sentence.evidence(_PHRASE_SCORE)
        for phrase, following in zip_longest(sentence.phrases, sentence.phrases[1:]):
            own = self._index.of(phrase)
            if own is None:
                continue
            if phrase.owner is not None and (owner := self._index.of(phrase.owner)) is not None:
                yield statement(own, OF, owner)
            if following is None or (other := self._index.of(following)) is None:
                continue
            between = [word.low for word in words[phrase.last : following.first]]
            if following.count in _NEGATORS or any(word.separator for word in words[phrase.last : following.last]):
                continue
            if between == ["of"] and following.owner is None:
                yield statement(own, OF, other, _target_count(following))
            elif between[1:] == ["by"] and (verb := listed_verbs().base(between[0], "participle")):
                yield statement(other, verb, own)


def _verbs_and_targets(clause: SentenceClause) -> Iterator[tuple[str, VerbTarget, bool]]:
    """Yield each target of a clause with its verb ("report to"), and whether the target acts ("kept by the Clerk")."""
    direct, after_prepositions = False, 0
    empty = _EMPTY_UNLESS_RULE if clause.modality in {"does", "does not", "will"} else _EMPTY
    if clause.verb in empty and not clause.passive:
        return
    for number, target in enumerate(clause.targets):
        after_prepositions += target.by != ""
        if target.by == "":
            direct = True
            if not clause.passive:
                yield from _objects(clause, number)
        elif target.by == "by" and clause.passive:
            yield clause.verb, target, True
        elif (
            clause.verb not in {"be", HAVE}
            and after_prepositions == 1
            and target.by in (_AFTER_OBJECT if direct else _AFTER_VERB)
        ):
            verb = f"be {past_participle(clause.verb)}" if clause.passive else clause.verb
            yield f"{verb} {target.by}", target, False


def _objects(clause: SentenceClause, number: int) -> Iterator[tuple[str, VerbTarget, bool]]:
    target = clause.targets[number]
    if clause.verb != "be":
        yield clause.verb, target, False
        return
    if target.phrase.determined and not target.phrase.count:
        yield IS_A, target, False
    following = clause.targets[number + 1] if number + 1 < len(clause.targets) else None
    if following is not None and following.by == "of":
        yield f"is {target.phrase.written} of", following, False


def _is_negated(target: VerbTarget, clause: SentenceClause, words: Sequence[SentenceWord]) -> bool:
    """Return whether "no" denies a target, itself or in an object before it: "gives no Notice to the Board"."""
    own = target.phrase
    if own.count in _NEGATORS:
        return True
    after_no = any(one.phrase.count in _NEGATORS and one.phrase.first < own.first for one in clause.targets)
    return after_no and (target.by != "" or not own.determined or words[own.first - 1].low == "nor")


def _target_count(phrase: NounPhrase) -> str:
    """Return the quantity of a phrase, such as "each", "one or more" or "nine"; empty if it has none."""
    parts = phrase.count.split() if phrase.count not in _NOT_COUNTED else ()
    is_quantity = any(part in QUANTIFIERS or part.isdigit() or part in {"least", "most"} for part in parts)
    return phrase.count if is_quantity else ""


_CLAUSE_DUTY_SCORE, _LISTED_DUTY_SCORE, _PRONOUN_DUTY_SCORE = 0.95, 0.9, 0.75
_MAX_ITEMS = 30
_STATES = frozenset({"be", "have", "become", "include", "consist"})


class DutyFinder:
    """Finds the duties of candidate entities: sentences in which they act, and lists under "The duties of X are:"."""

    def __init__(self, index: CandidateIndex, duty_words: Sequence[str]) -> None:
        """`duty_words` introduce a list of duties, such as "duties" in "The duties of the Board are:"."""
        self._index = index
        self._headed = re.compile(
            rf"\b(?:{alternatives(duty_words)})"
            r"\s(?:and\s\w{1,20}\s)?(?:of|der|des)\s(?:(?:the|an?|each|every)\s)?(?P<whose>[^:.;,]{2,80})",
            re.IGNORECASE,
        )

    def find(self, sentences: Sequence[ParsedSentence]) -> Mapping[str, Mapping[str, Evidence]]:
        """Return the duties and powers of each candidate entity, by its key, in the order of the texts.

        A duty is a statement of what a role or organisation must or may do; each is mapped to its evidence.
        """
        found: dict[str, dict[str, Evidence]] = {}
        for number, sentence in enumerate(sentences):
            for candidate, score in self._acting(sentence):
                for text, evidence in _duties(sentence, sentences[number + 1 : number + 1 + _MAX_ITEMS], score):
                    found.setdefault(candidate.key, {}).setdefault(text, evidence)
        return found

    def _acting(self, sentence: ParsedSentence) -> Iterable[tuple[EntityCandidate, float]]:
        """Return each candidate entity whose duty a sentence states, with a score.

        These are the subjects of the sentence, and the entity whose duties the sentence or its heading announces.
        """
        announcement = sentence.text if sentence.text.endswith(":") else sentence.section.rsplit(" > ", 1)[-1]
        headed = self._whose(announcement)
        by_key: dict[str, tuple[EntityCandidate, float]] = {headed.key: (headed, _LISTED_DUTY_SCORE)} if headed else {}
        for clause in sentence.clauses:
            if clause.passive or (clause.verb in _STATES and clause.modality in {"does", "does not"}):
                continue
            score = _PRONOUN_DUTY_SCORE if clause.again else _CLAUSE_DUTY_SCORE
            for subject in sentence.subjects_of(clause):
                candidate = self._index.of(subject)
                if candidate is not None and subject.count not in _NEGATORS:
                    by_key.setdefault(candidate.key, (candidate, score))
        return by_key.values()

    def _whose(self, text: str) -> EntityCandidate | None:
        match = self._headed.search(text)
        if match is None:
            return None
        words = [word.written for word in sentence_words(match["whose"])]
        longest_first = (self._index.exactly(" ".join(words[:number])) for number in range(len(words), 0, -1))
        return next((one for one in longest_first if one is not None), None)


def _duties(sentence: ParsedSentence, following: Sequence[ParsedSentence], score: float) -> list[tuple[str, Evidence]]:
    """Return one duty for each list item below a sentence that ends in a colon; otherwise one duty for the sentence."""
    items = list(takewhile(lambda one: one.item and one.document is sentence.document, following))
    if items and sentence.text.endswith(":"):
        return [(f"{sentence.text} {item.text}", item.evidence(score)) for item in items]
    if score == _PRONOUN_DUTY_SCORE and sentence.before is not None:
        text = " ".join(sentence.document.text[sentence.before.start : sentence.end].split())
        return [(text, sentence.with_before(score))]
    return [(sentence.text, sentence.evidence(score))]
