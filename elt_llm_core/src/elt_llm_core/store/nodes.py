"""Nodes: the chunks of document versions, read back by generation."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.store.database import Database, Row, batches, marks
from elt_llm_core.store.records import StoredNode, canonical_json

# CROSS JOIN keeps SQLite from turning the order round: it would read every document of the generation for a few nodes.
_OF_GENERATION = (
    " FROM nodes n CROSS JOIN document_versions v ON v.id = n.version"
    " CROSS JOIN generation_documents g ON g.version = v.id AND g.collection = ? AND g.generation = ?"
)


@dataclass(frozen=True)
class NodeRecord:
    """What an index needs of a node; texts are fetched only for the few that are shown."""

    node_id: str
    version: int
    embedded_hash: bytes
    page: int | None


class Nodes:
    """The nodes of generations. Within one generation a node id occurs once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def count(self, versions: Sequence[int]) -> int:
        """How many nodes these versions have."""
        return sum(
            int(self._database.rows(f"SELECT count(*) FROM nodes WHERE version IN ({marks(batch)})", batch)[0][0])
            for batch in batches(versions)
        )

    def of_versions(self, versions: Sequence[int]) -> list[NodeRecord]:
        """Every node of these versions, sorted by node id."""
        found: list[Row] = []
        for batch in batches(versions):
            found += self._database.rows(
                f"SELECT node_id, version, embedded_hash, page FROM nodes WHERE version IN ({marks(batch)})", batch
            )
        return sorted((NodeRecord(*row) for row in found), key=lambda node: node.node_id)

    def stems_of_versions(self, versions: Sequence[int]) -> dict[str, tuple[str, str, str]]:
        """By node id: (tokeniser the stems were made by, stems, embedded text)."""
        found: dict[str, tuple[str, str, str]] = {}
        for batch in batches(versions):
            rows = self._database.rows(
                "SELECT n.node_id, v.tokeniser, n.stems, n.context, n.text FROM nodes n"
                f" JOIN document_versions v ON v.id = n.version WHERE n.version IN ({marks(batch)})",
                batch,
            )
            for node_id, tokeniser, stems, context, text in rows:
                found[node_id] = (tokeniser, stems, f"{context}\n{text}" if context else text)
        return found

    def stems_in_generation(
        self, collection: int, generation: int, node_ids: Sequence[str], tokeniser: str
    ) -> dict[str, tuple[str | None, str | None]]:
        """By node id: (its stems, None), or (None, its embedded text) where another tokeniser made the stems."""
        found: dict[str, tuple[str | None, str | None]] = {}
        for batch in batches(node_ids):
            rows = self._database.rows(
                "SELECT n.node_id, iif(v.tokeniser = ?, n.stems, NULL),"
                f" iif(v.tokeniser = ?, NULL, n.context || char(10) || n.text){_OF_GENERATION}"
                f" WHERE n.node_id IN ({marks(batch)})",
                (tokeniser, tokeniser, collection, generation, *batch),
            )
            found.update((node_id, (stems, text)) for node_id, stems, text in rows)
        return found

    def contents_of_versions(self, versions: Sequence[int]) -> dict[str, tuple[str, str, str]]:
        """By node id: (context, text, canonical metadata with page, section and span), as the collection hash wants."""
        found: dict[str, tuple[str, str, str]] = {}
        for batch in batches(versions):
            rows = self._database.rows(
                "SELECT node_id, context, text, metadata, page, section, start, end FROM nodes"
                f" WHERE version IN ({marks(batch)})",
                batch,
            )
            for node_id, context, text, metadata, page, section, start, end in rows:
                place = canonical_json({"page": page, "section": section, "span": [start, end]})
                found[node_id] = (context, text, metadata + place)
        return found

    def spans(self, version: int) -> list[tuple[int, int, str]]:
        """(start, end, text) of each node of a version, in order."""
        return [
            (int(start), int(end), str(text))
            for start, end, text in self._database.rows(
                "SELECT start, end, text FROM nodes WHERE version = ? ORDER BY ordinal", (version,)
            )
        ]

    def to_embed(self, versions: Sequence[int]) -> dict[bytes, str]:
        """By its hash, each different text that these versions want embedded, in order of version and place."""
        found: dict[bytes, str] = {}
        for batch in batches(versions):
            rows = self._database.rows(
                f"SELECT embedded_hash, context, text FROM nodes WHERE version IN ({marks(batch)})"
                " ORDER BY version, ordinal",
                batch,
            )
            for digest, context, text in rows:
                found.setdefault(bytes(digest), f"{context}\n{text}" if context else text)
        return found

    def in_generation(self, collection: int, generation: int, node_ids: Sequence[str]) -> dict[str, StoredNode]:
        """The named nodes as this generation has them, by node id."""
        found: dict[str, StoredNode] = {}
        for batch in batches(node_ids):
            rows = self._database.rows(
                "SELECT n.node_id, v.document_id, v.path, v.title, v.content_hash, n.text, n.context, n.start, n.end,"
                " n.page, n.section, n.ordinal, n.metadata, v.metadata, v.created_at, v.modified_at,"
                f" (SELECT max(ordinal) + 1 FROM nodes WHERE version = n.version), v.id{_OF_GENERATION}"
                f" WHERE n.node_id IN ({marks(batch)})",
                (collection, generation, *batch),
            )
            others = self._other_places(collection, generation, sorted({int(row[-1]) for row in rows}))
            for row in rows:
                found[row[0]] = _stored(row[:-1], others.get(int(row[-1]), []))
        return found

    def _other_places(self, collection: int, generation: int, versions: Sequence[int]) -> dict[int, list[str]]:
        """By version: the paths of other documents of the generation with the same bytes."""
        found: dict[int, list[str]] = defaultdict(list)
        for version, path in self._database.rows(
            "SELECT v.id, o.path FROM document_versions v CROSS JOIN document_versions o"
            " ON o.content_hash = v.content_hash AND o.part = v.part AND o.id <> v.id"
            " CROSS JOIN generation_documents g ON g.version = o.id AND g.collection = ? AND g.generation = ?"
            f" WHERE v.id IN ({marks(versions)}) ORDER BY o.root, o.path",
            (collection, generation, *versions),
        ):
            found[int(version)].append(str(path))
        return found


def _stored(row: Row, other_places: list[str]) -> StoredNode:
    node_id, document_id, path, title, digest, text, context, start, end, page, section, ordinal = row[:12]
    metadata, of_document, extracted_at, modified_at, total = row[12:]
    return StoredNode(
        node_id=node_id,
        document_id=document_id,
        source=path,
        title=title,
        document_hash=digest.hex(),
        text=text,
        context=context,
        start=start,
        end=end,
        page=page,
        section=section,
        ordinal=ordinal,
        metadata={
            **json.loads(of_document),
            **json.loads(metadata),
            "content_hash": hashlib.sha256(text.encode()).hexdigest(),
            "chunk_index": ordinal,
            "chunk_total": total,
            "extracted_at": extracted_at,
            "modified_at": modified_at,
            **({"also_in": other_places} if other_places else {}),
        },
    )
