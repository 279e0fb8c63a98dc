"""What every step of answering one question needs."""

from dataclasses import dataclass

import numpy as np
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.text.stems import KeywordTokeniser
from numpy.typing import NDArray

from elt_llm_query.answer.claim_contraries import ContraryFinder
from elt_llm_query.answer.term_weights import TermWeights
from elt_llm_query.answer.within_limit import embed_cut
from elt_llm_query.understand import Question


@dataclass(frozen=True)
class Asking:
    """A question, its vectors, and the models and weights its passages are compared by.

    `vectors` has a row for the whole question and one for each of its parts.
    """

    question: Question
    vectors: NDArray[np.float32]
    embedding: EmbeddingModel
    tokeniser: KeywordTokeniser
    weights: TermWeights
    contraries: ContraryFinder

    def nearness(self, vector: NDArray[np.float32]) -> float:
        """Cosine of a text to the question, or to the part of it that is nearest."""
        return float((self.vectors @ vector).max())

    def stems(self, text: str) -> frozenset[str]:
        """The distinct stems of a text."""
        return frozenset(self.tokeniser.stems(text))

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """One row per text, each cut to what the model reads."""
        return embed_cut(texts, self.embedding)

    def coverage(self, stems: frozenset[str], around: frozenset[str] = frozenset()) -> float:
        """Share of the question's weight in `stems`; what only stands `around` counts half."""
        return self.weights.coverage(self.question, stems, around)
