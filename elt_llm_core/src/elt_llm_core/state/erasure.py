"""Erase quotes from removed documents in conversations, feedback, job rows, reviews and trace files."""

import fcntl
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from elt_llm_core.errors import StoreError
from elt_llm_core.results import Citation, QueryResult, RetrievedChunk
from elt_llm_core.state.calibrations import CalibrationTable
from elt_llm_core.state.database import has_state, open_state
from elt_llm_core.state.jobs import ANY_DOCUMENT, ErasePredicate, JobQueue, JobReviewTable, JobRowTable, QuotedDocument
from elt_llm_core.state.sessions import FeedbackTable, SessionTable
from elt_llm_core.store.database import Database
from elt_llm_core.store.erasure import is_still_stored
from elt_llm_core.store.records import CollectionRecord
from elt_llm_core.store.store import Store

TRACES_FOLDER = "traces"
MAX_FILE_BYTES = 16 << 20


class TraceFiles:
    """The trace files, at least one per day with traces. The latest `most` are kept. Several processes may append."""

    def __init__(self, data_dir: Path, most: int, largest: int = MAX_FILE_BYTES) -> None:
        self._folder, self._most, self._largest = data_dir / TRACES_FOLDER, most, largest

    def append(self, line: Mapping[str, Any]) -> None:
        """Append one line to the current trace file. Raises OSError if the file cannot be written."""
        content = json.dumps(line, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        day = datetime.now(UTC).strftime("%Y-%m-%d")
        number = max((int(path.stem[len(day) + 1 :]) for path in self._folder.glob(f"{day}-[0-9]*.jsonl")), default=1)
        path = self._folder / f"{day}-{number:04}.jsonl"
        if path.exists() and path.stat().st_size + len(content) > self._largest:
            path = self._folder / f"{day}-{number + 1:04}.jsonl"
        is_new = not path.exists()
        with _locked(path) as stream:
            stream.seek(0, os.SEEK_END)
            stream.write(content)
        if is_new:
            for old in sorted(self._folder.glob("*.jsonl"))[: -self._most]:
                old.unlink(missing_ok=True)


def erase_trace_lines(data_dir: Path, is_doomed: ErasePredicate) -> int:
    """Remove the lines for which `is_doomed` is true from all trace files, and return the number of removed lines.

    `is_doomed` receives a line's documents and text. Files are rewritten, so that the removed bytes are gone. Raises
    StoreError if a file cannot be rewritten.
    """
    try:
        return sum(_remove_lines(path, is_doomed) for path in sorted((data_dir / TRACES_FOLDER).glob("*.jsonl")))
    except OSError as error:
        raise StoreError(
            f"{error.filename or data_dir / TRACES_FOLDER} cannot be changed: {error.strerror}."
            " Trace files still contain text of removed documents.",
            hint="Delete that file, then run the same command again.",
        ) from error


def _remove_lines(path: Path, is_doomed: ErasePredicate) -> int:
    with _locked(path) as stream:
        before = stream.read().splitlines(keepends=True)
        kept = [line for line in before if not _is_line_erased(line, is_doomed)]
        if len(kept) < len(before):
            stream.seek(0)
            stream.write(b"".join(kept))
            stream.truncate()
            stream.flush()
            os.fsync(stream.fileno())
        return len(before) - len(kept)


def _is_line_erased(line: bytes, is_doomed: ErasePredicate) -> bool:
    """Return whether to remove a line. Truncated lines are always removed, because their documents are unknown."""
    try:
        trace = json.loads(line)
    except ValueError:
        return True
    documents = frozenset((str(it[0]), str(it[1]), str(it[2])) for it in trace.get("documents", ()))
    return is_doomed(documents, line.decode("utf-8", "replace"))


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """Open and lock a trace file. A new file is created with owner-only permissions."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "r+b") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield stream


@dataclass(frozen=True)
class ErasureCounts:
    """The numbers of erased conversation turns, job rows and reviews."""

    turns: int = 0
    rows: int = 0
    reviews: int = 0


@dataclass(frozen=True)
class _ErasureRule:
    """Decides which turns, rows and reviews to erase: those with one of `words`, or that quote a deleted document."""

    is_gone: Callable[[QuotedDocument], bool]
    words: Sequence[str] = ()

    def of_result(self, result: QueryResult) -> bool:
        return self.of_row(quoted_documents(result), result.model_dump_json() if self.words else "")

    def of_row(self, documents: Collection[QuotedDocument], text: str) -> bool:
        folded = text.casefold() if self.words else ""
        forms = (form for word in self.words for form in (word, json.dumps(word, ensure_ascii=False)[1:-1]))
        return any(map(self.is_gone, documents)) or any(form.casefold() in folded for form in forms)

    def erase(self, state: Database) -> ErasureCounts:
        FeedbackTable(state).erase(self.of_row)
        erase_trace_lines(state.folder, self.of_row)
        return ErasureCounts(
            SessionTable(state).erase(self.of_result),
            JobRowTable(state).erase(self.of_row),
            JobReviewTable(state).erase(self.of_row),
        )


def erase_forgotten(store: Store, collection: str, document_ids: Collection[str]) -> ErasureCounts:
    """Delete all turns, rows, reviews, feedback and traces that show one of the documents. May raise StoreError."""

    def is_gone(quoted: QuotedDocument) -> bool:
        return quoted[0] == collection and (quoted[1] in document_ids or quoted[1] == ANY_DOCUMENT)

    return _erase_from_state(store, _ErasureRule(is_gone).erase)


def erase_unpublished(store: Store, chosen: Sequence[CollectionRecord], samples: Sequence[str]) -> ErasureCounts:
    """Delete turns, rows, reviews, feedback and traces that show unpublished documents of these collections.

    `samples` are words from erased text. Entries that contain a sample are deleted too, unless the sample also occurs
    in published text. The bytes of deleted entries are erased. Raises StoreError if the state cannot be rewritten.
    """
    published = {
        (record.name, document.document_id, document.document_hash)
        for record in chosen
        for document in store.documents.in_generation(record.id, record.published or 0)
    }
    there = {record.name for record in store.collections.all()}
    others = there - {record.name for record in chosen}

    def is_gone(quoted: QuotedDocument) -> bool:
        if quoted[1] == ANY_DOCUMENT:
            return quoted[0] not in there or (bool(samples) and quoted[0] not in others)
        return quoted not in published and quoted[0] not in others

    def erase(state: Database) -> ErasureCounts:
        words = [sample for sample in samples if not is_still_stored(store, sample)]
        erased = _ErasureRule(is_gone, words).erase(state)
        JobQueue(state).forget_ended()  # ended jobs contain file names, and nobody waits for them
        state.erase_deleted()
        return erased

    return _erase_from_state(store, erase)


def erase_dropped(store: Store, collection: str) -> ErasureCounts:
    """Delete a dropped collection's calibrations, feedback, rows and reviews.

    The next purge deletes conversation turns about it. Raises StoreError if the state cannot be written.
    """
    doom = _ErasureRule(lambda quoted: quoted[0] == collection)

    def erase(state: Database) -> ErasureCounts:
        CalibrationTable(state).forget(collection)
        FeedbackTable(state).erase(doom.of_row)
        return ErasureCounts(0, JobRowTable(state).erase(doom.of_row), JobReviewTable(state).erase(doom.of_row))

    return _erase_from_state(store, erase)


def quoted_documents(result: QueryResult) -> set[QuotedDocument]:
    """Return the documents that an answer quotes or lists as sources."""
    places: list[Citation | RetrievedChunk] = [*result.citations, *result.chunks]
    return {(it.collection, it.source_id, it.document_hash) for it in places}


def _erase_from_state(store: Store, work: Callable[[Database], ErasureCounts]) -> ErasureCounts:
    """Run `work` on the state database, or return zero counts if there is no state database."""
    if not has_state(store.workspace):
        return ErasureCounts()
    with closing(open_state(store.workspace)) as state:
        return work(state)
