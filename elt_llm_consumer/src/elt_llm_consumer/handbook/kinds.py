"""What kind of thing a candidate is: by its definition, by the last word of its name, or by what it does."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.handbook.candidates import Candidate, Found
from elt_llm_consumer.handbook.kind_words import KindWords
from elt_llm_consumer.handbook.phrases import Phrase, Phrases
from elt_llm_consumer.handbook.reading import Sentence
from elt_llm_consumer.handbook.tokens import words_of
from elt_llm_consumer.handbook.verbs import Verbs
from elt_llm_consumer.name_words import word_key
from elt_llm_consumer.rows import Cell, Evidence, absent, found
from elt_llm_consumer.sections.handbook import Kind

_BY_DEFINITION, _BY_GENUS, _BY_NAME, _BY_ONE_WORD, _BY_ACTING = 0.95, 0.85, 0.75, 0.65, 0.5
_LEAST_ACTS = 2
_SHARE_OF_ACTS = 0.3
_LEADS = ("means", "refers to", "is", "are", "denotes", "includes", "describes", "the term", "bedeutet", "bezeichnet")
# What only people, and bodies of people, do.
_PERSONAL = frozenset(
    {
        *(
            "decide",
            "appoint",
            "approve",
            "agree",
            "ask",
            "apply",
            "notify",
            "sign",
            "pay",
            "refuse",
            "inform",
            "elect",
        ),
        *("consider", "hear", "delegate", "employ", "report", "choose", "invite", "write", "attend", "vote", "advise"),
        *(
            "consult",
            "inspect",
            "investigate",
            "award",
            "impose",
            "submit",
            "propose",
            "tell",
            "send",
            "publish",
            "say",
        ),
        *(
            "play",
            "coach",
            "complain",
            "object",
            "believe",
            "know",
            "want",
            "wish",
            "think",
            "negotiate",
            "meet",
            "owe",
        ),
        *("leave", "hand", "teach", "train", "wear", "challenge", "claim", "bet", "sell", "buy", "abandon", "examine"),
        *(
            "treat",
            "supervise",
            "assist",
            "collect",
            "learn",
            "read",
            "hire",
            "borrow",
            "lend",
            "rely",
            "try",
            "discuss",
        ),
        *("recommend", "dismiss", "resign", "withdraw", "appeal", "volunteer", "nominate", "undertake", "instruct"),
    }
)
_OF = "of"
_PARTS = frozenset({"kind", "type", "form", "sort", "set", "group", "collection", "series"})


@dataclass(frozen=True)
class Genus:
    """What a definition says that its term is: "person", where it says "The person who keeps ..."."""

    definition: Definition
    words: str
    first: str
    """The first word of the definition, such as "anyone"."""
    many: bool = False
    """Whether it says so of more than one: "The directors who ..."."""


class Kinds:
    """Tells the kinds of all candidates."""

    def __init__(
        self, found: Found, kinds: Mapping[Kind, Iterable[str]], acts: Mapping[str, Sequence[Sentence]]
    ) -> None:
        """`acts` are, by key of a candidate, the sentences in which it does what only people do."""
        self._found, self._words, self._acts = found, KindWords(kinds), acts

    def cell(self, candidate: Candidate) -> Cell:
        """The kind with its reason: found if the definition says it, inferred from name or acts, else absent."""
        return (
            self._by_definition(candidate)
            or self._by_name(candidate)
            or self._by_acts(candidate)
            or absent("Neither a definition, nor its name, nor what it does tells its kind.", confidence=0.5)
        )

    def genus(self, candidate: Candidate) -> tuple[Genus, Candidate] | None:
        """What a definition calls it that is itself a candidate: its kind of thing."""
        for one in genera(candidate):
            other = self._found.exactly(one.words) or self._ending(one.words)
            if other is not None and other.key != candidate.key:
                return one, other
        return None

    def _ending(self, words: str) -> Candidate | None:
        parts = words.split()
        ends = (self._found.exactly(" ".join(parts[number:])) for number in range(1, len(parts)))
        return next((one for one in ends if one is not None), None)

    def _by_definition(self, candidate: Candidate) -> Cell | None:
        for one in genera(candidate):
            told = self._words.of(one.words) or self._words.of(one.first)
            if told is not None:
                if one.many and told[0] == "role":
                    told = "organisation", told[1]
                note = f"Its definition calls it '{told[1]}'."
                return found(told[0], [one.definition.evidence], confidence=_BY_DEFINITION, note=note)
        near = self.genus(candidate)
        told = self._plain(near[1]) if near else None
        if near is None or told is None:
            return None
        note = f"Its definition calls it a kind of {near[1].name}."
        if near[0].many and told[0] == "role":
            note, told = f"Its definition calls it several of {near[1].name}.", ("organisation", told[1])
        return found(told[0], [near[0].definition.evidence], confidence=_BY_GENUS, note=note)

    def _plain(self, candidate: Candidate) -> tuple[Kind, str] | None:
        """The kind of another thing by the words of its definition or of its name."""
        named = (self._words.of(one.words) or self._words.of(one.first) for one in genera(candidate))
        return next(filter(None, named), None) or self._words.of(candidate.name)

    def _by_name(self, candidate: Candidate) -> Cell | None:
        told = self._words.of(candidate.name)
        ending = self._ending(candidate.name) if told is None else None
        if ending is not None and (kind := self._plain(ending)) is not None:
            told = kind[0], ending.name
        if told is None:
            return None
        sure = _BY_NAME if len(candidate.name.split()) > 1 else _BY_ONE_WORD
        evidence = [one.evidence for one in candidate.definitions[:1]]
        return _inferred(told[0], sure, evidence, f"Its name ends in '{told[1]}'.")

    def _by_acts(self, candidate: Candidate) -> Cell | None:
        acts = self._acts.get(candidate.key, ())
        if len(acts) < max(_LEAST_ACTS, _SHARE_OF_ACTS * candidate.acting) or candidate.acting <= candidate.acted_on:
            return None
        note = f"It does what people do, in {len(acts)} sentences."
        return _inferred("role", _BY_ACTING, [one.evidence(_BY_ACTING) for one in acts[:_LEAST_ACTS]], note)


def genera(candidate: Candidate) -> list[Genus]:
    """What each of its definitions says that it is; those that only point elsewhere say nothing."""
    found: list[Genus] = []
    for one in candidate.definitions:
        if one.refers_to or one.pattern == "abbreviation":
            continue
        phrase = _first_phrase(one.text)
        if phrase is not None and phrase[0].count in {"", "any", "each", "every", "all", "one"}:
            many = phrase[0].head.endswith("s") and word_key(phrase[0].head) != phrase[0].head
            found.append(Genus(one, phrase[0].written, phrase[1], many))
    return found


def personal_acts(found: Found, sentences: Iterable[Sentence]) -> dict[str, list[Sentence]]:
    """By key of a candidate the different sentences in which it does what only people do."""
    acts: dict[str, list[Sentence]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for sentence in sentences:
        for clause in sentence.clauses:
            if clause.passive or clause.verb not in _PERSONAL:
                continue
            for candidate in filter(None, map(found.of, sentence.subjects_of(clause))):
                seen[candidate.key, sentence.text] += 1
                if seen[candidate.key, sentence.text] == 1:
                    acts.setdefault(candidate.key, []).append(sentence)
    return acts


def _first_phrase(text: str) -> tuple[Phrase, str] | None:
    folded = text.casefold()
    lead = next((it for it in _LEADS if folded.startswith(it + " ")), "")
    words = words_of(text, len(lead))
    if not words:
        return None
    phrases = Phrases(Verbs())
    place = 1 if words[0].low in {"any", "anyone", "someone", "everyone"} and len(words) > 1 else 0
    phrase = phrases.read(words, 0) or phrases.read(words, place)
    if phrase is None:
        return None
    if phrase.head in _PARTS and phrase.last + 1 < len(words) and words[phrase.last].low == _OF:
        phrase = phrases.read(words, phrase.last + 1) or phrase
    return phrase, words[0].low


def _inferred(kind: Kind, confidence: float, evidence: Sequence[Evidence], note: str) -> Cell:
    return Cell(value=kind, verdict="inferred", evidence=tuple(evidence), confidence=confidence, note=note)
