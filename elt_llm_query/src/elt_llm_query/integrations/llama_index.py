"""The engine as a LlamaIndex retriever and as a LlamaIndex query engine."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from elt_llm_core.results import Citation, QueryResult, RetrievedChunk
from elt_llm_core.settings.tree import StrategyName
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.response.schema import Response
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

from elt_llm_query.engine import Engine
from elt_llm_query.grounding.citations import cited_chunks
from elt_llm_query.integrations import chunk_metadata, warn_if_empty


class LlamaIndexRetriever(BaseRetriever):
    """Retrieves chunks with an engine, in the same way as `elt-llm search`.

    A node's score is the chunk's score in the final ranking, and its metadata come from `chunk_metadata`. The caller
    closes the engine. The options are passed to `Engine.search`; None means the configured value.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        top_k: int | None = None,
        where: Sequence[str] = (),
        strategy: StrategyName | None = None,
    ) -> None:
        self._search = partial(engine.search, top_k=top_k, where=where, strategy=strategy)
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._search(query_bundle.query_str)
        warn_if_empty(found.chunks, found.notes)
        return [_node(chunk, notes=found.notes) for chunk in found.chunks]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class LlamaIndexQueryEngine(BaseQueryEngine):
    """Answers questions with an engine. Answers cite their sources, or state that the documents hold no answer.

    A response's nodes are the chunks that the answer is based on, each with the citations that quote it. The response's
    metadata are the fields of the `QueryResult` except answer, chunks and trace. The caller closes the engine.
    """

    def __init__(self, engine: Engine, *, where: Sequence[str] = (), strategy: StrategyName | None = None) -> None:
        self._ask = partial(engine.ask, where=where, strategy=strategy)
        super().__init__(callback_manager=None)

    def _query(self, query_bundle: QueryBundle) -> Response:
        return _response(self._ask(query_bundle.query_str))

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        return await asyncio.to_thread(self._query, query_bundle)

    def _get_prompt_modules(self) -> dict[str, Any]:
        """Return no prompts, because the engine reads its prompts from configuration files."""
        return {}


def _response(result: QueryResult) -> Response:
    quoting = cited_chunks(result.citations, result.chunks) if result.chunks else ()
    nodes = [
        _node(chunk, [one for one, cited in zip(result.citations, quoting, strict=False) if cited is chunk])
        for chunk in result.chunks
    ]
    metadata = result.model_dump(mode="json", exclude={"answer", "chunks", "trace"})
    return Response(result.answer, source_nodes=nodes, metadata=metadata)


def _node(chunk: RetrievedChunk, citations: Sequence[Citation] = (), notes: Sequence[str] = ()) -> NodeWithScore:
    metadata = chunk_metadata(chunk, citations=citations, notes=notes)
    hidden = sorted(metadata.keys() - {"citation"})  # models read only the source named by `citation`
    node = TextNode(
        id_=chunk.node_id,
        text=chunk.text,
        metadata=metadata,
        excluded_embed_metadata_keys=hidden,
        excluded_llm_metadata_keys=hidden,
        start_char_idx=chunk.span[0],
        end_char_idx=chunk.span[1],
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=chunk.source_id)},
    )
    return NodeWithScore(node=node, score=chunk.score)
