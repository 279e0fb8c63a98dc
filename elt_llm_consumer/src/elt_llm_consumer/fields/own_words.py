"""Whether a sentence that a model wrote says it in words of its quotes, or in words of its own.

Grounding weighs meaning and words together, over many passages. Of a short sentence one word that stands anywhere
can be enough for it: "Obey the club." beside "What does that mean for a club?". A cell asks for more than that.
"""

from collections.abc import Sequence
from dataclasses import replace

from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.answer.grounding import GroundedSentence

_SHORT = 4  # stems
_LEAST_OF_SHORT = 0.75
_LEAST = 0.5


def held_to_words(sentences: Sequence[GroundedSentence], tokeniser: KeywordTokeniser) -> list[GroundedSentence]:
    """The sentences with verdicts that their quotes' words allow.

    Of a sentence of at most four stems three quarters stand in one of its quotes, or it is unsupported; of a longer
    one half stand in its quotes together, or it is borne out in part.
    """
    return [_held(sentence, tokeniser) for sentence in sentences]


def _held(sentence: GroundedSentence, tokeniser: KeywordTokeniser) -> GroundedSentence:
    said = frozenset(tokeniser.stems(sentence.text))
    if sentence.verdict not in {"supported", "partly"} or not said:
        return sentence
    quotes = [frozenset(tokeniser.stems(f"{one.chunk.section or ''} {one.words}")) for one in sentence.quotes]
    if len(said) <= _SHORT:
        most = max((len(said & quote) for quote in quotes), default=0)
        return sentence if most >= _LEAST_OF_SHORT * len(said) else replace(sentence, verdict="unsupported")
    enough = len(said & frozenset().union(*quotes)) >= _LEAST * len(said)
    return sentence if enough else replace(sentence, verdict="partly")
