"""Read an open generation through the interface of a LlamaIndex docstore."""

from typing import Any, NoReturn

from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore.keyval_docstore import KVDocumentStore
from llama_index.core.storage.docstore.utils import doc_to_json
from llama_index.core.storage.kvstore.types import DEFAULT_COLLECTION, BaseKVStore

from elt_llm_core.index.searchable import Searchable
from elt_llm_core.store.records import StoredNode

_NAMESPACE = "generation"
_NODES = f"{_NAMESPACE}/data"
_DOCUMENTS = f"{_NAMESPACE}/ref_doc_info"


def generation_docstore(generation: Searchable) -> KVDocumentStore:
    """Return a read-only docstore over the nodes of `generation`, valid while the generation is open."""
    return KVDocumentStore(_GenerationValues(generation), namespace=_NAMESPACE)


def text_node(node: StoredNode) -> TextNode:
    """Convert a stored node to a LlamaIndex node. The context (title, headings) is in its metadata."""
    return TextNode(
        id_=node.node_id,
        text=node.text,
        start_char_idx=node.start,
        end_char_idx=node.end,
        metadata={
            **node.metadata,
            "source": node.source,
            "title": node.title,
            "page": node.page,
            "section": node.section,
            "context": node.context,
        },
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=node.document_id)},
    )


class _GenerationValues(BaseKVStore):
    """The key-value store through which LlamaIndex's KVDocumentStore reads a generation."""

    def __init__(self, generation: Searchable) -> None:
        self._generation = generation
        self._known = frozenset(generation.every_id())

    def get(self, key: str, collection: str = DEFAULT_COLLECTION) -> dict[str, Any] | None:
        """Return an entry of a LlamaIndex table, here called `collection`, or None if the key is unknown.

        In the table of nodes, the key is a node id, and the entry is the node. In the table of documents, the key is a
        document id, and the entry has the ids of the document's nodes.
        """
        if collection == _DOCUMENTS:
            return self.get_all(_DOCUMENTS).get(key)
        if collection != _NODES or key not in self._known:
            return None
        return doc_to_json(text_node(self._generation.nodes([key])[0]))

    def get_all(self, collection: str = DEFAULT_COLLECTION) -> dict[str, dict[str, Any]]:
        """Return all entries of a LlamaIndex table, here called `collection`.

        The entries are nodes by node id, or the ids of each document's nodes, in order, by document id.
        """
        if collection not in (_NODES, _DOCUMENTS):
            return {}
        nodes = self._generation.nodes(list(self._generation.every_id()))
        if collection == _NODES:
            return {node.node_id: doc_to_json(text_node(node)) for node in nodes}
        grouped: dict[str, dict[str, Any]] = {}
        for node in sorted(nodes, key=lambda node: (node.document_id, node.ordinal)):
            empty: dict[str, Any] = {"node_ids": [], "metadata": {"source": node.source, "title": node.title}}
            grouped.setdefault(node.document_id, empty)["node_ids"].append(node.node_id)
        return grouped

    def put(self, *_: Any, **__: Any) -> NoReturn:
        """Raise NotImplementedError, because a generation is immutable."""
        raise NotImplementedError("A generation is immutable; publish a new one.")

    delete = put

    async def aget(self, key: str, collection: str = DEFAULT_COLLECTION) -> dict[str, Any] | None:
        """Return what `get` returns, for asynchronous callers."""
        return self.get(key, collection)

    async def aget_all(self, collection: str = DEFAULT_COLLECTION) -> dict[str, dict[str, Any]]:
        """Return what `get_all` returns, for asynchronous callers."""
        return self.get_all(collection)

    async def aput(self, *_: Any, **__: Any) -> NoReturn:
        """Raise NotImplementedError, because a generation is immutable."""
        self.put()

    adelete = aput
