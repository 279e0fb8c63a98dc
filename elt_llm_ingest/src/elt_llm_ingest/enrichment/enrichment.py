"""Add written contexts to stored document versions, resumably, and estimate the cost beforehand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from elt_llm_core.progress import ProgressListener
from elt_llm_core.store.documents import StoredFile, file_versions_of, read_file_version
from elt_llm_core.store.nodes import EnrichmentTable
from elt_llm_core.store.records import NewDocument, NewNode
from elt_llm_core.store.store import Store
from elt_llm_core.text.language import detect_language
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_core.utilities import Failpoint, failpoint

from elt_llm_ingest.chunkers.span_chunker import SENTENCE_TOKENS
from elt_llm_ingest.enrichment.context_writer import ContextWriter, context_prompt

_CHARACTERS_PER_TOKEN = 4  # of a language model, roughly, in running text


@dataclass(frozen=True)
class EnrichmentCost:
    """Remaining calls, chunks whose sentence is stored, and a rough estimate of tokens read and written."""

    calls: int
    known: int
    tokens_read: int
    tokens_written: int

    def __str__(self) -> str:
        """The cost in one sentence."""
        if not self.calls:
            return f"Contexts: all {self.known} chunks have theirs; the language model is not asked."
        return (
            f"Contexts: the language model will be asked {self.calls} times, reading about {self.tokens_read} tokens"
            f" and writing up to {self.tokens_written}; {self.known} chunks have theirs already."
        )


_LANGUAGE_SAMPLE = 20_000


def enriched_extraction(extraction: str, writer: ContextWriter) -> str:
    """Return the extraction of enriched versions; it is part of their key, so that a later run finds them."""
    ending = f"|{writer.identity}"
    return extraction if extraction.endswith(ending) else extraction + ending


def enrichment_cost(store: Store, versions: Sequence[int], writer: ContextWriter) -> EnrichmentCost:
    """Estimate the cost of `enrich_versions`; equal requests are counted once, and nothing is asked or written."""
    cache = EnrichmentTable(store.database)
    calls: set[bytes] = set()
    nodes = characters = 0
    for document in _pending_versions(store, versions, writer):
        keys = {writer.key(document, node): node for node in document.nodes}
        nodes += len(document.nodes)
        for key in keys.keys() - cache.known(keys).keys() - calls:
            calls.add(key)
            characters += len(context_prompt(document, keys[key]))
    return EnrichmentCost(
        calls=len(calls),
        known=nodes - len(calls),
        tokens_read=characters // _CHARACTERS_PER_TOKEN,
        tokens_written=len(calls) * SENTENCE_TOKENS,
    )


def enrich_versions(
    store: Store, versions: Sequence[int], writer: ContextWriter, progress: ProgressListener
) -> list[int]:
    """Return the enriched versions that replace `versions`, with those of documents within the files, ascending.

    The cost is reported before the first call. Every sentence is stored as it arrives. Raises the model's errors; the
    same call again asks only for missing sentences. The caller holds the writer's lock.
    """
    cost = enrichment_cost(store, versions, writer)
    progress.note(str(cost))
    progress.stage("enrich", cost.calls)
    run = _Enricher(store, writer, progress)
    enriched = [number for file in file_versions_of(store.database, versions) for number in run.enriched(file)]
    if run.unusable:
        progress.note(f"Contexts: {run.unusable} replies could not be used; these chunks have no context.")
    return sorted(enriched)


class _Enricher:
    def __init__(self, store: Store, writer: ContextWriter, progress: ProgressListener) -> None:
        self._store, self._writer, self._progress = store, writer, progress
        self._cache = EnrichmentTable(store.database)
        self._tokenisers: dict[str, KeywordTokeniser] = {}
        self.unusable = 0

    def enriched(self, file: int) -> list[int]:
        """The versions that replace those of a file; the same ones if they are enriched already."""
        stored = read_file_version(self._store.database, file)
        if _is_enriched(stored, self._writer):
            return list(stored.numbers)
        extraction = enriched_extraction(stored.document.extraction, self._writer)
        number = self._store.documents.find(replace(stored.document, extraction=extraction).key)
        if number is None:
            document, *parts = (self._document(document) for document in (stored.document, *stored.parts))
            number = self._store.documents.add(stored.collection, document, parts)
        return self._store.documents.with_parts([number])

    def _document(self, document: NewDocument) -> NewDocument:
        language = detect_language(document.text[:_LANGUAGE_SAMPLE])
        tokeniser = self._tokenisers.setdefault(language, KeywordTokeniser(language))
        known = self._cache.known(self._writer.key(document, node) for node in document.nodes)
        nodes = [self._node(document, node, tokeniser, known) for node in document.nodes]
        return replace(
            document,
            nodes=tuple(nodes),
            tokeniser=tokeniser.fingerprint,
            extraction=enriched_extraction(document.extraction, self._writer),
        )

    def _node(
        self, document: NewDocument, node: NewNode, tokeniser: KeywordTokeniser, known: dict[bytes, str]
    ) -> NewNode:
        key = self._writer.key(document, node)
        if key not in known:
            known[key] = self._ask(key, document, node)
        sentence = self._writer.fitted(known[key], node)
        if not sentence:
            return replace(node, stems=" ".join(tokeniser.stems(node.embedded_text)))
        context = f"{node.context}\n{sentence}" if node.context else sentence
        longer = replace(node, context=context, metadata={**node.metadata, "enrichment": sentence})
        return replace(longer, stems=" ".join(tokeniser.stems(longer.embedded_text)))

    def _ask(self, key: bytes, document: NewDocument, node: NewNode) -> str:
        with failpoint(Failpoint.ENRICH):
            sentence = self._writer.write(document, node)
            self._cache.add(key, sentence)
        self.unusable += not sentence
        self._progress.advance(1, document.path)
        return sentence


def _is_enriched(stored: StoredFile, writer: ContextWriter) -> bool:
    return stored.document.extraction == enriched_extraction(stored.document.extraction, writer)


def _pending_versions(store: Store, versions: Sequence[int], writer: ContextWriter) -> Iterator[NewDocument]:
    """The documents of these versions that are not enriched by this writer."""
    for file in file_versions_of(store.database, versions):
        stored = read_file_version(store.database, file)
        if not _is_enriched(stored, writer):
            yield from (stored.document, *stored.parts)
