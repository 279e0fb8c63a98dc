"""Document versions read back as they were given, to be stored once more with something about them changed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.errors import StoreError
from elt_llm_core.outline import Section
from elt_llm_core.store.database import Database, Row, batches, marks
from elt_llm_core.store.records import NewDocument, NewNode

_COLUMNS = (
    "v.document_id, v.root, v.path, v.content_hash, v.size, v.reader, v.chunker, v.tokeniser, v.outcome, v.title,"
    " t.text, v.pages, v.metadata, v.notes, v.sections, v.part, v.extraction, v.modified_at"
)


@dataclass(frozen=True)
class StoredFile:
    """A file's version with the documents within it. `numbers` are those of `document` and of each of `parts`."""

    collection: int
    document: NewDocument
    parts: tuple[NewDocument, ...]
    numbers: tuple[int, ...]


def files_of(database: Database, versions: Sequence[int]) -> list[int]:
    """The versions of files that these belong to, ascending: a file's own, or that which a document lies in."""
    found: set[int] = set()
    for batch in batches(versions):
        statement = f"SELECT coalesce(part_of, id) FROM document_versions WHERE id IN ({marks(batch)})"
        found.update(int(number) for (number,) in database.rows(statement, batch))
    return sorted(found)


def read_file_version(database: Database, version: int) -> StoredFile:
    """A file's version as it was given to `Documents.add`. Raises StoreError if it is not in the store."""
    row = database.row("SELECT collection FROM document_versions WHERE id = ?", (version,))
    if row is None:
        raise StoreError(f"Document version {version} is not in the store.", hint="Run: elt-llm verify")
    parts = [
        int(part)
        for (part,) in database.rows("SELECT id FROM document_versions WHERE part_of = ? ORDER BY id", (version,))
    ]
    return StoredFile(
        collection=int(row[0]),
        document=_document(database, version),
        parts=tuple(_document(database, part) for part in parts),
        numbers=(version, *parts),
    )


def _document(database: Database, version: int) -> NewDocument:
    [row] = database.rows(
        f"SELECT {_COLUMNS} FROM document_versions v JOIN texts t ON t.id = v.text WHERE v.id = ?", (version,)
    )
    identity, root, path, digest, size, reader, chunker, tokeniser, outcome, title, text, *described = row
    pages, metadata, notes, sections, part, extraction, modified_at = described
    nodes = database.rows(
        "SELECT node_id, start, end, text, context, page, section, metadata, stems FROM nodes"
        " WHERE version = ? ORDER BY ordinal",
        (version,),
    )
    artefacts = database.rows("SELECT name, content FROM artefacts WHERE version = ?", (version,))
    return NewDocument(
        document_id=identity,
        root=root,
        path=path,
        content_hash=bytes(digest),
        size=int(size),
        reader=reader,
        chunker=chunker,
        tokeniser=tokeniser,
        outcome=outcome,
        title=title,
        text=text,
        pages=tuple(json.loads(pages)),
        metadata=json.loads(metadata),
        notes=tuple(json.loads(notes)),
        nodes=tuple(_node(node) for node in nodes),
        sections=tuple(Section(*section) for section in json.loads(sections)),
        part=part,
        extraction=extraction,
        modified_at=modified_at,
        artefacts={str(name): json.loads(content) for name, content in artefacts},
    )


def _node(row: Row) -> NewNode:
    node_id, start, end, text, context, page, section, metadata, stems = row
    return NewNode(node_id, int(start), int(end), text, context, page, section, json.loads(metadata), stems)
