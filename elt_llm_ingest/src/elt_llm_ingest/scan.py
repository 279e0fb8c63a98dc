"""Going through the files of a run: each becomes a document version in the store, or is named with the reason."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.failpoints import Stage, stage
from elt_llm_core.progress import Progress
from elt_llm_core.store.records import FileRecord, StoredDocument, document_id, version_key
from elt_llm_core.store.store import Store

from elt_llm_ingest.changes import Seen, look_at
from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.reading import Reading
from elt_llm_ingest.report import FileOutcome
from elt_llm_ingest.roots import Located
from elt_llm_ingest.versions import Origin, VersionMaker, content_hash


@dataclass
class ScanResult:
    """By document id: the version each readable file is at now, and what became of every file."""

    versions: dict[str, int] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)
    outcomes: list[FileOutcome] = field(default_factory=list)
    records: list[FileRecord] = field(default_factory=list)


class Scan:
    """Reads what is new or changed; what is neither costs a look at its size and time."""

    def __init__(
        self,
        store: Store,
        collection: int,
        maker: VersionMaker,
        published: Mapping[str, StoredDocument],
        reading: Reading,
        extraction: str = "",
        *,
        remember: bool = False,
    ) -> None:
        """`extraction` is what a version is to come to in the end, where that is more than `maker` does.

        `remember` lets what was forgotten be read again.
        """
        self._store = store
        self._collection = collection
        self._maker = maker
        self._published = published
        self._reading = reading
        self._extractions = tuple(filter(None, (extraction, maker.extraction)))
        self._known = store.files.of_collection(collection)
        self._forgotten = store.forgotten.all(collection)
        self._remember = remember
        self._result = ScanResult()

    def run(self, files: Iterable[Located], progress: Progress) -> ScanResult:
        """Go through `files`; a file that cannot be read never stops the others."""
        to_read: list[Seen] = []
        for located in files:
            seen = self._look(located)
            if seen is not None and not self._settled(seen):
                to_read.append(seen)
            else:
                progress.advance(1, located.relative)
        requests = (self._reading.request(seen.located) for seen in to_read)
        answers = iter(self._reading.parser.read_all(requests))
        for seen in to_read:
            with stage(Stage.PARSE):
                parsed = next(answers)
            self._take(seen, parsed)
            progress.advance(1, seen.located.relative)
        self._result.outcomes.sort(key=lambda outcome: outcome.path)
        return self._result

    def _look(self, located: Located) -> Seen | None:
        """The file's bytes by their hash; None, and an outcome, if they cannot be read or are not to be."""
        identity = document_id(self._maker.collection, located.root, located.relative)
        try:
            seen = look_at(self._maker.collection, located, self._known)
        except UnreadableDocument as error:
            self._result.present.add(identity)
            self._result.outcomes.append(self._failed(located, identity, error))
            return None
        if self._remember and self._forgotten.covers(identity, seen.digest):
            self._store.forgotten.lift_file(self._collection, identity, seen.digest)
        elif self._forgotten.covers(identity, seen.digest):
            reason = "forgotten: to read it again, name it with --remember"
            self._result.outcomes.append(FileOutcome(located.relative, "skipped", reason))
            return None
        self._result.present.add(identity)
        return seen

    def _settled(self, seen: Seen) -> bool:
        """Whether the store has this very version, which is then taken as it is."""
        located = seen.located
        try:
            reader = self._reading.identity(located)
        except UnreadableDocument as error:
            self._note(seen, self._failed(located, seen.document_id, error))
            return True
        stored = self._find(seen, reader)
        if stored is None:
            return False
        before = self._published.get(seen.document_id)
        outcome, notes, nodes = self._store.documents.summary(stored)
        self._result.versions[seen.document_id] = stored
        self._store.documents.touch(stored, _written_at(located))
        if before is not None and before.version == stored and outcome == "ok":
            self._note(seen, FileOutcome(located.relative, "unchanged", "; ".join(notes), nodes))
        else:
            self._note(seen, _read_outcome(located.relative, outcome, notes, nodes))
        return True

    def _find(self, seen: Seen, reader: str) -> int | None:
        """The version of these bytes, read in this way, that the store has; the finished one before the other."""
        chunker = self._maker.chunker_identity
        keys = (version_key(seen.document_id, seen.digest, reader, chunker, it) for it in self._extractions)
        return next(filter(None, map(self._store.documents.find, keys)), None)

    def _take(self, seen: Seen, parsed: ParsedDocument | UnreadableDocument) -> None:
        """Store what was read of a file, or say why not."""
        located = seen.located
        try:
            if isinstance(parsed, UnreadableDocument):
                raise parsed
            if content_hash(located.file.path) != seen.digest:
                raise UnreadableDocument("changed while it was read; run the ingest again")
            own, *parts = self._maker.from_parsed(self._origin(seen), self._reading.take(parsed))
        except UnreadableDocument as error:
            self._note(seen, self._failed(located, seen.document_id, error))
            return
        with stage(Stage.WRITE):
            self._result.versions[seen.document_id] = self._store.documents.add(self._collection, own, parts)
        nodes = len(own.nodes) + sum(len(part.nodes) for part in parts)
        self._note(seen, _read_outcome(located.relative, own.outcome, own.notes, nodes))

    def _origin(self, seen: Seen) -> Origin:
        located = seen.located
        reader = self._reading.identity(located)
        return Origin(located.root, located.relative, seen.digest, located.file.size, reader, _written_at(located))

    def _note(self, seen: Seen, outcome: FileOutcome) -> None:
        self._result.outcomes.append(outcome)
        self._result.records.append(seen.record(outcome.status, outcome.reason))

    def _failed(self, located: Located, identity: str, error: UnreadableDocument) -> FileOutcome:
        return FileOutcome(located.relative, "failed", str(error), stale=identity in self._published)


def _written_at(located: Located) -> str:
    """When a file was last written, as it is shown."""
    return datetime.fromtimestamp(located.file.written_ns / 1e9, UTC).isoformat(timespec="seconds")


def _read_outcome(name: str, outcome: str, notes: Iterable[str], nodes: int) -> FileOutcome:
    reason = "; ".join(notes)
    if outcome == "empty":
        return FileOutcome(name, "empty", reason or "no text in it")
    return FileOutcome(name, "ok", reason, nodes)
