"""Plan what an ingest would change. Planning takes no lock, parses no documents and writes nothing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.documents import ForgottenIdentities
from elt_llm_core.store.records import FileRecord, version_key
from elt_llm_core.store.store import Store

from elt_llm_ingest.run.reading import FileReading
from elt_llm_ingest.run.scan import (
    ScannedFile,
    find_deleted,
    find_deleted_failures,
    inspect_file,
    is_uploaded_again,
    published_documents,
    published_passport,
)
from elt_llm_ingest.run.versions import VersionMaker
from elt_llm_ingest.sandbox.parser import DirectParser, Parser, ParseRequest
from elt_llm_ingest.sources.collection_sources import CollectionSources, KnownSources, LocatedFile
from elt_llm_ingest.sources.remote_files import find_all_sources
from elt_llm_ingest.sources.request import IngestRequest

PlannedStatus = Literal[
    "new", "changed", "unchanged", "renamed", "removed", "missing", "skipped", "forgotten", "failed"
]
_TABLE_SUFFIXES = frozenset((".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".xls", ".ods"))
_CHANGING = frozenset({"new", "changed", "renamed", "removed"})


@dataclass(frozen=True)
class PlannedFile:
    """The planned outcome of one file.

    `missing` means that the file no longer exists, but its document is kept because --allow-delete was not given. If
    the file looks like a data dictionary, `columns` proposes a column for each role: {"entity": "Name", "definition":
    "Meaning"}.
    """

    path: str
    status: PlannedStatus
    reason: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class IngestPlan:
    """The planned changes of an ingest.

    `rebuilt` is the reason why everything would be indexed again, or empty. `refused` is the reason why the ingest
    would be refused, or empty.
    """

    collection: str
    files: tuple[PlannedFile, ...]
    rebuilt: str = ""
    refused: str = ""
    job: str = ""

    @property
    def changes(self) -> bool:
        """Whether a new generation would be published, as far as this is known without reading documents."""
        return not self.refused and (bool(self.rebuilt) or any(file.status in _CHANGING for file in self.files))

    @property
    def counts(self) -> dict[str, int]:
        """The number of files by status."""
        return dict(Counter(file.status for file in self.files))

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        return {**asdict(self), "counts": self.counts, "changes": self.changes}


def plan_ingest(
    request: IngestRequest,
    settings: Settings,
    embedding: EmbeddingModel | None,
    store: Store | None,
    parser: Parser | None = None,
) -> IngestPlan:
    """Plan what `ingest` would do with this request.

    Without a `store`, every file is new. Without an `embedding`, files count as unchanged even if they would be read
    again because the reader, chunking, metadata or embedding model changed. A `parser` reads the headers of new tables,
    to propose the columns of a data dictionary. Raises UsageError for a path that does not exist.
    """
    known = KnownSources.of(store, request.collection) if store else KnownSources()
    planner = _Planner(request, settings, embedding, store)
    with TemporaryDirectory(prefix="elt-llm-remote-") as folder:
        sources = find_all_sources(known, request, settings.ingest, Path(folder))
        inspected = [planner.inspect(located, known) for located in sources.files]
        if parser is not None and request.reader == "auto":
            inspected = _propose_columns(inspected, parser)
        files = planner.add_deleted(inspected, sources, known.files)
    files += [PlannedFile(source.url, "failed", source.reason) for source in sources.failed]
    files += [PlannedFile(str(skipped.path), "skipped", skipped.reason) for skipped in sources.skipped]
    reason = "the folder does not exist: its documents are kept; to remove them, use --allow-delete"
    files += [PlannedFile(str(path), "missing", reason) for path in sources.missing]
    return IngestPlan(request.collection, tuple(files), planner.rebuild_reason(), planner.refusal(), request.job)


_InspectedFile = tuple[PlannedFile, ScannedFile | None]  # None if the file could not be inspected


def _propose_columns(inspected: Sequence[_InspectedFile], parser: Parser) -> list[_InspectedFile]:
    """Add `columns` to each new or changed table that looks like a data dictionary.

    The `dictionary_columns` reader proposes which column has which role: {"entity": "Name", "definition": "Meaning"}.
    """
    tables = {
        number: ParseRequest(seen.located.file.path, "dictionary_columns", within=seen.located.root_path)
        for number, (planned, seen) in enumerate(inspected)
        if seen and planned.status in ("new", "changed")
        if seen.located.file.path.suffix.lower() in _TABLE_SUFFIXES
    }
    proposed = list(inspected)
    for number, parsed in zip(tables, parser.read_all(tables.values()), strict=True):
        if not isinstance(parsed, UnreadableDocument) and parsed.metadata:
            planned, seen = proposed[number]
            columns = {role: str(header) for role, header in parsed.metadata.items()}
            proposed[number] = replace(planned, columns=columns), seen
    return proposed


class _Planner:
    def __init__(
        self, request: IngestRequest, settings: Settings, embedding: EmbeddingModel | None, store: Store | None
    ) -> None:
        self._request, self._embedding, self._store = request, embedding, store
        record = store.collections.find(request.collection) if store else None
        self._record = record if record is not None and record.published is not None else None
        self._forgotten = ForgottenIdentities(frozenset(), frozenset())
        if store and record:
            self._forgotten = store.forgotten.all(record.id)
        published = published_documents(store, record) if store and record else {}
        self._files = {identity: document for identity, document in published.items() if not document.part}
        self._reading = FileReading(request, settings.ingest, DirectParser(), store.data_dir if store else None)
        self._maker = None
        if embedding:
            name, scope = request.collection, self._reading.scope
            self._maker = VersionMaker(name, settings, embedding, request.metadata, scope)

    def inspect(self, located: LocatedFile, known: KnownSources) -> _InspectedFile:
        try:
            seen = inspect_file(self._request.collection, located, known.files)
            reader = self._reading.identity(located)
        except UnreadableDocument as error:
            return PlannedFile(located.relative, "failed", error.reason_and_hint), None
        status, reason = self._status(seen, reader)
        record = known.files.get(seen.document_id)
        if status == "new" and record is not None and record.outcome == "failed":
            reason = f"failed before: {record.reason}"
        return PlannedFile(located.relative, status, reason), seen

    def _status(self, seen: ScannedFile, reader: str) -> tuple[PlannedStatus, str]:
        is_skipped = not self._request.remember and self._forgotten.covers(seen.document_id, seen.digest)
        if is_skipped and self._store and not is_uploaded_again(self._store, self._request.collection, seen):
            return "forgotten", "it was removed with `elt-llm forget`"
        before = self._files.get(seen.document_id)
        if before is None:
            return "new", ""
        if before.document_hash != seen.digest.hex():
            return "changed", ""
        if self._maker is None or self._store is None:
            return "unchanged", ""
        extraction = self._maker.extraction_of(self._reading.owner_fields(seen.located))
        key = version_key(seen.document_id, seen.digest, reader, self._maker.chunker_identity, extraction)
        if self._store.documents.find(key) == before.version:
            return "unchanged", ""
        return "changed", "the bytes are the same, but the reader, the chunking or the metadata changed"

    def add_deleted(
        self, inspected: list[_InspectedFile], sources: CollectionSources, known: Mapping[str, FileRecord]
    ) -> list[PlannedFile]:
        """Return the planned outcomes of the existing files, with renamed ones marked, and of the deleted files."""
        deleted = find_deleted(
            list(self._files.values()),
            [seen.document_id for file, seen in inspected if seen and file.status != "forgotten"],
            sources.whole_roots,
            sources.missing_files,
            allow_delete=self._request.allow_delete,
        )
        deleted = find_deleted_failures(known, self._files, sources, deleted)
        removed = {document.document_hash: document for document in deleted.removed}
        files = []
        for file, seen in inspected:
            former = removed.pop(seen.digest.hex(), None) if seen and file.status == "new" else None
            files.append(replace(file, status="renamed", reason=f"from {former.source}") if former else file)
        left = removed.values()
        files += [PlannedFile(it.source, "removed", "no longer found") for it in deleted.removed if it in left]
        files += [PlannedFile(record.path, "removed", "no longer found") for record in deleted.failed]
        held = "missing together with many other files, or named individually: kept without --allow-delete"
        return files + [PlannedFile(document.source, "missing", held) for document in deleted.held_back]

    def rebuild_reason(self) -> str:
        """Return the reason why everything would be indexed again, or "" if it would not."""
        if self._record is None or self._store is None:
            return ""
        if self._request.rebuild:
            return "--rebuild was given"
        folder = self._store.folder(self._record.name) / str(self._record.published)
        return "" if folder.is_dir() else "the index folder was deleted from the disk"

    def refusal(self) -> str:
        """Return the reason why an ingest would be refused, or "" if it would not."""
        if self._record is None or self._store is None or self._request.rebuild:
            return ""
        if self._record.rolled_back and not self._request.resume:
            return "the collection was rolled back: --resume continues from there, --rebuild reads everything again"
        passport = published_passport(self._store, self._record)
        if passport and self._embedding is not None and passport.fingerprint != self._embedding.fingerprint:
            return "the collection was built with another embedding model: --rebuild embeds everything again"
        return ""
