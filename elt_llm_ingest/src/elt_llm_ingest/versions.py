"""One file to one document version: read, cut, and made ready for the store."""

import hashlib
import re
import uuid
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.store.records import NewDocument, NewNode, document_id, sha256
from elt_llm_core.text.language import detect_language
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_ingest.chunkers.span_chunker import SpanChunker
from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers.document_reader import DocumentReader
from elt_llm_ingest.roots import Located

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


def reader_identity(reader: DocumentReader) -> str:
    """What a version records of its reader."""
    return reader.identity


def node_id(document: str, chunker: str, text: str, occurrence: int) -> str:
    """Identity of a chunk: the same text in the same document keeps it, wherever it moves to."""
    return str(uuid.uuid5(_NODE_NAMESPACE, f"{document}:{chunker}:{sha256(text).hex()}:{occurrence}"))


@dataclass(frozen=True)
class Origin:
    """Where a text comes from: its place, the sha256 and number of its bytes, and what read them."""

    root: str
    path: str
    content_hash: bytes
    size: int
    reader: str


class VersionMaker:
    """Makes document versions for one collection with one chunker; `chunker_identity` names its model as well."""

    def __init__(self, collection: str, chunker: SpanChunker, chunker_identity: str) -> None:
        self.collection = collection
        self.chunker_identity = chunker_identity
        self._chunker = chunker
        self._tokenisers: dict[str, KeywordTokeniser] = {}

    def make(self, located: Located, reader: DocumentReader, digest: bytes) -> NewDocument:
        """Read and cut one file whose bytes had hash `digest`.

        Raises UnreadableDocument, also if the file changed meanwhile.
        """
        parsed = reader.read(located.file.path)
        if content_hash(located.file.path) != digest:
            raise UnreadableDocument("changed while it was read; run the ingest again")
        origin = Origin(located.root, located.relative, digest, located.file.size, reader_identity(reader))
        return self.from_parsed(origin, parsed)

    def from_parsed(self, origin: Origin, parsed: ParsedDocument) -> NewDocument:
        """Cut a text that was read already."""
        parsed = _with_valid_text(parsed)
        identity = document_id(self.collection, origin.root, origin.path)
        tokeniser = self._tokeniser_for(parsed.text)
        nodes = self._nodes(identity, parsed, tokeniser)
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
            metadata=parsed.metadata,
            notes=parsed.notes,
            nodes=nodes,
        )

    def _tokeniser_for(self, text: str) -> KeywordTokeniser:
        """A tokeniser of the document's own language: most likely the one its collection will be indexed with."""
        language = detect_language(text[:_LANGUAGE_SAMPLE])
        return self._tokenisers.setdefault(language, KeywordTokeniser(language))

    def _nodes(self, document: str, parsed: ParsedDocument, tokeniser: KeywordTokeniser) -> tuple[NewNode, ...]:
        seen: Counter[str] = Counter()
        nodes = []
        for span in self._chunker.spans(parsed):
            text = parsed.text[span.start : span.end]
            node = NewNode(
                node_id=node_id(document, self.chunker_identity, text, seen[text]),
                start=span.start,
                end=span.end,
                text=text,
                context=span.context,
                page=parsed.page_at(span.start),
                section=parsed.outline.section_at(span.start),
                metadata={"kind": span.kind},
                stems=" ".join(tokeniser.stems(f"{span.context}\n{text}" if span.context else text)),
            )
            seen[text] += 1
            nodes.append(node)
        return tuple(nodes)


def _with_valid_text(parsed: ParsedDocument) -> ParsedDocument:
    """The document with characters that cannot be stored replaced one for one, so that offsets hold."""
    if not _LONE_SURROGATE.search(parsed.text + parsed.title):
        return parsed
    return ParsedDocument(
        text=_LONE_SURROGATE.sub("\ufffd", parsed.text),
        title=_LONE_SURROGATE.sub("\ufffd", parsed.title),
        pages=parsed.pages,
        sections=parsed.sections,
        blocks=parsed.blocks,
        metadata=parsed.metadata,
        notes=parsed.notes,
    )
