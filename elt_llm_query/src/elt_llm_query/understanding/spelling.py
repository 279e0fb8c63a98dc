"""Mistyped words: a word that no collection asked has is taken for the one word they have that is written almost so."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from elt_llm_core.text.normalise import lower

from elt_llm_query.retrieve.masks import Mask
from elt_llm_query.retrieve.searchable import Searchable
from elt_llm_query.understanding.dictionary import Dictionaries
from elt_llm_query.understanding.neighbours import neighbours_of, outstanding
from elt_llm_query.understanding.vocabulary import Vocabulary

# A run of letters that is no part of a code, an address or a joined word.
_WORD = re.compile(r"(?<![\w@#&.+/-])[^\W\d_]{4,30}(?![\w@#&+/-]|\.\w)")
_QUOTED = re.compile(r"[\"“„«][^\"“”„«»]{1,200}[\"”“»]")
_SHORTEST_NAME = 6  # letters: of shorter names a neighbour is too likely another name
_MOST_UNKNOWN = 3  # words; a question with more of them is in another language, or a pasted text

AllowedNodes = Callable[[], Sequence[Mask] | None]
"""Returns a mask for each collection, shape (nodes,), of what a question may find; None is all."""


def all_nodes() -> None:
    """What a question without filters may find."""


@dataclass(frozen=True)
class Correction:
    """A word as typed, and the word of the documents that it is taken for."""

    typed: str
    meant: str


class Speller:
    """Corrects questions to the words of some generations. What it needs is read when a word is first unknown."""

    def __init__(self, generations: Sequence[Searchable], languages: Sequence[str], kept: frozenset[str]) -> None:
        """`languages` are those of the generations; words in `kept`, in lower case, are never corrected."""
        self._vocabularies = [Vocabulary(one) for one in generations]
        self._searched = [one.keyword.bm25 is not None for one in generations]
        self._dictionaries = Dictionaries()
        self._languages = tuple(dict.fromkeys(languages))
        self._kept = kept

    def corrections(self, question: str, language: str, allowed: AllowedNodes = all_nodes) -> tuple[Correction, ...]:
        """What the question's unknown words are taken for, words of nodes that `allowed` returns masks of only.

        `language` is that of the question. Words known to a dictionary, in quotation marks or in capitals are left as
        they are, and so is a question of which most is unknown.
        """
        typed = list(dict.fromkeys(_WORD.findall(_QUOTED.sub(" ", question))))
        unknown = [word for word in typed if self._is_unknown(word)]
        if not unknown or len(unknown) > _MOST_UNKNOWN or 2 * len(unknown) > len(typed) + 1:
            return ()
        masks = allowed() or (None,) * len(self._vocabularies)
        meant = [(word, self._meant(word, question, language, masks)) for word in unknown]
        return tuple(Correction(word, other) for word, other in meant if other)

    def _is_unknown(self, word: str) -> bool:
        if lower(word) in self._kept or word.isupper() or not (word.islower() or word.istitle()):
            return False
        stems = [vocabulary.stems(word) for vocabulary in self._vocabularies]
        return any(self._searched) and not any(
            not found or any(vocabulary.has(stem) for stem in found)
            for vocabulary, found in zip(self._vocabularies, stems, strict=True)
        )

    def _meant(self, word: str, question: str, language: str, masks: Sequence[Mask | None]) -> str:
        if self._dictionaries.know(word, (*self._languages, language)):
            return ""
        named = word[0].isupper() and language != "de" and not question.startswith(word)
        if named and len(word) < _SHORTEST_NAME:
            return ""
        is_real = partial(self._dictionaries.hold, languages=self._languages)
        best = outstanding(neighbours_of(lower(word), self._vocabularies, masks, is_real, two=not named))
        if best is None or (named and is_real(best.written)):  # a name is not a mistyped common word
            return ""
        return best.written.capitalize() if word[0].isupper() else best.written


def corrected(question: str, made: Sequence[Correction]) -> str:
    """The question with every mistyped word replaced."""
    meant = {one.typed: one.meant for one in made}
    return _WORD.sub(lambda found: meant.get(found.group(), found.group()), question)
