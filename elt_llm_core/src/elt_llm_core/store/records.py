"""The records of the store, with their hashes, fingerprints and timestamps."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal

from elt_llm_core.text.outline import Section

Outcome = Literal["ok", "empty"]
MetadataValue = str | int | float | bool | list[str]
OWNER_FIELDS = ("tenant_id", "knowledge_base_id", "doc_type")
"""Metadata fields that only the operator or an upload can set. A document cannot set them by its own content."""


def sha256(*parts: bytes | str) -> bytes:
    """Return the SHA-256 of the parts. Each is hashed after its length, so that ("ab", "c") and ("a", "bc") differ."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.digest()


def canonical_json(value: Any) -> str:
    """Serialise a value as JSON. Equal values give equal texts."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class NewNode:
    """A chunk to store. `text` equals `document.text[start:end]`. `stems` are its keyword terms, joined by spaces."""

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
        """The text that is embedded and indexed: the context followed by the text."""
        return f"{self.context}\n{self.text}" if self.context else self.text


@dataclass(frozen=True)
class NewDocument:
    """A document version to store, with its nodes in order.

    `part` names a part of a file, such as one fact sheet, and is empty for the whole file. `extraction` identifies the
    method by which metadata was extracted. `modified_at` is the file's modification time (ISO 8601, UTC); if only that
    changes, no new version is created. `artefacts` are JSON values by name that the reader extracted in addition to the
    text. They are stored with every generation that contains the version.
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
        """A hash that identifies the document version. A file whose key is in the store is not parsed again."""
        return version_key(self.document_id, self.content_hash, self.reader, self.chunker, self.extraction)


def version_key(document_id: str, content_hash: bytes, reader: str, chunker: str, extraction: str = "") -> bytes:
    """Return a hash that identifies a document version. It can be computed before the document is parsed."""
    return sha256(document_id, content_hash, reader, chunker, *([extraction] if extraction else []))


def document_id(collection: str, root: str, path: str) -> str:
    """Return a document's id: 32 hex digits that depend only on its collection, source folder and path."""
    return sha256(collection, root, path).hex()[:32]


@dataclass(frozen=True)
class StoredNode:
    """A stored chunk with the fields that are needed to show and cite the chunk."""

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
    """A stored document version. `text` is empty if only the description was read."""

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
    modified_at: str | None = None

    @property
    def content_key(self) -> tuple[str | None, ...]:
        """A key that is equal for identical documents with equal `tenant_id`, `knowledge_base_id` and `doc_type`."""
        return content_key(self.document_hash, self.part, [self.metadata.get(name) for name in OWNER_FIELDS])


def content_key(document_hash: str, part: str, owner: Iterable[Any]) -> tuple[str | None, ...]:
    """Return a key that is equal for identical documents of the same owner. Only one of them is indexed.

    `owner` has the document's values of `OWNER_FIELDS`: `tenant_id`, `knowledge_base_id` and `doc_type`.
    """
    return (document_hash, part, *(None if value is None else str(value) for value in owner))


@dataclass(frozen=True)
class FileRecord:
    """A file as the last scan found it, with the `outcome` of reading it. The published version may be older."""

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
    """The row of a generation. `fresh_base` is the last generation whose index was built from scratch, not copied."""

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
    """The row of a collection. `published` is the number of the published generation, or None if there is none."""

    id: int
    name: str
    created_at: str
    published: int | None
    previous: int | None
    last_number: int
    rolled_back: bool


@dataclass(frozen=True)
class RunRecord:
    """One run of an ingest. `finished_at` is None if the run is still active or was interrupted."""

    id: int
    collection: str
    command: str
    started_at: str
    finished_at: str | None


@dataclass(frozen=True)
class LockHolder:
    """The process that holds the writer's lock. `host` is the machine on which it runs, or "" for this machine."""

    pid: int
    started_at: str
    command: str
    host: str = ""

    def __str__(self) -> str:
        """Return a text such as "process 71 on host-b (elt-llm ingest, since 2026-05-01T14:00:00+00:00)"."""
        return f"process {self.pid}{' on ' if self.host else ''}{self.host} ({self.command}, since {self.started_at})"


def utc_now(timespec: str = "seconds") -> str:
    """Return the current time in UTC, as ISO 8601; to the microsecond if times are compared to find the latest."""
    return datetime.now(UTC).isoformat(timespec=timespec)


@dataclass(frozen=True)
class EmbeddingFingerprint:
    """Everything that determines a model's vectors. `digest` is a hash of the model, from its files or its server."""

    provider: str
    model: str
    digest: str
    dimension: int
    query_prefix: str
    text_prefix: str
    normalised: bool
    token_limit: int

    @cached_property
    def key(self) -> bytes:
        """A hash of 32 bytes that is equal for equal fingerprints on every machine."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).digest()

    def __str__(self) -> str:
        """Return a text such as "embedded all-MiniLM-L6-v2 (384-d, 8199be6f)"."""
        return f"{self.provider} {self.model} ({self.dimension}-d, {self.digest[:8]})"
