"""A candidate: one node id on its way through the ranking, with every rank and score it was given."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from llama_index.core.schema import NodeWithScore, TextNode

Ranking = list[tuple[str, float]]
"""Node ids with their scores, best first."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One passage that a leg brought. Ranks count from 1; a leg that did not bring it leaves its rank None.

    `coverage` and `order` say how much of the question's words the passage has, and of their order, 0 to 1.
    `fused_score` is the score of the fusion, on the fusion's own scale; `score` is the current one, 0 to 1.
    """

    node_id: str
    collection: str
    dense_rank: int | None = None
    cosine: float | None = None
    keyword_rank: int | None = None
    keyword_score: float | None = None
    fused_score: float = 0.0
    score: float = 0.0
    coverage: float | None = None
    order: float | None = None

    def scored(
        self,
        score: float,
        cosine: float | None,
        keyword_score: float | None,
        coverage: float | None,
        order: float | None,
    ) -> "Candidate":
        """The same passage with its final score and what that is made of."""
        return Candidate(
            self.node_id,
            self.collection,
            self.dense_rank,
            cosine,
            self.keyword_rank,
            keyword_score,
            self.fused_score,
            score,
            coverage,
            order,
        )

    def parts(self) -> dict[str, str | float | None]:
        """Its collection and what a reranker makes the score of."""
        return {
            "collection": self.collection,
            "cosine": self.cosine,
            "keyword_score": self.keyword_score,
            "coverage": self.coverage,
            "order": self.order,
        }


def join_legs(collection: str, fused: Ranking, dense: Ranking, keyword: Ranking, scale: float) -> list[Candidate]:
    """Candidates in fused order, each with its place in either leg; `scale` turns a fused score into 0 to 1."""
    dense_places = {node_id: (rank, score) for rank, (node_id, score) in enumerate(dense, 1)}
    keyword_places = {node_id: (rank, score) for rank, (node_id, score) in enumerate(keyword, 1)}
    missing = (None, None)
    candidates = []
    for node_id, fused_score in fused:
        dense_rank, cosine = dense_places.get(node_id, missing)
        keyword_rank, keyword_score = keyword_places.get(node_id, missing)
        score = min(1.0, max(0.0, fused_score * scale))
        candidates.append(
            Candidate(node_id, collection, dense_rank, cosine, keyword_rank, keyword_score, fused_score, score)
        )
    return candidates


def best_first(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Ordered by score, ties by node id."""
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.node_id))


def to_node(candidate: Candidate) -> NodeWithScore:
    """The candidate as LlamaIndex passes it on: an id without text, ranks and scores in its metadata."""
    return NodeWithScore(
        node=TextNode(id_=candidate.node_id, text="", metadata=asdict(candidate)), score=candidate.score
    )


def from_node(found: NodeWithScore, collection: str) -> Candidate:
    """The candidate behind a node; a node of another retriever becomes one that knows its score alone."""
    metadata = found.node.metadata
    if {"node_id", "fused_score", "keyword_rank"} <= metadata.keys():
        return Candidate(**{name: metadata[name] for name in Candidate.__dataclass_fields__})
    return Candidate(found.node.node_id, collection, fused_score=found.score or 0.0)
