"""Expand chunks by the text around them: parents, neighbouring sentences and adjacent chunks."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from typing import Any

from elt_llm_core.index.searchable import Searchable
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.settings.tree import QuerySettings
from elt_llm_core.store.records import StoredNode
from elt_llm_core.text.outline import Outline
from elt_llm_core.text.sentences import sentence_spans

from elt_llm_query.retrieve.fusion import SearchCandidate
from elt_llm_query.retrieve.trace import LeftOut


@dataclass(frozen=True)
class CandidateChunk:
    """A candidate with its stored node; `alternates` are other occurrences of the same text.

    If the chunk was expanded, `node` contains the wider text, and `matches` are the nodes that the search found.
    """

    candidate: SearchCandidate
    node: StoredNode
    alternates: tuple["CandidateChunk", ...] = ()
    matches: tuple[StoredNode, ...] = ()

    @property
    def document(self) -> tuple[str, str]:
        """The collection and the id of the chunk's document."""
        return self.candidate.collection, self.node.document_id

    def to_chunk(self) -> RetrievedChunk:
        """Convert to a chunk of the result.

        Its metadata list other places with the same text (`alternates`) and the nodes that the search found
        (`matches`).
        """
        metadata = dict(self.node.metadata)
        if self.alternates:
            metadata["alternates"] = [alternate.location() for alternate in self.alternates]
        if self.matches:
            metadata["matches"] = [{"node_id": one.node_id, "span": [one.start, one.end]} for one in self.matches]
        # Context written by a language model helps to find a chunk, but is not part of the document.
        context = self.node.context.removesuffix(str(self.node.metadata.get("enrichment") or "")).rstrip("\n")
        return RetrievedChunk(
            **(asdict(self.candidate) | self.location()),
            document_hash=self.node.document_hash,
            text=self.node.text,
            context=context,
            metadata=metadata,
        )

    def location(self) -> dict[str, Any]:
        """Return the location of the text: ids, source, span, page and section."""
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


Span = tuple[int, int]


def parent_span(chunk: CandidateChunk) -> Span | None:
    """Return the span of the chunk's parent in its document; None if the chunk has no parent."""
    start, end = (chunk.node.metadata.get(key) for key in ("parent_start", "parent_end"))
    return (start, end) if isinstance(start, int) and isinstance(end, int) else None


def merge_siblings(chunks: Iterable[CandidateChunk]) -> list[CandidateChunk]:
    """Keep the best-ranked chunk of each parent. Its `matches` list all ranked chunks of that parent."""
    merged: dict[object, CandidateChunk] = {}
    for chunk in chunks:
        parent = parent_span(chunk)
        key = (chunk.document, parent) if parent else chunk.node.node_id
        best = merged.get(key)
        if best is None:
            merged[key] = replace(chunk, matches=(chunk.node,)) if parent else chunk
        else:
            merged[key] = join_matches(best, chunk)
    return list(merged.values())


def join_matches(best: CandidateChunk, other: CandidateChunk) -> CandidateChunk:
    """Return `best` with the matches and the duplicates of both chunks. The matches are sorted by position."""
    matches = {node.node_id: node for one in (best, other) for node in (one.matches or (one.node,))}
    return replace(
        best,
        matches=tuple(sorted(matches.values(), key=lambda node: (node.start, node.end))),
        alternates=(*best.alternates, *other.alternates),
    )


# Longer sentences are not added, because text without sentence ends has no natural limit.
LONGEST_SENTENCE = 600


@dataclass(frozen=True)
class ExpandedSpan:
    """A chunk, and the span of its document that replaces the chunk's own span."""

    chunk: CandidateChunk
    span: Span


def widen_span(text: str, span: Span, sentences: int) -> Span:
    """Widen a span of `text` on both sides, each by at most `sentences` sentences. Only whole sentences are added."""
    start, end = span
    reach = LONGEST_SENTENCE * sentences
    low, high = max(0, start - reach), min(len(text), end + reach)
    # A sentence that crosses the limit is not whole, so it is not added.
    before = sentence_spans(text[low:start])[1 if low > 0 else 0 :]
    after = sentence_spans(text[end:high])[: -1 if high < len(text) else None]
    start = low + before[-sentences:][0][0] if before else start
    return start, end + after[:sentences][-1][1] if after else end


def merge_touching(spans: Sequence[ExpandedSpan], texts: Mapping[tuple[str, str], str]) -> list[ExpandedSpan]:
    """Merge spans of one document that overlap or touch. The merged span gets the best rank of its parts."""
    groups: list[list[int]] = []
    reached = 0
    for rank in sorted(range(len(spans)), key=lambda rank: (spans[rank].chunk.document, spans[rank].span)):
        document, (start, end) = spans[rank].chunk.document, spans[rank].span
        same = bool(groups) and spans[groups[-1][-1]].chunk.document == document
        if same and (start <= reached or texts.get(document, "")[reached:start].isspace()):
            groups[-1].append(rank)
            reached = max(reached, end)
        else:
            groups.append([rank])
            reached = end
    merged: dict[int, ExpandedSpan] = {}
    for group in groups:
        chunk = reduce(join_matches, (spans[rank].chunk for rank in sorted(group)))
        start, end = min(spans[rank].span[0] for rank in group), max(spans[rank].span[1] for rank in group)
        merged[min(group)] = ExpandedSpan(chunk, (start, end))
    return [merged[rank] for rank in sorted(merged)]


def read_span(expanded: ExpandedSpan, text: str, outline: Outline | None) -> CandidateChunk:
    """Return the chunk with the text of its expanded span, and with the page and section where this span starts."""
    chunk, (start, end) = expanded.chunk, expanded.span
    node = chunk.node
    if (node.start, node.end) == (start, end):
        return chunk if len(chunk.matches) > 1 else replace(chunk, matches=())
    wider = replace(
        node,
        start=start,
        end=end,
        text=text[start:end],
        page=outline.page_at(start) if outline else node.page,
        section=outline.section_at(start) if outline else node.section,
    )
    return replace(chunk, node=wider, matches=chunk.matches or (node,))


DocumentKey = tuple[str, str]  # a collection and a document id


class ContextExpander:
    """Expands chunks by the text around them, as the settings specify. Documents are read only if needed."""

    def __init__(self, generations: Mapping[str, Searchable], query: QuerySettings) -> None:
        self._generations = generations
        self._query = query

    def expand(
        self, chunks: Sequence[CandidateChunk], left_out: dict[str, LeftOut]
    ) -> tuple[list[CandidateChunk], dict[str, list[int]]]:
        """Return the expanded chunks, and the new spans by node id. Chunks that were merged are added to `left_out`."""
        spans = []
        for chunk in chunks:
            parent = parent_span(chunk) if self._query.read_parents else None
            spans.append(ExpandedSpan(chunk, parent or (chunk.node.start, chunk.node.end)))
        needed = self._needed_documents(spans)
        if not needed:
            return list(chunks), {}
        texts, outlines = self._documents(needed)
        sentences = self._query.widen_sentences
        if sentences:
            spans = [
                ExpandedSpan(one.chunk, widen_span(texts[one.chunk.document], one.span, sentences)) for one in spans
            ]
        # Overlapping chunks would repeat sentences.
        if self._query.merge_adjacent or sentences:
            spans = merge_touching(spans, texts)
        expanded = [
            read_span(one, texts.get(one.chunk.document, ""), outlines.get(one.chunk.document)) for one in spans
        ]
        gone = {chunk.node.node_id for chunk in chunks} - {chunk.node.node_id for chunk in expanded}
        merged = {
            node.node_id: chunk.node.node_id for chunk in expanded for node in chunk.matches if node.node_id in gone
        }
        if merged:
            left_out["merged with one it touches"] = merged
        wider = {chunk.node.node_id: [chunk.node.start, chunk.node.end] for chunk in expanded if chunk.matches}
        return expanded, wider

    def _needed_documents(self, spans: Sequence[ExpandedSpan]) -> set[DocumentKey]:
        shared = Counter(one.chunk.document for one in spans)
        return {
            one.chunk.document
            for one in spans
            if self._query.widen_sentences
            or one.span != (one.chunk.node.start, one.chunk.node.end)
            or (self._query.merge_adjacent and shared[one.chunk.document] > 1)
        }

    def _documents(self, needed: Iterable[DocumentKey]) -> tuple[dict[DocumentKey, str], dict[DocumentKey, Outline]]:
        by_collection: dict[str, list[str]] = defaultdict(list)
        for collection, document in needed:
            by_collection[collection].append(document)
        texts: dict[DocumentKey, str] = {}
        outlines: dict[DocumentKey, Outline] = {}
        for collection, documents in by_collection.items():
            generation = self._generations[collection]
            texts |= {(collection, key): text for key, text in generation.texts(documents).items()}
            outlines |= {(collection, key): outline for key, outline in generation.outlines(documents).items()}
        return texts, outlines
