"""Stored versions to versions whose nodes have a sentence of context more. Cut off, it goes on where it was."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from elt_llm_core.failpoints import Stage, stage
from elt_llm_core.progress import Progress
from elt_llm_core.store.enrichments import Enrichments
from elt_llm_core.store.records import NewDocument, NewNode
from elt_llm_core.store.rewriting import StoredFile, files_of, read_file_version
from elt_llm_core.store.store import Store
from elt_llm_core.text.language import detect_language
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_ingest.enrichment.context_writer import ContextWriter
from elt_llm_ingest.enrichment.cost import Cost, cost_of

_LANGUAGE_SAMPLE = 20_000


def enriched_extraction(extraction: str, writer: ContextWriter) -> str:
    """What the versions made by `enrich` record as their extraction, so that a later run knows them by their key."""
    ending = f"|{writer.identity}"
    return extraction if extraction.endswith(ending) else extraction + ending


def enrichment_cost(store: Store, versions: Sequence[int], writer: ContextWriter) -> Cost:
    """What `enrich` would cost for these stored versions; nothing is asked or written."""
    return cost_of(_waiting(store, versions, writer), Enrichments(store.database), writer)


def enrich(store: Store, versions: Sequence[int], writer: ContextWriter, progress: Progress) -> list[int]:
    """Versions to publish in place of `versions`, those of documents within the files included, ascending.

    Says what it will cost before the language model is asked first. Every sentence is kept as it arrives. Raises what
    the model raises; the same call again then asks only for what is missing. The caller holds the writer's lock.
    """
    cost = enrichment_cost(store, versions, writer)
    progress.note(str(cost))
    progress.stage("enrich", cost.calls)
    run = _Enriching(store, writer, progress)
    found = [number for file in files_of(store.database, versions) for number in run.rewritten(file)]
    if run.unusable:
        progress.note(f"Contexts: {run.unusable} replies could not be used; these passages go without.")
    return sorted(found)


class _Enriching:
    def __init__(self, store: Store, writer: ContextWriter, progress: Progress) -> None:
        self._store, self._writer, self._progress = store, writer, progress
        self._cache = Enrichments(store.database)
        self._tokenisers: dict[str, KeywordTokeniser] = {}
        self.unusable = 0

    def rewritten(self, file: int) -> list[int]:
        """The versions that take the place of a file's, perhaps these themselves."""
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
        with stage(Stage.ENRICH):
            sentence = self._writer.write(document, node)
            self._cache.add(key, sentence)
        self.unusable += not sentence
        self._progress.advance(1, document.path)
        return sentence


def _is_enriched(stored: StoredFile, writer: ContextWriter) -> bool:
    return stored.document.extraction == enriched_extraction(stored.document.extraction, writer)


def _waiting(store: Store, versions: Sequence[int], writer: ContextWriter) -> Iterator[NewDocument]:
    """The documents of these versions that the writer has not gone over."""
    for file in files_of(store.database, versions):
        stored = read_file_version(store.database, file)
        if not _is_enriched(stored, writer):
            yield from (stored.document, *stored.parts)
