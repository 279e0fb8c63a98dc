"""How likely it is that the sources say what a claim says, and which of their sentences say it best."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from elt_llm_core.models.embedding_model import EmbeddingModel
from numpy.typing import NDArray

from elt_llm_query.answer.claim_comparison import Comparer, Comparison
from elt_llm_query.answer.claim_contraries import ContraryFinder
from elt_llm_query.answer.claim_sources import Sources, SourceSentence
from elt_llm_query.answer.claim_tokens import Sentence
from elt_llm_query.answer.within_limit import embed_cut

# A logistic regression on altered and honestly reworded sentences; docs/decisions/0020-grounding.md says which.
INTERCEPT: Final = 1.78
WEIGHTS: Final = MappingProxyType(
    {
        "lacking": -1.03,
        "elsewhere": -1.11,
        "numbers": -1.82,
        "names": -1.33,
        "borrowed": -0.43,
        "contrary": -3.29,
        "exchanged": -1.47,
        "swapped": -2.16,
        "distance": -1.34,
        "pair": -0.27,
        "replaced": -2.2,
        "traded": -0.93,
        "behind": -1.44,
    }
)
_COMPARED = 6
_ALONE = 3
_GAIN = 0.12
_GAIN_ELSEWHERE = 0.25
_FEW_WORDS = 4
_OFTEN = 2
_OTHER_FORCE = 0.7  # "may" for "must": not what is said, and yet not its contrary


@dataclass(frozen=True)
class Support:
    """The sentences that speak most for a claim, what agrees, and the chance, 0 to 1, that they say the same."""

    comparison: Comparison
    features: dict[str, float]
    chance: float


class Supporter:
    """Finds for each claim the sentence, or the two, that support it best. Embeds each text once."""

    def __init__(self, sources: Sources, embedding: EmbeddingModel, contraries: ContraryFinder) -> None:
        self._sources = sources
        self._comparer = Comparer(sources, contraries)
        self._embedding = embedding
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def support(self, text: str) -> Support | None:
        """The best support of a claim; None if the sources have no sentence or the claim no word to compare."""
        claim = self._sources.read(text)
        ranked = self._ranked(claim)
        if not ranked or not claim.tokens:
            return None
        options = [self._option(claim, [one]) for _, one in ranked[:_ALONE]]
        second = self._second(claim, ranked[0][1])
        if second:
            options.append(self._option(claim, [ranked[0][1], second]))
        nearest = min(features["distance"] for _, features in options)
        for _, features in options:
            features["behind"] = features["distance"] - nearest
        return max((_judged(comparison, features) for comparison, features in options), key=lambda one: one.chance)

    def _ranked(self, claim: Sentence) -> list[tuple[float, SourceSentence]]:
        covered = [(self._comparer.coverage(claim, one.sentence.stems), one) for one in self._sources.sentences]
        best = sorted(covered, key=lambda one: -one[0])[:_COMPARED]
        self._embed([claim.text, *(one.sentence.text for _, one in best)])
        near = [(coverage + self._cosine(claim.text, one.sentence.text), one) for coverage, one in best]
        return sorted(near, key=lambda one: -one[0])

    def _second(self, claim: Sentence, first: SourceSentence) -> SourceSentence | None:
        """The sentence that adds most to the first: of its own passage if it can be."""
        already = self._comparer.coverage(claim, first.sentence.stems)
        gains = [
            (self._comparer.coverage(claim, first.sentence.stems | one.sentence.stems) - already, one)
            for one in self._sources.sentences
            if one is not first
        ]
        fitting = [
            (gain, one) for gain, one in gains if gain > (_GAIN if one.chunk == first.chunk else _GAIN_ELSEWHERE)
        ]
        beside = [(gain, one) for gain, one in fitting if one.chunk == first.chunk]
        return max(beside or fitting, key=lambda one: one[0])[1] if fitting else None

    def _option(self, claim: Sentence, sentences: Sequence[SourceSentence]) -> tuple[Comparison, dict[str, float]]:
        compared = self._comparer.compare(claim, sentences)
        said = " ".join(one.sentence.text for one in sentences)
        self._embed([said])
        distance = 1.0 - self._cosine(claim.text, said)
        if len(claim.tokens) < _FEW_WORDS:  # too short to have a meaning of its own
            distance = min(distance, 1.0 - compared.coverage)
        return compared, {
            "lacking": 1.0 - compared.coverage,
            "elsewhere": compared.elsewhere,
            "numbers": float(min(_OFTEN, len(compared.numbers))),
            "names": float(min(_OFTEN, len(compared.names))),
            "borrowed": float(bool(compared.borrowed)),
            "contrary": 1.0 if compared.contrary else _OTHER_FORCE * bool(compared.other_force),
            "exchanged": compared.exchanged,
            "swapped": float(compared.swapped),
            "distance": distance,
            "pair": float(len(sentences) > 1),
            "replaced": float(bool(compared.replaced)),
            "traded": float(bool(compared.traded)),
        }

    def _cosine(self, left: str, right: str) -> float:
        return float(self._vectors[left] @ self._vectors[right])

    def _embed(self, texts: Sequence[str]) -> None:
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            self._vectors.update(zip(missing, embed_cut(missing, self._embedding), strict=True))


def _judged(comparison: Comparison, features: dict[str, float]) -> Support:
    logit = INTERCEPT + sum(weight * features[name] for name, weight in WEIGHTS.items())
    return Support(comparison, features, 1.0 / (1.0 + math.exp(-logit)))
