"""Which passages of a ranking are worth reading: different texts, not too many of one document, varied."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from elt_llm_core.settings import QuerySettings

from elt_llm_query.retrieve.candidates import Candidate
from elt_llm_query.retrieve.collections import OpenCollection
from elt_llm_query.shape.dedupe import cap_per_source, merge_equal_texts, near_doubles
from elt_llm_query.shape.mmr import Similarities, marginal_relevance_order, similarities
from elt_llm_query.shape.parents import merge_siblings
from elt_llm_query.shape.passages import Passage

# Texts looked at for each one kept: twice as many finds the other places of a text, variety needs more to choose from.
LOOKAHEAD = 2
VARIETY = 4


@dataclass
class Selected:
    """Passages in order, and by reason what was left out: node ids, or each with that of the one in its place."""

    passages: list[Passage]
    told: dict[str, Any] = field(default_factory=dict)


class Selector:
    """Fetches the texts of the best candidates, and of few more than are kept."""

    def __init__(self, collections: Sequence[OpenCollection], query: QuerySettings) -> None:
        self._by_name = {collection.name: collection for collection in collections}
        self._query = query

    def select(self, candidates: Sequence[Candidate], top_k: int, *, as_found: bool = False) -> Selected:
        """At most top_k passages, and that many wherever enough candidates are worth it.

        `as_found`: nothing around a passage will be read, so children of one parent do not stand for each other.
        """
        wanted = top_k * VARIETY if self._query.use_mmr else top_k
        fetched: list[Passage] = []
        step = wanted * LOOKAHEAD
        while True:
            fetched += self._fetch(candidates[len(fetched) : len(fetched) + step])
            selected = self._different(fetched, as_found)
            if len(selected.passages) >= wanted or len(fetched) >= len(candidates):
                break
            step = len(fetched)
        selected.passages = self._varied(selected.passages, top_k)
        return selected

    def _different(self, fetched: Sequence[Passage], as_found: bool) -> Selected:
        selected = Selected(merge_equal_texts(fetched))
        selected.told["same text as another"] = {
            alternate.candidate.node_id: passage.candidate.node_id
            for passage in selected.passages
            for alternate in passage.alternates
        }
        if self._query.read_parents and not as_found:
            self._join_siblings(selected)
        if self._query.near_duplicate_cosine < 1:
            self._drop_near_doubles(selected)
        if self._query.max_per_source:
            selected.passages, beyond = cap_per_source(selected.passages, self._query.max_per_source)
            if beyond:
                selected.told["beyond max_per_source"] = [passage.node.node_id for passage in beyond]
        return selected

    def _join_siblings(self, selected: Selected) -> None:
        selected.passages = merge_siblings(selected.passages)
        siblings = {
            node.node_id: passage.node.node_id
            for passage in selected.passages
            for node in passage.matches
            if node.node_id != passage.node.node_id
        }
        if siblings:
            selected.told["same parent as another"] = siblings

    def _drop_near_doubles(self, selected: Selected) -> None:
        passages = selected.passages
        doubles = near_doubles(self._similarities(passages), self._query.near_duplicate_cosine)
        selected.passages = [passage for index, passage in enumerate(passages) if index not in doubles]
        if doubles:
            selected.told["nearly the same as another"] = {
                passages[index].node.node_id: passages[other].node.node_id for index, other in doubles.items()
            }

    def _varied(self, passages: list[Passage], top_k: int) -> list[Passage]:
        if not self._query.use_mmr:
            return passages[:top_k]
        relevance = [passage.candidate.score for passage in passages]
        order = marginal_relevance_order(relevance, self._similarities(passages), self._query.mmr_threshold, top_k)
        return [passages[index] for index in order]

    def _similarities(self, passages: Sequence[Passage]) -> Similarities:
        """Cosine of each pair from the stored vectors, shape (n, n)."""
        vectors, spaces = [], []
        for passage in passages:
            collection = self._by_name[passage.candidate.collection]
            position = collection.generation.positions([passage.candidate.node_id])[0]
            vectors.append(collection.generation.vectors[position])
            spaces.append(collection.space)
        return similarities(vectors, spaces)

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
