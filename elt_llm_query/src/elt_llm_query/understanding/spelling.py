"""Correct mistyped words to words that occur in the collections.

A word that occurs in no collection is replaced if exactly one likely word from them is one or two edits away. An edit
omits, adds or replaces a letter, or swaps two neighbouring letters. Source: Damerau, "A technique for computer
detection and correction of spelling errors", CACM 1964.
"""

import re
import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from threading import Lock

from elt_llm_core.index.searchable import AllowedChunks, Searchable
from elt_llm_core.text.normalise import lower, split_words
from rapidfuzz import process
from rapidfuzz.distance import OSA, Levenshtein

from elt_llm_query.understanding.question import ASKING_WORDS

# Language codes of simplemma that differ from the codes of this project.
_CODES = {"no": "nb", "sr": "hbs"}
SHORTEST_PART = 4  # letters of a part of a compound
_JOINTS = ("", "s", "es", "n", "en")
_LOADING = Lock()
_JOINING = frozenset({"da", "de", "fi", "hu", "nl", "no", "sv"})  # languages that write compounds as one word


def is_known(word: str, languages: Iterable[str]) -> bool:
    """Return whether a dictionary contains the word in any capitalisation, or both parts of a compound word."""
    return in_dictionary(word, languages) or any(
        _is_compound(_dictionary(language), word) for language in _JOINING.intersection(languages)
    )


def in_dictionary(word: str, languages: Iterable[str]) -> bool:
    """Return whether the dictionary of one of the languages contains the word in any capitalisation."""
    return any(_has_form(_dictionary(language), word) for language in languages)


def _dictionary(language: str) -> Mapping[str, str]:
    with _LOADING:  # the cache alone would let several threads load the same dictionary
        return _load_dictionary(language)


@cache
def _load_dictionary(language: str) -> Mapping[str, str]:
    """Return the word forms of simplemma's dictionary, which loads in .1 to .5 s, or nothing if it has none."""
    # The compressed dictionary takes a tenth of the memory of the expanded one.
    from simplemma.strategies.dictionaries.stream_dictionary_factory import StreamDictionaryFactory

    try:
        return StreamDictionaryFactory(cache_max_size=1).get_dictionary(_CODES.get(language, language))
    except ValueError:  # no dictionary of this language
        return {}


def _is_compound(forms: Mapping[str, str], word: str) -> bool:
    return any(
        len(part) >= SHORTEST_PART and _has_form(forms, word[:end]) and _has_form(forms, part)
        for end in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1)
        for joint in _JOINTS
        if word[end:].startswith(joint) and (part := word[end:].removeprefix(joint))
    )


def _has_form(forms: Mapping[str, str], word: str) -> bool:
    return any(forms.get(form) is not None for form in (word, word.lower(), word.capitalize()))


def is_transposition(one: str, other: str) -> bool:
    """Return whether two words differ only in that two neighbouring letters are swapped."""
    return OSA.distance(one, other) == 1 and Levenshtein.distance(one, other) == 2


def single_edits(word: str) -> list[str]:
    """Return every string that is one edit away and has the same first letter. Swaps of letters come first."""
    letters = sorted({*string.ascii_lowercase, *word})
    splits = [(word[:end], word[end:]) for end in range(1, len(word) + 1)]
    swapped = [left + right[1] + right[0] + right[2:] for left, right in splits if len(right) > 1]
    shorter = [left + right[1:] for left, right in splits if right]
    longer = [left + letter + right for left, right in splits for letter in letters]
    replaced = [left + letter + right[1:] for left, right in splits if right for letter in letters]
    return [edited for edited in dict.fromkeys((*swapped, *shorter, *longer, *replaced)) if edited != word]


_LONGEST = 32  # letters; longer stems are not compared, because nobody mistypes such a word
_PREFIX = 3  # letters that stemming keeps, in a word of four or more
_UMLAUTS = ("ae", "oe", "ue", "aa")  # may be typed instead of a letter with diacritics; stems have no diacritics


class Vocabulary:
    """The stems that a collection's chunks contain. Many threads may share one object."""

    def __init__(self, generation: Searchable) -> None:
        self.generation = generation
        self.stems = generation.tokeniser.stems
        self._plain: dict[str, tuple[list[str], frozenset[str]]] = {}

    def words_by_stem(self, words: Iterable[str]) -> dict[str, list[str]]:
        """Return the words grouped by their stem, without those whose stem occurs in no chunk."""
        stems = {word: self.generation.tokeniser.stems_of_guess(word) for word in filter(self._may_start, words)}
        known = self._known(stems)
        by_stem: dict[str, list[str]] = {}
        for word, own in stems.items():
            for stem in own:
                if known[stem]:
                    by_stem.setdefault(stem, []).append(word)
        return by_stem

    def lacking(self, words: Sequence[str]) -> list[str]:
        """Return the words that occur in no chunk. A word without a stem, such as a stopword, is never one of them."""
        stems = {word: self.stems(word) for word in words}
        known = self._known(stems)
        return [word for word, own in stems.items() if own and not any(known[stem] for stem in own)]

    def near(self, stem: str, most: int) -> list[tuple[str, int]]:
        """Return similar stems with their distances: at most `most` edits away, and with the same first letter."""
        if not _is_plain(stem):
            return []
        # Edits at both ends of one word are rare, so two letters must agree at either end.
        plain, _ = self._beginning(stem[0])
        similar = [one for one in plain if one[:2] == stem[:2] or one[-2:] == stem[-2:]]
        matches = process.extract(stem, similar, scorer=OSA.distance, score_cutoff=most, limit=None)
        return [(other, int(distance)) for other, distance, _ in matches if distance]

    def spelling(self, stem: str, typed: str, allowed: AllowedChunks | None = None) -> str:
        """Return a word with this stem as a chunk spells it, in lower case; "" if no allowed chunk contains the stem.

        Only the first chunk with the stem is read. If it contains several such words, the one nearest to `typed` is
        returned.
        """
        first = self.generation.having([stem], 1, allowed)
        if not first:
            return ""
        [chunk] = self.generation.nodes(first)
        words = dict.fromkeys(split_words(lower(f"{chunk.context}\n{chunk.text}")))
        having = [word for word in words if stem in self.stems(word)]
        return min(having, key=lambda word: (OSA.distance(typed, word, score_cutoff=len(word)), word), default="")

    def _known(self, stems: Mapping[str, Sequence[str]]) -> Mapping[str, int]:
        """Return how many chunks contain each stem. One query serves all words."""
        return self.generation.frequencies(tuple(dict.fromkeys(stem for own in stems.values() for stem in own)))

    def _may_start(self, word: str) -> bool:
        """Return whether a stem in the collection has the word's first letters. If not, no chunk contains the word."""
        prefix = word[:_PREFIX]
        if not prefix.isascii() or any(umlaut in word[: _PREFIX + 1] for umlaut in _UMLAUTS):
            return True
        return prefix in self._beginning(prefix[:1])[1]

    def _beginning(self, letter: str) -> tuple[list[str], frozenset[str]]:
        """Return the stems of ASCII letters that start with `letter`, in order, and the set of their prefixes."""
        if letter not in self._plain:  # two threads may compute this at once, with the same result
            stems = list(filter(_is_plain, self.generation.stems_beginning(letter)))
            self._plain[letter] = stems, frozenset(stem[:_PREFIX] for stem in stems)
        return self._plain[letter]


def _is_plain(stem: str) -> bool:
    return len(stem) <= _LONGEST and stem.isascii() and stem.isalpha()


SHORTEST_OF_TWO = 8  # letters; in a shorter word, only one mistake is corrected
_MOST_COMPARED = 8  # stems whose words are compared with the typed word; all others are farther or rarer
TIMES_AS_FREQUENT = 3  # the chosen word must be so many times as frequent as any equally near one


SearchedWords = Sequence[tuple[Vocabulary, AllowedChunks | None]]
"""The vocabulary of each collection, with its allowed chunks, or None to allow all."""


def nearest_word(typed: str, searched: SearchedWords, is_real: Callable[[str], bool], *, two: bool = True) -> str:
    """Return the word in the allowed chunks that is one edit away from `typed`, which is in lower case.

    If there is none, `two` is true, and `typed` has at least SHORTEST_OF_TWO letters, a word two edits away is
    returned. The result is empty if no word is found, or if an equally near word is nearly as frequent. A swap of
    letters counts as nearer than any other edit.
    """
    guesses: dict[str, list[str]] = defaultdict(list)
    edits = single_edits(typed)
    for vocabulary, _ in searched:
        for stem, words in vocabulary.words_by_stem(edits).items():
            guesses[stem] += words
    near = _most_frequent(dict.fromkeys(guesses, 1), searched)
    if not near and two and len(typed) >= SHORTEST_OF_TWO:
        distances = {stem: apart for each, _ in searched for stem, apart in each.near(each.stems(typed)[0], 2)}
        near = _most_frequent(distances, searched)
    ranked = []
    for stem, frequency in near.items():
        if written := _spelling(stem, typed, guesses.get(stem, ()), searched, is_real):
            rank = 0 if is_transposition(typed, written) else OSA.distance(typed, written, score_cutoff=2)
            ranked.append((rank, -frequency, stem, written))
    ranked.sort()
    if len(ranked) > 1 and ranked[0][0] == ranked[1][0] and ranked[0][1] > TIMES_AS_FREQUENT * ranked[1][1]:
        return ""
    return ranked[0][3] if ranked else ""


def _most_frequent(distances: Mapping[str, int], searched: SearchedWords) -> dict[str, int]:
    """Return the `_MOST_COMPARED` stems nearest to the typed word, with the number of allowed chunks that contain each.

    `distances` has the distance of each stem from the typed word. Of equally near stems, the most frequent ones are
    chosen. Stems that no allowed chunk contains are left out.
    """
    found = [each.generation.frequencies(tuple(distances), allowed) for each, allowed in searched]
    counts = {stem: sum(one[stem] for one in found) for stem in distances}
    order = sorted((stem for stem in counts if counts[stem]), key=lambda stem: (distances[stem], -counts[stem], stem))
    return {stem: counts[stem] for stem in order[:_MOST_COMPARED]}


def _spelling(
    stem: str, typed: str, guesses: Sequence[str], searched: SearchedWords, is_real: Callable[[str], bool]
) -> str:
    """Return the first guess that is a dictionary word, else a similar word from a chunk, else an empty text."""
    real = next(filter(is_real, guesses), "")
    if real:
        return real
    written = next(filter(None, (each.spelling(stem, typed, allowed) for each, allowed in searched)), "")
    return written if OSA.distance(typed, written, score_cutoff=2) <= (1 if guesses else 2) else ""


# A run of letters that is not part of a code, an address or a hyphenated word.
_WORD = re.compile(r"(?<![\w@#&.+/-])[^\W\d_]{4,30}(?![\w@#&+/-]|\.\w)")
_QUOTED = re.compile(r"[\"“„«][^\"“”„«»]{1,200}[\"”“»]")
_SHORTEST_NAME = 6  # letters; a word near a shorter name is probably another name
_MOST_UNKNOWN = 3  # words; a question with more unknown words is in another language or a pasted text

AllowedFinder = Callable[[], Sequence[AllowedChunks] | None]
"""A function that returns the allowed chunks of each collection, or None to allow all chunks."""


class SpellingCorrector:
    """Corrects mistyped words to words that occur in the collections. The first unknown word loads the dictionaries."""

    def __init__(self, generations: Sequence[Searchable], languages: Sequence[str], kept: frozenset[str]) -> None:
        """`languages` are those of the collections. Words in `kept` and question words are never corrected."""
        self._vocabularies = [Vocabulary(one) for one in generations]
        self._searched = [one.has_keywords for one in generations]
        self._languages = tuple(dict.fromkeys(languages))
        self._kept = kept | ASKING_WORDS  # the French dictionary lacks some of them

    def corrections(self, question: str, language: str, allowed: AllowedFinder | None = None) -> dict[str, str]:
        """Return the correct word for each mistyped word of the question.

        Words are corrected only to words in the chunks that `allowed` returns. `language` is the question's language.
        Words in a dictionary, in quotation marks or in capitals are not corrected. A question with mostly unknown words
        is not corrected at all.
        """
        typed = list(dict.fromkeys(_WORD.findall(_QUOTED.sub(" ", question))))
        unknown = self._unknown(typed)
        if not unknown or len(unknown) > _MOST_UNKNOWN or 2 * len(unknown) > len(typed) + 1:
            return {}
        chunks = (allowed and allowed()) or (None,) * len(self._vocabularies)
        searched = list(zip(self._vocabularies, chunks, strict=True))
        meant = {word: self._meant(word, question, language, searched) for word in unknown}
        return {word: other for word, other in meant.items() if other}

    def _unknown(self, words: Sequence[str]) -> list[str]:
        """Return the words that occur in no collection, without words that must not be corrected."""
        usual = (word for word in words if word.islower() or (word.istitle() and not word.isupper()))
        left = [word for word in usual if lower(word) not in self._kept] if any(self._searched) else []
        for vocabulary in self._vocabularies:
            left = vocabulary.lacking(left) if left else []
        return left

    def _meant(self, word: str, question: str, language: str, searched: SearchedWords) -> str:
        if is_known(word, (*self._languages, language)):
            return ""
        named = word[0].isupper() and language != "de" and not question.startswith(word)
        if named and len(word) < _SHORTEST_NAME:
            return ""
        is_real = partial(in_dictionary, languages=self._languages)
        best = nearest_word(lower(word), searched, is_real, two=not named)
        if named and is_real(best):  # a capitalised word is not a mistyped common word
            return ""
        return best.capitalize() if word[0].isupper() else best


def apply_corrections(question: str, corrections: Mapping[str, str]) -> str:
    """Replace every mistyped word in the question by its correction."""
    return _WORD.sub(lambda match: corrections.get(match.group(), match.group()), question)
