"""A passage: a ranked candidate with its text fetched."""

from dataclasses import dataclass
from typing import Any

from elt_llm_core.results import RetrievedChunk
from elt_llm_core.store.records import StoredNode

from elt_llm_query.retrieve.candidates import Candidate


@dataclass(frozen=True)
class Passage:
    """A candidate and what the store holds of it; `alternates` are other places of the very same text.

    Where more is read than was matched, `node` has the wider text and `matches` are the nodes as they were found.
    """

    candidate: Candidate
    node: StoredNode
    alternates: tuple["Passage", ...] = ()
    matches: tuple[StoredNode, ...] = ()

    @property
    def document(self) -> tuple[str, str]:
        """Collection and id of the document it stands in."""
        return self.candidate.collection, self.node.document_id

    def to_chunk(self) -> RetrievedChunk:
        """The passage as results carry it; other places of its text are under `alternates` in the metadata.

        `matches` there are the ids and spans of what was matched, where that is not all of the text.
        """
        metadata = dict(self.node.metadata)
        if self.alternates:
            metadata["alternates"] = [alternate.place() for alternate in self.alternates]
        if self.matches:
            metadata["matches"] = [{"node_id": one.node_id, "span": [one.start, one.end]} for one in self.matches]
        return RetrievedChunk(
            node_id=self.node.node_id,
            collection=self.candidate.collection,
            source_id=self.node.document_id,
            source_title=self.node.title,
            source=self.node.source,
            document_hash=self.node.document_hash,
            text=self.node.text,
            context=_own_context(self.node),
            span=(self.node.start, self.node.end),
            page=self.node.page,
            section=self.node.section,
            score=self.candidate.score,
            dense_rank=self.candidate.dense_rank,
            cosine=self.candidate.cosine,
            keyword_rank=self.candidate.keyword_rank,
            keyword_score=self.candidate.keyword_score,
            coverage=self.candidate.coverage,
            order=self.candidate.order,
            fused_score=self.candidate.fused_score,
            metadata=metadata,
        )

    def place(self) -> dict[str, Any]:
        """Where the text stands, without the text."""
        return {
            "node_id": self.node.node_id,
            "collection": self.candidate.collection,
            "source_id": self.node.document_id,
            "source_title": self.node.title,
            "source": self.node.source,
            "span": [self.node.start, self.node.end],
            "page": self.node.page,
            "section": self.node.section,
        }


def _own_context(node: StoredNode) -> str:
    """The context as the document has it: what a language model added helps to find a passage, and proves nothing."""
    return node.context.removesuffix(str(node.metadata.get("enrichment") or "")).rstrip("\n")
