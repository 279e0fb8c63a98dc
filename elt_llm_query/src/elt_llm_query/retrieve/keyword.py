"""The keyword leg: LlamaIndex's BM25 retriever over the generation's own index and tokeniser."""

import bm25s
import numpy as np
from elt_llm_core.index.arrays import best_places
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from elt_llm_query.retrieve.candidates import Ranking
from elt_llm_query.retrieve.masks import MaskedBundle, bounded
from elt_llm_query.retrieve.other_names import with_other_names
from elt_llm_query.retrieve.searchable import Searchable


class KeywordRetriever(BM25Retriever):
    """Nodes by BM25 score, ties by node id, only those that match a word of the question; ids only.

    It corrects its parent where that goes wrong: the question is stemmed by the tokeniser the index was built
    with, nodes that match nothing are no hits, and `similarity_top_k` stays as given in a smaller collection.
    """

    def __init__(self, generation: Searchable, top_k: int) -> None:
        self._generation = generation
        self._ids = generation.ids
        index = generation.keyword.bm25
        # The parent would warn of a small collection with each opening, and cut top_k to its size for good.
        fitting = min(top_k, max(1, len(self._ids)))
        super().__init__(existing_bm25=index or _empty_index(), similarity_top_k=fitting, skip_stemming=True)
        self.similarity_top_k = top_k

    def ranking(self, query_bundle: QueryBundle) -> Ranking:
        """Ids and scores, best first, without a node around each."""
        names = query_bundle.names if isinstance(query_bundle, MaskedBundle) else ()
        scores = self._generation.keyword.scores(query_bundle.query_str)
        if names:
            scores = with_other_names(scores, names, self._generation, self._generation.keyword.scores)
        matches = scores > 0
        if isinstance(query_bundle, MaskedBundle) and query_bundle.mask is not None:
            matches &= query_bundle.mask  # before the best are taken, so that none that is left is lost
        matching = np.flatnonzero(matches)
        # Positions ascend with node ids, so ties are broken by node id.
        best = matching[best_places(scores[matching], bounded(self.similarity_top_k, query_bundle))]
        return [(self._ids[position], float(scores[position])) for position in best.tolist()]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=TextNode(id_=node_id, text=""), score=score)
            for node_id, score in self.ranking(query_bundle)
        ]


def _empty_index() -> bm25s.BM25:
    """An index that knows no word: the parent cannot be built from nothing."""
    index = bm25s.BM25()
    index.scores = {"num_docs": 0}
    index.vocab_dict = {}
    return index
