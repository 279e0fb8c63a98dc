"""The file that a collection travels in: one zip of a manifest, documents as JSON lines, and vectors as raw numbers.

`documents.jsonl` has one document a line, a part of a file after its file; `vectors.keys` the 32-byte hashes of the
embedded texts in ascending order; `vectors.f32` one little-endian float32 vector for each. There are no paths of any
machine in it but those below the roots, which have names only, and nothing in it is ever executed or unpickled.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

FORMAT = "elt-llm-collection"
VERSION = 1
MANIFEST, DOCUMENTS, KEYS, VECTORS = "manifest.json", "documents.jsonl", "vectors.keys", "vectors.f32"
MEMBERS = (DOCUMENTS, KEYS, VECTORS, MANIFEST)  # in the order they are written
KEY_BYTES = 32
_MOST = 2**62  # what SQLite's integers take, with room to add

Count = Annotated[int, Field(ge=0, le=_MOST)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _is_below(path: str) -> str:
    """Raises ValueError for a path that does not lead down from a folder."""
    steps = path.split("/")
    if "\0" in path or not steps[0] or ".." in steps:
        raise ValueError("is not a path below a folder")
    return path


def _is_moment(text: str) -> str:
    """Raises ValueError for what is no date and time with its offset."""
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("has no offset from UTC")
    return text


RelativePath = Annotated[str, Field(max_length=4096), AfterValidator(_is_below)]
Moment = Annotated[str, Field(max_length=40), AfterValidator(_is_moment)]
ArtefactName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Member(_Strict):
    """Size in bytes and sha256 in hex of one member, unpacked."""

    size: Count
    sha256: Digest


class ModelFingerprint(_Strict):
    """What an EmbeddingFingerprint has."""

    provider: str
    model: str
    digest: str
    dimension: Annotated[int, Field(ge=1, le=65536)]
    query_prefix: str
    text_prefix: str
    normalised: bool
    token_limit: Count


class ForgottenFile(_Strict):
    """A file that every ingest is to leave out: its id and digests, never its name. Empty: not known by its bytes."""

    document_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    content_hash: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
    name: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]


class Manifest(_Strict):
    """What the file says of itself. `collection_hash` is of the collection as it is published from this file."""

    format: Literal["elt-llm-collection"]
    version: Literal[1]
    collection: str
    collection_hash: Digest
    fingerprint: ModelFingerprint
    chunker: str
    language: str
    chroma: dict[str, str | int]
    library_versions: dict[str, str]
    roots: tuple[RelativePath, ...]
    documents: Count
    nodes: Count
    vectors: Count
    members: dict[str, Member]
    forgotten: tuple[ForgottenFile, ...] = ()


class ExchangedNode(_Strict):
    """One chunk; its text is `document.text[start:end]`."""

    node_id: Annotated[str, Field(pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")]
    start: Count
    end: Count
    page: Count | None
    section: str | None
    context: str
    metadata: dict[str, str | int | float | bool | list[str]]
    stems: str


class ExchangedDocument(_Strict):
    """One document version. `part_of` is the number of its file's line, from 0, where it is a part of that."""

    part_of: Count | None
    document_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    root: RelativePath
    path: RelativePath
    content_hash: Digest
    size: Count
    reader: str
    chunker: str
    tokeniser: str
    outcome: Literal["ok", "empty"]
    title: str
    text: str
    pages: tuple[Count, ...]
    sections: tuple[tuple[Count, Count, str], ...]
    metadata: dict[str, str | int | float | bool | list[str]]
    notes: tuple[str, ...]
    part: str
    extraction: str
    modified_at: Moment | None
    created_at: Moment
    artefacts: dict[ArtefactName, Any]
    nodes: tuple[ExchangedNode, ...]
