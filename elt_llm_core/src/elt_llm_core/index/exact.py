"""Exact vector search behind LlamaIndex's vector store seam: what answers where Chroma cannot."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    VectorStoreQuery,
    VectorStoreQueryResult,
)

from elt_llm_core.index.arrays import Arrays


class ExactVectorStore(BasePydanticVectorStore):
    """Searches every vector of a generation; read-only. 100,000 vectors of 384 numbers take about 8 ms."""

    stores_text: bool = False
    _arrays: Arrays = PrivateAttr()

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(stores_text=False)
        self._arrays = arrays

    @property
    def client(self) -> Arrays:
        """The arrays themselves."""
        return self._arrays

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        """Ids and cosines of the nearest vectors, best first, ties by id."""
        vector = np.array(query.query_embedding, dtype=np.float32)
        places, cosines = self._arrays.exact_search(vector, query.similarity_top_k)
        return VectorStoreQueryResult(ids=self._arrays.ids_at(places), similarities=[float(c) for c in cosines])

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Refused: a generation is never changed."""
        raise NotImplementedError("A generation is never changed; publish a new one.")

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Refused: a generation is never changed."""
        raise NotImplementedError("A generation is never changed; publish a new one.")
