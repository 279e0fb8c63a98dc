"""The engine as a LangChain retriever. Requires the extra `langchain`."""

from collections.abc import Sequence

from elt_llm_core.settings.tree import StrategyName
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from elt_llm_query.engine import Engine
from elt_llm_query.integrations import chunk_metadata, warn_if_empty


class LangChainRetriever(BaseRetriever):
    """Retrieves chunks with an engine and returns them as LangChain documents.

    `chunk_metadata` builds their metadata. The caller closes the engine. The other fields are passed to
    `Engine.search`; None means the configured value.
    """

    engine: Engine
    top_k: int | None = None
    where: Sequence[str] = ()
    strategy: StrategyName | None = None

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        found = self.engine.search(query, top_k=self.top_k, where=self.where, strategy=self.strategy)
        warn_if_empty(found.chunks, found.notes)
        return [
            Document(page_content=chunk.text, id=chunk.node_id, metadata=chunk_metadata(chunk, notes=found.notes))
            for chunk in found.chunks
        ]
