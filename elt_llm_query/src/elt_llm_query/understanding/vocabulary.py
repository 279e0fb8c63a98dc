"""The words of one collection, kept so that those spelled nearly as another are found fast."""

from threading import Lock

import numpy as np
from elt_llm_core.text.normalise import lower, words_of
from numpy.typing import NDArray

from elt_llm_query.retrieve.masks import Mask
from elt_llm_query.retrieve.searchable import Searchable
from elt_llm_query.understanding.edits import distance

_LONGEST = 32  # letters that are compared; a stem with more is no word anybody mistypes
_BEGINNING = 3  # letters that stemming leaves as they are, in a word of four or more
_UMLAUTS = ("ae", "oe", "ue", "aa")  # may be written for one letter, which stems have without its marks
_A, _Z = ord("a"), ord("z")


class Vocabulary:
    """The stems of a generation's keyword index; sorted when a near one is first asked for. Safe to share."""

    def __init__(self, generation: Searchable) -> None:
        self._generation = generation
        self._lock = Lock()
        self._sorted: _Sorted | None = None

    def stems(self, word: str) -> list[str]:
        """The stems of a word; none of a word that is left out of the index."""
        return self._generation.keyword.tokeniser.stems(word)

    def guessed(self, word: str) -> list[str]:
        """The stems of a word that is only tried."""
        return self._generation.keyword.tokeniser.stems_of_guess(word)

    def may_begin(self, word: str) -> bool:
        """False if no stem begins as the word does, which then need not be stemmed; True where that cannot be told."""
        beginning = word[:_BEGINNING]
        if not beginning.isascii() or any(umlaut in word[: _BEGINNING + 1] for umlaut in _UMLAUTS):
            return True
        return self._order().begins(beginning)

    def has(self, stem: str) -> bool:
        """Whether a node has it."""
        return self._generation.keyword.document_frequency(stem) > 0

    def frequency(self, stem: str, mask: Mask | None = None) -> int:
        """In how many nodes it stands, of those that the mask allows."""
        return len(self._positions(stem, mask))

    def near(self, stem: str, most: int) -> list[tuple[str, int]]:
        """Stems with the same first letter that lie at most so many mistakes away, each with its distance."""
        # Mistakes at both ends of one word are rare, and comparing takes most of the time.
        near = [one for one in self._order().like(stem, most) if one[:2] == stem[:2] or one[-2:] == stem[-2:]]
        found = ((other, distance(stem, other, most)) for other in near)
        return [(other, apart) for other, apart in found if 0 < apart <= most]

    def written(self, stem: str, typed: str, mask: Mask | None = None) -> str:
        """A word of the documents with this stem: of those of its first passage, the nearest to what was typed."""
        positions = self._positions(stem, mask)
        if not len(positions):
            return ""
        passage = self._generation.nodes([self._generation.ids[int(positions.min())]])[0]
        words = dict.fromkeys(words_of(lower(f"{passage.context}\n{passage.text}")))
        having = [word for word in words if stem in self.stems(word)]
        return min(having, key=lambda word: (distance(typed, word, len(word)), word), default="")

    def _order(self) -> "_Sorted":
        with self._lock:
            if self._sorted is None:
                bm25 = self._generation.keyword.bm25
                self._sorted = _Sorted([] if bm25 is None else list(bm25.vocab_dict))
            return self._sorted

    def _positions(self, stem: str, mask: Mask | None) -> NDArray[np.integer]:
        bm25 = self._generation.keyword.bm25
        token = None if bm25 is None else bm25.vocab_dict.get(stem)
        if bm25 is None or token is None:
            return np.zeros(0, dtype=np.int64)
        starts = bm25.scores["indptr"]
        held: NDArray[np.integer] = np.asarray(bm25.scores["indices"][int(starts[token]) : int(starts[token + 1])])
        return held if mask is None else held[mask[held]]


class _Sorted:
    """Stems in order, with the length of each and the letters it has as bits: few are compared letter by letter."""

    def __init__(self, stems: list[str]) -> None:
        self._stems = np.array(sorted(stem for stem in stems if _is_plain(stem)), dtype=f"S{_LONGEST}")
        self._beginnings = frozenset(np.unique(self._stems.astype(f"S{_BEGINNING}")).tolist())
        letters = self._stems.view(np.uint8).reshape(len(self._stems), -1)
        self._lengths = (letters > 0).sum(axis=1)
        bits = np.where((letters >= _A) & (letters <= _Z), letters.astype(np.int64) - _A, 26)
        self._letters = np.bitwise_or.reduce(np.left_shift(1, bits), axis=1) & ((1 << 26) - 1)

    def begins(self, beginning: str) -> bool:
        """Whether a stem begins so."""
        return beginning.encode() in self._beginnings

    def like(self, stem: str, most: int) -> list[str]:
        """Those that may be near: same first letter, about as long, with about the same letters."""
        if not _is_plain(stem):
            return []
        start, stop = np.searchsorted(self._stems, np.array([stem[0], chr(ord(stem[0]) + 1)], dtype="S1"))
        letters = sum(1 << (ord(letter) - _A) for letter in set(stem))
        differing = np.bitwise_xor(self._letters[start:stop], letters)
        near = np.abs(self._lengths[start:stop] - len(stem)) <= most
        # A mistake changes at most two letters of the set.
        near &= _ones(differing) <= 2 * most
        return [found.decode() for found in self._stems[start:stop][near].tolist()]


def _ones(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many bits are set, in each number below 2 ** 26."""
    octets = np.unpackbits(bits.astype("<u4").view(np.uint8).reshape(len(bits), 4), axis=1)
    counts: NDArray[np.int64] = octets.sum(axis=1, dtype=np.int64)
    return counts


def _is_plain(stem: str) -> bool:
    return len(stem) <= _LONGEST and stem.isascii() and stem.isalpha()
