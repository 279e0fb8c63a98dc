"""Find the kind of a candidate entity, such as role or document, from its definition, its name, or its actions."""
# ruff: noqa: SIM905 - word lists are easier to read as text.

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.evidence import Cell, absent_cell, found_cell, inferred_cell
from elt_llm_consumer.handbook.candidates import PERSONAL_VERBS, CandidateIndex, EntityCandidate, KindWords
from elt_llm_consumer.handbook.reading import ParsedSentence
from elt_llm_consumer.jobs.sections import EntityKind
from elt_llm_consumer.names.names import word_key
from elt_llm_consumer.sentences.reader import NounPhrase, SentenceReader
from elt_llm_consumer.sentences.words import BE, DETERMINERS, MODALS, SentenceWord, listed_verbs, sentence_words

_BY_DEFINITION, _BY_GENUS, _BY_NAME, _BY_ONE_WORD, _BY_ACTING = 0.95, 0.85, 0.75, 0.65, 0.5
_MIN_ACTS = 2
_SHARE_OF_ACTS = 0.3
_LEADS = ("means", "refers to", "is", "are", "denotes", "includes", "describes", "the term", "bedeutet", "bezeichnet")
_PARTS = frozenset("kind type form sort set group collection series".split())
_MATTER = frozenset("data information knowledge law text evidence rules".split())
"""What a "body" consists of that is not a body of people."""
_FINITE = BE | MODALS


@dataclass(frozen=True)
class Genus:
    """The genus of a definition: its general noun, such as "person" in "The person who keeps ..."."""

    definition: Definition
    words: str
    first: str
    """The first word of the definition, such as "anyone"."""
    many: bool = False
    """Whether the definition names several things: "The directors who ..."."""


class KindClassifier:
    """Determines the kind of each candidate entity, such as role or document."""

    def __init__(
        self,
        index: CandidateIndex,
        kinds: Mapping[EntityKind, Iterable[str]],
        acts: Mapping[str, Sequence[ParsedSentence]],
    ) -> None:
        """`acts` lists, by entity key, sentences in which the entity does what only people do: decide, pay."""
        self._index, self._words, self._acts = index, KindWords(kinds), acts

    def cell(self, candidate: EntityCandidate) -> Cell:
        """Return a cell with the kind of a candidate entity, such as role or document.

        Its verdict is `found` if a definition shows the kind, `inferred` if only the name or the actions show it, and
        `absent` otherwise.
        """
        return (
            self._by_definition(candidate)
            or self._by_name(candidate)
            or self._by_acts(candidate)
            or absent_cell("No definition, name or action of the candidate shows its kind.", confidence=0.5)
        )

    def genus(self, candidate: EntityCandidate) -> tuple[Genus, EntityCandidate] | None:
        """Return the first general noun of the definitions that names another entity ("officer"), and that entity."""
        for genus in _definition_genera(candidate):
            other = self._index.exactly(genus.words) or self._by_ending(genus.words)
            if other is not None and other.key != candidate.key:
                return genus, other
        return None

    def _by_ending(self, words: str) -> EntityCandidate | None:
        parts = words.split()
        endings = (self._index.exactly(" ".join(parts[number:])) for number in range(1, len(parts)))
        return next((one for one in endings if one is not None), None)

    def _by_definition(self, candidate: EntityCandidate) -> Cell | None:
        for genus in _definition_genera(candidate):
            if (match := self._kind_of(genus)) is not None:
                kind = "organisation" if genus.many and match[0] == "role" else match[0]
                note = f"The definition calls the candidate '{match[1]}'."
                return found_cell(kind, [genus.definition.evidence], confidence=_BY_DEFINITION, note=note)
        near = self.genus(candidate)
        match = self._plain_kind(near[1]) if near else None
        if near is None or match is None:
            return None
        kind, relation = match[0], "a kind of"
        if near[0].many and kind == "role":
            kind, relation = "organisation", "several of"
        note = f"The definition calls the candidate {relation} {near[1].name}."
        return found_cell(kind, [near[0].definition.evidence], confidence=_BY_GENUS, note=note)

    def _kind_of(self, genus: Genus) -> tuple[EntityKind, str] | None:
        return self._words.of(genus.words) or self._words.of(genus.first)

    def _plain_kind(self, candidate: EntityCandidate) -> tuple[EntityKind, str] | None:
        """Return the kind that the words of an entity's definitions or name show, and these words; None without any."""
        matches = map(self._kind_of, _definition_genera(candidate))
        return next(filter(None, matches), None) or self._words.of(candidate.name)

    def _by_name(self, candidate: EntityCandidate) -> Cell | None:
        match = self._words.of(candidate.name)
        ending = self._by_ending(candidate.name) if match is None else None
        if ending is not None and (kind := self._plain_kind(ending)) is not None:
            match = kind[0], ending.name
        if match is None:
            return None
        confidence = _BY_NAME if len(candidate.name.split()) > 1 else _BY_ONE_WORD
        evidence = [one.evidence for one in candidate.definitions[:1]]
        return inferred_cell(match[0], f"The candidate's name ends in '{match[1]}'.", evidence, confidence=confidence)

    def _by_acts(self, candidate: EntityCandidate) -> Cell | None:
        acts = self._acts.get(candidate.key, ())
        if len(acts) < max(_MIN_ACTS, _SHARE_OF_ACTS * candidate.acting) or candidate.acting <= candidate.acted_on:
            return None
        note = f"In {len(acts)} sentences, the candidate does what only people do."
        places = [one.evidence(_BY_ACTING) for one in acts[:_MIN_ACTS]]
        return inferred_cell("role", note, places, confidence=_BY_ACTING)


def personal_acts(index: CandidateIndex, sentences: Iterable[ParsedSentence]) -> dict[str, list[ParsedSentence]]:
    """Return distinct sentences in which candidate entities do what only people do (decide, pay), by entity key."""
    acts: dict[str, dict[str, ParsedSentence]] = {}
    for sentence in sentences:
        for clause in sentence.clauses:
            if clause.passive or clause.verb not in PERSONAL_VERBS:
                continue
            for candidate in filter(None, map(index.of, sentence.subjects_of(clause))):
                acts.setdefault(candidate.key, {}).setdefault(sentence.text, sentence)
    return {key: list(by_text.values()) for key, by_text in acts.items()}


def _definition_genera(candidate: EntityCandidate) -> Iterator[Genus]:
    """Yield the genus (general noun) of each definition of an entity that gives a meaning: "person", "document"."""
    for one in candidate.definitions:
        if one.refers_to or one.pattern == "abbreviation":
            continue
        first = _first_phrase(one.text)
        if first is not None and first[0].count in {"", "any", "each", "every", "all", "one"}:
            phrase, first_word = first
            many = phrase.head.endswith("s") and word_key(phrase.head) != phrase.head
            yield Genus(one, phrase.written, first_word, many)


def _first_phrase(text: str) -> tuple[NounPhrase, str] | None:
    folded = text.casefold()
    lead = next((it for it in _LEADS if folded.startswith(it + " ")), "")
    words = sentence_words(text, len(lead))
    if not words or _starts_with_verb(words):
        return None
    reader = SentenceReader(listed_verbs())
    at = 1 if words[0].low in {"any", "anyone", "someone", "everyone"} and len(words) > 1 else 0
    phrase = reader.phrase(words, 0) or reader.phrase(words, at)
    following = words[phrase.last] if phrase is not None and phrase.last < len(words) else None
    if phrase is None or (following is not None and following.low in _FINITE and not following.separator):
        return None  # "Records are returned ..." is a sentence and names no genus
    if following is not None and following.low == "of" and phrase.last + 1 < len(words):
        part = reader.phrase(words, phrase.last + 1)
        inner = part is not None and phrase.head == "body" and part.head in _MATTER
        phrase = part if part is not None and (inner or phrase.head in _PARTS) else phrase
    return phrase, words[0].low


def _starts_with_verb(words: Sequence[SentenceWord]) -> bool:
    """Return whether a text starts with a verb in the third person, as in "Matches no hosts"."""
    following = words[1] if len(words) > 1 and not words[1].separator else None
    return following is not None and following.low in DETERMINERS and words[0].low.endswith("s")
