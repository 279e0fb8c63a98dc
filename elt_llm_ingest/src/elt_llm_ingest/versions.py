"""One parsed file to document versions: cut, described, and made ready for the store."""

import hashlib
import re
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.failpoints import Stage, stage
from elt_llm_core.store.records import MetadataValue, NewDocument, NewNode, canonical_json, document_id, sha256
from elt_llm_core.text.language import detect_language
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_ingest.chunkers.chunk_spans import ChunkSpan
from elt_llm_ingest.chunkers.span_chunker import SpanChunker, parent_of
from elt_llm_ingest.metadata.chunk_metadata import ChunkMetadata
from elt_llm_ingest.parsed_document import ParsedDocument, Part

_NODE_NAMESPACE = uuid.UUID("5f0c3c52-6a5e-5d0b-9f39-8d9c9b6f3b11")
_LANGUAGE_SAMPLE = 20_000
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def content_hash(path: Path) -> bytes:
    """sha256 of a file's bytes. Raises UnreadableDocument if it cannot be opened."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").digest()
    except OSError as error:
        raise UnreadableDocument(f"cannot be opened: {error.strerror or error}") from error


def node_id(document: str, chunker: str, text: str, occurrence: int) -> str:
    """Identity of a chunk: the same text in the same document keeps it, wherever it moves to."""
    return str(uuid.uuid5(_NODE_NAMESPACE, f"{document}:{chunker}:{sha256(text).hex()}:{occurrence}"))


@dataclass(frozen=True)
class Origin:
    """Where a text comes from: its place, the sha256 and number of its bytes, and what read them.

    `modified_at` is when the file was last written, ISO 8601 in UTC; `part` names a document within the file.
    """

    root: str
    path: str
    content_hash: bytes
    size: int
    reader: str
    modified_at: str | None = None
    part: str = ""


@dataclass(frozen=True)
class Description:
    """What is put onto documents and chunks besides their text; `scope` names the part of each file that is taken."""

    chunks: ChunkMetadata = field(default_factory=ChunkMetadata)
    static: Mapping[str, MetadataValue] = field(default_factory=dict)
    scope: str = ""

    @property
    def identity(self) -> str:
        """What a version records of it: versions described otherwise are others."""
        given = sha256(canonical_json(dict(self.static))).hex()[:12] if self.static else ""
        return "|".join((self.chunks.fingerprint, given, self.scope)).rstrip("|")


class VersionMaker:
    """Makes document versions for one collection with one chunker; `chunker_identity` names its model as well."""

    def __init__(
        self, collection: str, chunker: SpanChunker, chunker_identity: str, description: Description | None = None
    ) -> None:
        self.collection = collection
        self.chunker_identity = chunker_identity
        self._chunker = chunker
        self._description = description or Description()
        self.extraction = self._description.identity
        self._tokenisers: dict[str, KeywordTokeniser] = {}

    def from_parsed(self, origin: Origin, parsed: ParsedDocument) -> list[NewDocument]:
        """Cut a text that was read: the file's own version, then those of the documents within it."""
        with stage(Stage.CHUNK):
            parts = [self._version(_within(origin, part), part.document) for part in parsed.parts]
            own = self._version(origin, parsed)
        if any(part.nodes for part in parts):
            own = replace(own, outcome="ok")
        return [replace(own, artefacts=parsed.artefacts), *parts]

    def _version(self, origin: Origin, parsed: ParsedDocument) -> NewDocument:
        parsed = _with_valid_text(parsed)
        identity = document_id(self.collection, origin.root, origin.path)
        language = detect_language(parsed.text[:_LANGUAGE_SAMPLE])
        # A document's own language is most likely the one its collection will be indexed in.
        tokeniser = self._tokenisers.setdefault(language, KeywordTokeniser(language))
        nodes = tuple(self._nodes(identity, parsed, tokeniser))
        return NewDocument(
            document_id=identity,
            root=origin.root,
            path=origin.path,
            content_hash=origin.content_hash,
            size=origin.size,
            reader=origin.reader,
            chunker=self.chunker_identity,
            tokeniser=tokeniser.fingerprint,
            outcome="ok" if nodes else "empty",
            title=parsed.title,
            text=parsed.text,
            pages=parsed.pages,
            sections=parsed.sections,
            metadata={**parsed.metadata, "language": language, **self._description.static},
            notes=parsed.notes,
            nodes=nodes,
            part=origin.part,
            extraction=self.extraction,
            modified_at=origin.modified_at,
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
                metadata=self._metadata(span, text, tokeniser.language),
                stems=" ".join(tokeniser.stems(f"{span.context}\n{text}" if span.context else text)),
            )
            seen[text] += 1

    def _metadata(self, span: ChunkSpan, text: str, language: str) -> dict[str, MetadataValue]:
        found: dict[str, MetadataValue] = {"kind": span.kind, "tokens": span.tokens, **parent_of(span)}
        return found | self._description.chunks.of(text, language)


def _within(origin: Origin, part: Part) -> Origin:
    return replace(origin, path=f"{origin.path}#{part.name}", part=part.name)


def _with_valid_text(parsed: ParsedDocument) -> ParsedDocument:
    """The document with characters that cannot be stored replaced one for one, so that offsets hold."""
    if not _LONE_SURROGATE.search(parsed.text + parsed.title):
        return parsed
    return replace(
        parsed, text=_LONE_SURROGATE.sub("\ufffd", parsed.text), title=_LONE_SURROGATE.sub("\ufffd", parsed.title)
    )
