"""Where two sentences say the contrary of each other: contrary words, and words that only one of them denies."""

from collections.abc import Sequence

from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.answer.claim_slots import Alignment
from elt_llm_query.answer.claim_tokens import Sentence
from elt_llm_query.answer.contraries import Contraries, is_prefixed
from elt_llm_query.answer.term_weights import match

_SHORTEST = 4


class ContraryFinder:
    """Holds a claim against one sentence after the other; `tokeniser` is that of both."""

    def __init__(self, tokeniser: KeywordTokeniser) -> None:
        self._contraries = Contraries(tokeniser)

    def find(self, claim: Sentence, source: Sentence, alignment: Alignment) -> tuple[str, ...]:
        """The contraries and one-sided denials; one of each takes the other back ("not simple" for "complicated")."""
        opposed = tuple(dict.fromkeys([*self._opposed(claim, source), *self._in_place(alignment)]))
        denied = _denied_once(claim, source)
        found = () if len(opposed) == len(denied) == 1 else (*opposed, *denied)
        return (*found, _negation(claim, source)) if alignment.denied and not denied else found

    def _opposed(self, claim: Sentence, source: Sentence) -> tuple[str, ...]:
        ours = {self._contraries.key(token.word): token for token in claim.tokens if not token.name}
        theirs = {self._contraries.key(token.word) for token in source.tokens}
        found = [
            token.text
            for key, token in ours.items()
            if key not in theirs and any(other in theirs and other not in ours for other in self._contraries.of(key))
        ]
        prefixed = [
            token.text
            for key, token in ours.items()
            if len(key) >= _SHORTEST
            and key not in theirs
            and any(is_prefixed(key, other) and other not in ours for other in theirs)
        ]
        return (*found, *prefixed)

    def _in_place(self, aligned: Alignment) -> list[str]:
        """Contraries that stand in the same place, though either side may have both words."""
        key, of = self._contraries.key, self._contraries.of
        return [ours.text for ours, theirs in aligned.pairs if key(theirs.word) in of(key(ours.word))]


def _negation(claim: Sentence, source: Sentence) -> str:
    return next((token.text for sentence in (claim, source) for token in sentence.tokens if token.denies), "")


def _denied_once(claim: Sentence, source: Sentence) -> tuple[str, ...]:
    """The words that only one side denies, the first after each negation that the other side has as well."""
    ours = [word for word in _heads(claim, source) if word not in source.denied]
    theirs = [word for word in _heads(source, claim) if word not in claim.denied]
    return tuple(dict.fromkeys([*ours, *theirs]))


def _heads(one: Sentence, other: Sentence) -> Sequence[str]:
    heads = []
    open_negation = False
    for token in one.tokens:
        if token.denies:
            open_negation = True
        elif open_negation and not token.denied:
            open_negation = False
        elif open_negation and token.denied:
            shared = next((stem for stem in token.stems if match(stem, other.stems)), None)
            if shared:
                heads.append(shared)
                open_negation = False
    return heads
