"""Answering the questions of a measurement: always by quoting, to see what refusing would have spared."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from elt_llm_core.closeable import Closeable
from elt_llm_core.generation import Generation
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.settings import Settings

from elt_llm_query.answer.abstention import SHIPPED, THRESHOLD, Weighing
from elt_llm_query.answer.extractive import Answer, ExtractiveAnswerer
from elt_llm_query.evaluate.remembering import RememberingEmbedding
from elt_llm_query.retrieve.pipeline import PassageFinder

ANSWERABLE, UNANSWERABLE, FOREIGN, TAKEN_OUT = "answerable", "unanswerable", "foreign", "document taken out"
MOST_READ = 8  # passages that an answer is quoted from
FEWEST_LEFT = 3  # passages, where documents were taken out; with fewer there is nothing to be misled by


@dataclass(frozen=True)
class Posed:
    """A question of a measurement. `is_right` judges an answer to one that has any.

    `without` are ids of documents whose passages are taken out before it is answered.
    """

    identity: str
    text: str
    kind: str
    is_right: Callable[[Answer], bool] = field(default=lambda _: False, compare=False)
    without: Collection[str] = ()


@dataclass(frozen=True)
class Ended:
    """How a question ended: the confidence, 0 to 1, whether what was quoted is right, and the evidence by name.

    `evidence` is empty where nothing could be quoted.
    """

    posed: Posed
    confidence: float
    right: bool
    evidence: Mapping[str, float]

    @property
    def answered(self) -> bool:
        """Whether it would have been answered."""
        return self.confidence >= THRESHOLD

    def to_json(self) -> dict[str, Any]:
        """For reports."""
        return {
            "id": self.posed.identity,
            "kind": self.posed.kind,
            "question": self.posed.text,
            "confidence": self.confidence,
            "answered": self.answered,
            "right": self.right,
        }


class Quoting(Closeable):
    """Quotes from one generation with one profile's settings; keeps what it embedded until it is closed."""

    def __init__(
        self, generation: Generation, embedding: EmbeddingModel, settings: Settings, weighing: Weighing = SHIPPED
    ) -> None:
        self._generation = generation
        self._weighing = weighing
        self._wide = settings.query.leg_top_k
        remembering = RememberingEmbedding(embedding)
        self._finder = PassageFinder([generation], [remembering], settings)
        tokeniser = generation.keyword.tokeniser
        self._answerer = ExtractiveAnswerer(remembering, tokeniser, abstain=False, cite=False)

    def passages(self, question: str, without: frozenset[str] = frozenset()) -> Sequence[RetrievedChunk]:
        """What an answer is quoted from, best first; documents taken out make room for what stands behind them."""
        if not without:
            return sorted(self._finder.find(question).chunks, key=lambda chunk: -chunk.score)
        found = self._finder.find(question, top_k=self._wide).chunks
        return [chunk for chunk in found if not without & _documents(chunk)][:MOST_READ]

    def quote(self, question: str, chunks: Sequence[RetrievedChunk], most_sentences: int = 3) -> Answer:
        """The answer that these passages give, whatever its confidence."""
        return self._answerer.answer(
            question,
            chunks,
            max_sentences=most_sentences,
            idf=self._weight,
            known=lambda stem: self._generation.keyword.document_frequency(stem) > 0,
            weighing=self._weighing,
        )

    def pose(self, questions: Iterable[Posed]) -> list[Ended]:
        """How each question ends; left out are those of which too little is left without their documents."""
        ends = []
        for posed in questions:
            chunks = self.passages(posed.text, frozenset(posed.without))
            if posed.without and len(chunks) < FEWEST_LEFT:
                continue
            answer = self.quote(posed.text, chunks)
            evidence = answer.reasoning.get("evidence", {})
            known = evidence if isinstance(evidence, Mapping) else {}
            right = posed.kind == ANSWERABLE and posed.is_right(answer)
            ends.append(Ended(posed, answer.confidence, right, known))
        return ends

    def close(self) -> None:
        """Let go of the threads."""
        self._finder.close()

    def _weight(self, stem: str) -> float:
        total, frequency = self._generation.size, self._generation.keyword.document_frequency(stem)
        return math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))


def _documents(chunk: RetrievedChunk) -> frozenset[str]:
    return frozenset([chunk.source_id, *(other["source_id"] for other in chunk.metadata.get("alternates", ()))])
