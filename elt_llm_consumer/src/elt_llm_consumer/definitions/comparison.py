"""Compare two definitions of a term: check whether they agree, and describe the differences."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.languages import load_language, word_pattern
from elt_llm_core.text.languages import words as language_words
from elt_llm_core.text.normalise import words
from elt_llm_core.text.stems import KeywordTokeniser, stopwords_of
from elt_llm_query.grounding.claims import ContradictionFinder
from elt_llm_query.grounding.grounding import GroundedSentence, ground_answer
from elt_llm_query.grounding.rules import find_numbers
from rapidfuzz import fuzz

from elt_llm_consumer.sentences.claims import check_word_overlap
from elt_llm_consumer.sentences.words import ARTICLES, word_list

_NEARLY_ALL = 0.8
_MIN_COPY_SHARE = 0.9
_MAX_REPLACED_WORDS = 4
_SAME_SPELLING = 90
"""Two words of at least this similarity, in percent, are two spellings of one word: "organisation", "organization"."""
_ALTERNATIVE = language_words("or")
_SMALL = stopwords_of("en") | stopwords_of("de")
_ANY = ARTICLES | word_list("any")
_ANYBODY = word_list("anybody")
_BROKEN_WORD = re.compile(r"(?<=\w)[-\u00ad]\s{1,4}(\w)")
_AMERICAN_ENDINGS = [entry.split(" -> ") for entry in load_language("en").words("american_endings")]
_SPELLINGS = [(re.compile(british, re.IGNORECASE), american) for british, american in _AMERICAN_ENDINGS]


class DefinitionComparer:
    """Compares two definitions by numbers, negations, names, words and meaning: does each support the other?"""

    def __init__(self, embedding: EmbeddingModel, tokeniser: KeywordTokeniser) -> None:
        self._embedding, self._tokeniser = embedding, tokeniser
        self._contraries = ContradictionFinder(tokeniser)

    def agree(self, one: str, other: str) -> bool:
        """Return whether two definitions agree: each supports the other. Raises ModelError if embedding fails.

        They also agree if the longer one supports the shorter one, contains nearly all of its words, and is not
        contradicted by it. They disagree if a few words of one are replaced by others ("per month", "per year"), or if
        one has an alternative more ("a building or land").
        """
        one, other = _one_spelling(one), _one_spelling(other)
        here, there = ([*map(_meaning, _bare_words(text))] for text in (one, other))
        if words(one) == words(other) or [*filter(None, here)] == [*filter(None, there)]:
            return True
        if self._replaces_words(here, there):
            return False
        shorter, longer = sorted((one, other), key=lambda text: (len(text), text))
        back = self._grounded(longer, shorter)
        # A number or a negation contradicts a sentence; missing words do not.
        contradicted = any(
            reason.startswith(("Denied", "Names or numbers have changed")) for one in back for reason in one.reasons
        )
        return _is_supported(self._grounded(shorter, longer)) and (
            _is_supported(back) or (self._share(shorter, longer) >= _NEARLY_ALL and not contradicted)
        )

    def supports(self, written: str, source: str) -> bool:
        """Return whether `source` supports everything in `written`. Raises ModelError if embedding fails."""
        return _is_supported(check_word_overlap(self._grounded(written, source), self._tokeniser))

    def is_copy(self, written: str, source: str) -> bool:
        """Return whether `written` contains nearly all words of `source` and hardly any other words.

        Words that a line break splits are joined first. "A person." is not a copy of "A person who keeps the books.",
        although the two definitions agree.
        """
        one, other = (_BROKEN_WORD.sub(r"\1", text) for text in (written, source))
        return self._share(other, one) >= _NEARLY_ALL and self._share(one, other) >= _MIN_COPY_SHARE

    def _replaces_words(self, one: Sequence[str], other: Sequence[str]) -> bool:
        left, right = ([" ".join(self._tokeniser.stems(word)) or word for word in side] for side in (one, other))
        for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
            if kind == "equal" or max(b - a, d - c) > _MAX_REPLACED_WORDS:
                continue
            ours, theirs = self._lacking(one[a:b], other), self._lacking(other[c:d], one)
            if ours and theirs and fuzz.ratio(ours, theirs) < _SAME_SPELLING:
                return True
            part = one[a:b] if ours else other[c:d]
            if bool(ours) != bool(theirs) and not _ALTERNATIVE.isdisjoint((part[0], part[-1])):
                return True
        return False

    def _lacking(self, part: Sequence[str], other: Sequence[str]) -> str:
        """Return the words of a part that the other text lacks, without spaces; stopwords and numbers do not count."""
        theirs = set(self._tokeniser.stems(" ".join(other)))
        own = (word for word in part if word not in _SMALL and not find_numbers(word))
        return "".join(word for word in own if not theirs.issuperset(self._tokeniser.stems(word)))

    def _grounded(self, claim: str, source: str) -> list[GroundedSentence]:
        chunks, known = [_chunk(_claim_text(source))], self._contraries
        grounded = ground_answer(_claim_text(claim), chunks, self._embedding, self._tokeniser, contraries=known)
        return [sentence for sentence in grounded.sentences if sentence.verdict != "no claim"]

    def _share(self, one: str, other: str) -> float:
        """Return the share, 0 to 1, of the word stems of text `one` that text `other` has; 0 if `one` has no stems."""
        ours, theirs = (frozenset(self._tokeniser.stems(text)) for text in (one, other))
        return len(ours & theirs) / len(ours) if ours else 0.0


def _one_spelling(text: str) -> str:
    """Return a text with American endings, and with the words joined that a line break splits."""
    text = _BROKEN_WORD.sub(r"\1", text)
    for british, american in _SPELLINGS:
        text = british.sub(american, text)
    return text


def _meaning(word: str) -> str:
    """Return a word in lower case; one word for all words for a person, and empty for articles and quantifiers."""
    low = word.casefold()
    return "" if low in _ANY else "person" if low in _ANYBODY else low


def _is_supported(sentences: list[GroundedSentence]) -> bool:
    return bool(sentences) and all(sentence.verdict == "supported" for sentence in sentences)


def _claim_text(text: str) -> str:
    return f"It is {text.strip().rstrip('.;,')}."


def _chunk(text: str) -> RetrievedChunk:
    return RetrievedChunk(
        node_id="definition",
        collection="",
        source_id="",
        source_title="",
        source="",
        document_hash="",
        text=text,
        context="",
        span=(0, len(text)),
        page=None,
        section=None,
        score=1.0,
    )


# ruff: noqa: RUF001 - look-alike quotes occur in documents.
_FIGURE: Final = re.compile(r"[\d.,]{1,20}%?")
_COMPOUND: Final = re.compile(r"[a-zäöü]{2,9}ty-[a-z]{3,5}\Z", re.IGNORECASE)
_DENIAL: Final = word_pattern(r"\b@denials@\b", re.IGNORECASE)
_EDGES: Final = ".,;:!?()\"'“”„‘’"
_MIN_ALIKE = 0.4  # texts that share fewer of their words than this are not compared word by word
_MAX_PARTS = 3
_MAX_PART_WORDS = 8  # maximum words of a differing part that is quoted
_NEAR = 1  # two differing parts are merged if at most this many equal words are between them
_MAX_PLACES = 3


@dataclass(frozen=True)
class DefinitionText:
    """The text of a definition, and the places where it occurs, such as "handbook.pdf, page 9"."""

    text: str
    places: tuple[str, ...]


def describe_difference(one: DefinitionText, other: DefinitionText) -> str:
    """Return a sentence with the words or numbers in which two definitions differ, and their places."""
    parts = _parts(one.text, other.text) or _numbers(one.text, other.text)
    here = _listed_places(one.places)
    if set(one.places) == set(other.places):
        has = "have" if len(set(one.places)) > 1 else "has"
        if parts is None:
            return f"{here} {has} two different definitions."
        listed = [*filter(None, map(_listed, parts))]
        if len(listed) == 1:  # a text with the words of one side only would not show the difference
            return f"{here} {has} a definition with {listed[0]} and another without."
        return f"{here} {has} {' and also '.join(listed)}."
    if parts is None:
        there = _listed_places([place for place in other.places if place not in one.places])
        return f"{' and '.join(filter(None, (here, there)))} have different definitions."
    sides = sorted([(one, _listed(parts[0])), (other, _listed(parts[1]))], key=lambda side: not side[1])
    # A place on both sides would seem to contradict itself, so the definitions are named.
    leads = ("", "") if set(one.places).isdisjoint(other.places) else ("One definition in ", "another in ")
    return f"{', '.join(_side(lead, *side) for lead, side in zip(leads, sides, strict=True))}."


def _side(lead: str, text: DefinitionText, part: str) -> str:
    singular = lead or len(set(text.places)) == 1
    verb = f"{'has' if singular else 'have'} {part}" if part else f"{'does' if singular else 'do'} not"
    return f"{lead}{_listed_places(text.places)} {verb}"


def _parts(one: str, other: str) -> tuple[list[str], list[str]] | None:
    """Return the parts of each text that differ from the other text; None if they differ too much to quote parts."""
    ours, theirs = _bare_words(one), _bare_words(other)
    left, right = ([word.casefold() for word in side] for side in (ours, theirs))
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < _MIN_ALIKE:
        return None
    blocks = _merged_blocks([code[1:] for code in matcher.get_opcodes() if code[0] != "equal"])
    longest = max((max(block[1] - block[0], block[3] - block[2]) for block in blocks), default=0)
    if not 0 < len(blocks) <= _MAX_PARTS or longest > _MAX_PART_WORDS:
        return None
    pairs = [(" ".join(ours[a:b]), " ".join(theirs[c:d])) for a, b, c, d in blocks]
    if any(find_numbers(here) and find_numbers(there) for here, there in pairs):
        pairs = [pair for pair in pairs if any(find_numbers(side) or _DENIAL.search(side) for side in pair)]
    return _distinct([here for here, _ in pairs]), _distinct([there for _, there in pairs])


def _merged_blocks(blocks: Sequence[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Merge neighbouring parts in which two texts differ, if at most one equal word is between them."""
    found: list[tuple[int, int, int, int]] = []
    for block in blocks:
        if found and block[0] - found[-1][1] <= _NEAR and block[2] - found[-1][3] <= _NEAR:
            found[-1] = (found[-1][0], block[1], found[-1][2], block[3])
        else:
            found.append(block)
    return found


def _numbers(one: str, other: str) -> tuple[list[str], list[str]] | None:
    """For each text, return the numbers that the other text lacks; None if there are no such numbers."""
    ours, theirs = find_numbers(one), find_numbers(other)
    left = [one[it.start : it.end] for it in ours if not it.weak and not any(it.agrees(two) for two in theirs)]
    right = [other[it.start : it.end] for it in theirs if not it.weak and not any(it.agrees(two) for two in ours)]
    return (_whole_numbers(one, left), _whole_numbers(other, right)) if left or right else None


def _whole_numbers(text: str, numbers: Sequence[str]) -> list[str]:
    """Return the numbers as the text writes them: "twenty-eight" if "twenty" and "eight" are parts of one word."""
    compounds = [word for word in _bare_words(text) if _COMPOUND.match(word)]
    return _distinct([next((word for word in compounds if number in word.split("-")), number) for number in numbers])


def _bare_words(text: str) -> list[str]:
    return [bare for word in text.split() if (bare := word.strip(_EDGES))]


def _distinct(phrases: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(phrase for phrase in phrases if phrase))


def _listed(phrases: Sequence[str]) -> str:
    quoted = [phrase if _FIGURE.fullmatch(phrase) else f'"{phrase}"' for phrase in phrases]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), *quoted[-1:])))


def _listed_places(places: Sequence[str]) -> str:
    named = list(dict.fromkeys(places))
    more = [f"{len(named) - _MAX_PLACES} more"] if len(named) > _MAX_PLACES else []
    named = [*named[:_MAX_PLACES], *more]
    return " and ".join(filter(None, ("; ".join(named[:-1]), *named[-1:])))
