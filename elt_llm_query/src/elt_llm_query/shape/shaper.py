"""From a ranking to the passages that are kept: relevance, equal texts, variety, and how many."""

from collections import defaultdict
from collections.abc import Sequence

from elt_llm_core.settings import QuerySettings

from elt_llm_query.retrieve.candidates import Candidate
from elt_llm_query.retrieve.collections import OpenCollection
from elt_llm_query.retrieve.stages import OpenStage
from elt_llm_query.shape.dedupe import merge_equal_texts
from elt_llm_query.shape.mmr import marginal_relevance_order, similarities
from elt_llm_query.shape.passages import Passage
from elt_llm_query.shape.relevance import drop_below

# Texts looked at for each one kept: twice as many finds the other places of a text, variety needs more to choose from.
LOOKAHEAD = 2
VARIETY = 4


class Shaper:
    """Keeps the passages of a ranking that are worth reading, and fetches the text of few more than those."""

    def __init__(self, collections: Sequence[OpenCollection], query: QuerySettings) -> None:
        self._by_name = {collection.name: collection for collection in collections}
        self._query = query

    def shape(self, ranked: Sequence[Candidate], top_k: int, stage: OpenStage) -> list[Passage]:
        """At most top_k passages in their final order; what was dropped and why is written to the stage."""
        relevant, irrelevant = drop_below(ranked, self._query.min_relevance_score)
        wanted = top_k * VARIETY if self._query.use_mmr else top_k
        fetched = self._fetch_different(relevant, wanted)
        kept = self._with_variety(fetched, top_k) if self._query.use_mmr else fetched[:top_k]
        stage.kept = len(kept)
        stage.details["below min_relevance_score"] = [candidate.node_id for candidate in irrelevant]
        stage.details["same text as another"] = {
            alternate.candidate.node_id: passage.candidate.node_id
            for passage in fetched
            for alternate in passage.alternates
        }
        stage.details["ranking"] = [(passage.candidate.node_id, passage.candidate.score) for passage in kept]
        return kept

    def _fetch_different(self, candidates: Sequence[Candidate], wanted: int) -> list[Passage]:
        """Passages with different texts, at least `wanted` of them if there are; text is fetched no further."""
        fetched: list[Passage] = []
        step = wanted * LOOKAHEAD
        for start in range(0, len(candidates), step):
            fetched = merge_equal_texts([*fetched, *self._fetch(candidates[start : start + step])])
            if len(fetched) >= wanted:
                break
        return fetched

    def _fetch(self, candidates: Sequence[Candidate]) -> list[Passage]:
        by_collection: dict[str, list[str]] = defaultdict(list)
        for candidate in candidates:
            by_collection[candidate.collection].append(candidate.node_id)
        nodes = {
            (name, node.node_id): node
            for name, node_ids in by_collection.items()
            for node in self._by_name[name].generation.nodes(node_ids)
        }
        return [Passage(candidate, nodes[candidate.collection, candidate.node_id]) for candidate in candidates]

    def _with_variety(self, passages: Sequence[Passage], top_k: int) -> list[Passage]:
        vectors, spaces = [], []
        for passage in passages:
            collection = self._by_name[passage.candidate.collection]
            position = collection.generation.positions([passage.candidate.node_id])[0]
            vectors.append(collection.generation.vectors[position])
            spaces.append(collection.space)
        order = marginal_relevance_order(
            [passage.candidate.score for passage in passages],
            similarities(vectors, spaces),
            self._query.mmr_threshold,
            top_k,
        )
        return [passages[index] for index in order]
