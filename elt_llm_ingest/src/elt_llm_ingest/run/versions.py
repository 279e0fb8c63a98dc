"""Make document versions (text, metadata and chunks) from parsed files, embed them, and describe their index."""

import hashlib
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.index.builder import GenerationRecipe
from elt_llm_core.models.embedding_model import EmbeddingModel, check_unit_vectors
from elt_llm_core.progress import ProgressListener
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.records import (
    OWNER_FIELDS,
    MetadataValue,
    NewDocument,
    NewNode,
    canonical_json,
    document_id,
    sha256,
)
from elt_llm_core.store.store import Store
from elt_llm_core.text.language import detect_language
from elt_llm_core.text.normalise import replace_surrogates
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_core.utilities import Failpoint, failpoint

from elt_llm_ingest.chunkers import create_chunker
from elt_llm_ingest.chunkers.span_chunker import parent_metadata
from elt_llm_ingest.metadata.chunk_metadata import ChunkMetadata
from elt_llm_ingest.parsing.parsed_document import ParsedDocument

_NODE_NAMESPACE = uuid.UUID("5f0c3c52-6a5e-5d0b-9f39-8d9c9b6f3b11")
_LANGUAGE_SAMPLE = 20_000


def content_hash(path: Path) -> bytes:
    """Return the SHA-256 hash of a file's bytes. Raises UnreadableDocument if it cannot be opened."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").digest()
    except OSError as error:
        raise UnreadableDocument(f"cannot be opened: {error.strerror or error}") from error


def node_id(document: str, chunker: str, text: str, occurrence: int) -> str:
    """Return the id of a chunk, which stays the same if the chunk moves. `occurrence` counts equal texts before it."""
    return str(uuid.uuid5(_NODE_NAMESPACE, f"{document}:{chunker}:{sha256(text).hex()}:{occurrence}"))


@dataclass(frozen=True)
class DocumentOrigin:
    """The origin of a text: root (source folder) and path, hash and size of the file, and the reader's identity.

    `modified_at` is the time of the last write, ISO 8601 in UTC. `part` names a document within the file.
    """

    root: str
    path: str
    content_hash: bytes
    size: int
    reader: str
    modified_at: str | None = None
    part: str = ""


class VersionMaker:
    """Makes document versions for one collection, with the configured chunker, metadata rules and embedding model.

    `metadata` is added to every document. `scope` is the part of each file that is ingested: "section:Fees", or "".
    `chunker_identity` names the chunker and the embedding model.
    """

    def __init__(
        self,
        collection: str,
        settings: Settings,
        embedding: EmbeddingModel,
        metadata: Mapping[str, MetadataValue] = MappingProxyType({}),
        scope: str = "",
    ) -> None:
        self.collection = collection
        self._chunker = create_chunker(settings.chunking, embedding)
        model = f"{embedding.fingerprint.model}:{embedding.fingerprint.digest[:16]}"
        self.chunker_identity = f"{self._chunker.fingerprint}|{model}"
        self._chunk_metadata = ChunkMetadata(settings.ingest.topics, settings.ingest.organisations)
        self._metadata = {name: str(value) if name in OWNER_FIELDS else value for name, value in metadata.items()}
        # The part of a version's key that changes whenever the metadata of some document could change.
        digest = sha256(canonical_json(self._metadata)).hex()[:12] if self._metadata else ""
        self.extraction = "|".join((self._chunk_metadata.fingerprint, digest, scope)).rstrip("|")
        self._tokenisers: dict[str, KeywordTokeniser] = {}

    def extraction_of(self, owner: Mapping[str, str]) -> str:
        """Return the `extraction` of a file's versions, the part of a version's key that changes with its metadata.

        `owner` contains the file's owner fields: {"tenant_id": "acme"} -> "9c1e|owner:7fd0"; {} -> "9c1e".
        """
        fields = sha256(canonical_json(dict(owner))).hex()[:12]
        return f"{self.extraction}|owner:{fields}" if owner else self.extraction

    def from_parsed(
        self, origin: DocumentOrigin, parsed: ParsedDocument, owner: Mapping[str, str] | None = None
    ) -> list[NewDocument]:
        """Chunk a parsed file. Return the file's document version first, then those of the documents within it.

        `owner` contains the owner fields, such as a tenant, from the file's path.
        """
        with failpoint(Failpoint.CHUNK):
            parts = [
                self._version(
                    replace(origin, path=f"{origin.path}#{part.name}", part=part.name), part.document, owner or {}
                )
                for part in parsed.parts
            ]
            own = self._version(origin, parsed, owner or {})
        if any(part.nodes for part in parts):
            own = replace(own, outcome="ok")
        return [replace(own, artefacts=parsed.artefacts), *parts]

    def _version(self, origin: DocumentOrigin, parsed: ParsedDocument, owner: Mapping[str, str]) -> NewDocument:
        # Each character that cannot be stored is replaced by another single character, so that offsets stay valid.
        parsed = replace(parsed, text=replace_surrogates(parsed.text), title=replace_surrogates(parsed.title))
        # A document itself must not decide to which tenant it belongs.
        metadata = {name: value for name, value in parsed.metadata.items() if name not in OWNER_FIELDS}
        identity = document_id(self.collection, origin.root, origin.path)
        language = detect_language(parsed.text[:_LANGUAGE_SAMPLE])
        # The keyword index will most likely use the same language.
        tokeniser = self._tokenisers.setdefault(language, KeywordTokeniser(language))
        nodes = tuple(self._nodes(identity, parsed, tokeniser))
        return NewDocument(
            **vars(origin),
            document_id=identity,
            chunker=self.chunker_identity,
            tokeniser=tokeniser.fingerprint,
            outcome="ok" if nodes else "empty",
            title=parsed.title,
            text=parsed.text,
            pages=parsed.pages,
            sections=parsed.sections,
            metadata={**metadata, "language": language, **self._metadata, **owner},
            notes=parsed.notes,
            nodes=nodes,
            extraction=self.extraction_of(owner),
        )

    def _nodes(self, document: str, parsed: ParsedDocument, tokeniser: KeywordTokeniser) -> Iterator[NewNode]:
        seen: Counter[str] = Counter()
        for span in self._chunker.spans(parsed):
            text = parsed.text[span.start : span.end]
            yield NewNode(
                node_id=node_id(document, self.chunker_identity, text, seen[text]),
                start=span.start,
                end=span.end,
                text=text,
                context=span.context,
                page=parsed.page_at(span.start),
                section=parsed.outline.section_at(span.start),
                metadata={"kind": span.kind, "tokens": span.tokens, **parent_metadata(span)}
                | self._chunk_metadata.of(text, tokeniser.language),
                stems=" ".join(tokeniser.stems(f"{span.context}\n{text}" if span.context else text)),
            )
            seen[text] += 1


_SAMPLE_DOCUMENTS, _SAMPLE_CHARACTERS = 100, 2_000  # the most documents, and characters of each, for language detection


def index_recipe(settings: Settings, embedding: EmbeddingModel, language: str) -> GenerationRecipe:
    """Return the recipe by which a generation is built. `language` is that of the keyword stemmer."""
    return GenerationRecipe(
        fingerprint=embedding.fingerprint,
        chunker=create_chunker(settings.chunking, embedding).fingerprint,
        tokeniser=KeywordTokeniser(language),
        chroma=settings.chroma,
        graph_from=settings.storage.graph_from,
        index=settings.index,
    )


def collection_language(store: Store, versions: Sequence[int]) -> str:
    """Detect the language in a sample of these document versions. The result is English if it is unclear."""
    ordered = sorted(versions)
    step = max(1, len(ordered) // _SAMPLE_DOCUMENTS)
    sample = "\n".join(store.documents.text(version)[:_SAMPLE_CHARACTERS] for version in ordered[::step])
    return detect_language(sample)


@dataclass(frozen=True)
class EmbeddingCounts:
    """The number of texts embedded in this run, and of texts whose vectors were already stored."""

    new: int
    reused: int


def embed_missing(
    store: Store, versions: Sequence[int], embedding: EmbeddingModel, batch_size: int, progress: ProgressListener
) -> EmbeddingCounts:
    """Embed the nodes (chunks) of these versions that have no vector yet, in batches that are stored in order.

    `embedding.concurrency` batches are embedded at the same time. An interrupted run loses at most these batches.
    """
    fingerprint, indexed = embedding.fingerprint.key, store.documents.indexed(versions)
    embedded: set[int] = set()
    for published in store.generations.embedded_with(fingerprint):
        if not embedded.issuperset(indexed) and not set(indexed).isdisjoint(published):
            embedded.update(store.documents.indexed(published))  # identical documents beside these have no vectors
    hashes = store.nodes.embedded_hashes([version for version in indexed if version not in embedded])
    missing = store.vectors.missing(fingerprint, hashes)
    texts = store.nodes.to_embed(sorted({hashes[digest] for digest in missing}))
    progress.stage("embed", len(missing))
    batches = [missing[start : start + batch_size] for start in range(0, len(missing), batch_size)]
    vectors = embedding.embed_batches([texts[digest] for digest in batch] for batch in batches)
    for batch in batches:
        with failpoint(Failpoint.EMBED):
            store.vectors.add(fingerprint, batch, check_unit_vectors(embedding, next(vectors), len(batch)))
        progress.advance(len(batch))
    return EmbeddingCounts(new=len(missing), reused=store.nodes.count_texts(indexed) - len(missing))
