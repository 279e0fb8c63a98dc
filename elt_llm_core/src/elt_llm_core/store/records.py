"""The shapes that go into the store and come out of it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from elt_llm_core.outline import Section

Outcome = Literal["ok", "empty"]
MetadataValue = str | int | float | bool | list[str]


def sha256(*parts: bytes | str) -> bytes:
    """Digest of parts, each preceded by its length, so that no two lists of parts look alike."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.digest()


def canonical_json(value: Any) -> str:
    """JSON that is equal for equal values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class NewNode:
    """One chunk to be stored: text == document text[start:end]; `stems` are its keyword terms, joined by spaces."""

    node_id: str
    start: int
    end: int
    text: str
    context: str
    page: int | None
    section: str | None
    metadata: Mapping[str, MetadataValue]
    stems: str

    @property
    def embedded_text(self) -> str:
        """What is embedded and indexed: context, then text."""
        return f"{self.context}\n{self.text}" if self.context else self.text


@dataclass(frozen=True)
class NewDocument:
    """One version of a document to be stored, with its nodes in order.

    `part` names a document within a file, such as one fact sheet; empty for the file itself. `extraction` is what
    metadata was made by. `modified_at` is when the file was last written (ISO 8601, UTC), which is no change.
    `artefacts` are JSON values by name, kept with every generation that contains the version.
    """

    document_id: str
    root: str
    path: str
    content_hash: bytes
    size: int
    reader: str
    chunker: str
    tokeniser: str
    outcome: Outcome
    title: str
    text: str
    pages: tuple[int, ...]
    metadata: Mapping[str, MetadataValue]
    notes: tuple[str, ...]
    nodes: tuple[NewNode, ...]
    sections: tuple[Section, ...] = ()
    part: str = ""
    extraction: str = ""
    modified_at: str | None = None
    artefacts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> bytes:
        """What makes this version this one; a version with the same key is never parsed again."""
        return version_key(self.document_id, self.content_hash, self.reader, self.chunker, self.extraction)


def version_key(document_id: str, content_hash: bytes, reader: str, chunker: str, extraction: str = "") -> bytes:
    """Identity of a document version, known before the document is read."""
    return sha256(document_id, content_hash, reader, chunker, *([extraction] if extraction else []))


def document_id(collection: str, root: str, path: str) -> str:
    """Identity of a document: 32 hex digits, equal for the same place in the same collection."""
    return sha256(collection, root, path).hex()[:32]


@dataclass(frozen=True)
class StoredNode:
    """A chunk with what is needed to read and cite it."""

    node_id: str
    document_id: str
    source: str
    title: str
    document_hash: str
    text: str
    context: str
    start: int
    end: int
    page: int | None
    section: str | None
    ordinal: int
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StoredDocument:
    """A document as its readers see it. `text` is empty where only a listing was asked for."""

    version: int
    document_id: str
    source: str
    root: str
    title: str
    document_hash: str
    outcome: str
    text: str
    pages: tuple[int, ...]
    size: int
    nodes: int
    metadata: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    part: str = ""


@dataclass(frozen=True)
class FileRecord:
    """What the last scan saw of one file; `outcome` is of that attempt, perhaps later than what is published."""

    document_id: str
    root: str
    path: str
    size: int
    modified_ns: int
    checked_ns: int
    content_hash: bytes
    outcome: str
    reason: str


@dataclass(frozen=True)
class GenerationRecord:
    """One generation's row. `fresh_base` is the last generation whose Chroma index was built from nothing."""

    number: int
    created_at: str
    fresh_base: int
    changed_since_fresh: int
    documents: int
    nodes: int
    collection_hash: bytes
    passport: str


@dataclass(frozen=True)
class CollectionRecord:
    """One collection's row. `published` is what readers see; None until something is."""

    id: int
    name: str
    created_at: str
    published: int | None
    previous: int | None
    last_number: int
    rolled_back: bool


@dataclass(frozen=True)
class RunRecord:
    """One ingest, finished or not."""

    id: int
    collection: str
    command: str
    started_at: str
    finished_at: str | None
