"""What became of each file of a run, told once all of them were looked at."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from elt_llm_core.errors import IngestError
from elt_llm_core.store.store import Store

from elt_llm_ingest.changes import Gone
from elt_llm_ingest.discovery import Discovery
from elt_llm_ingest.duplicates import duplicate_files, renamed_files
from elt_llm_ingest.readers import REFUSED_SUFFIXES, SUPPORTED_SUFFIXES
from elt_llm_ingest.report import FileOutcome
from elt_llm_ingest.scan import ScanResult
from elt_llm_ingest.sources import Sources


def file_outcomes(
    store: Store, sources: Sources, scanned: ScanResult, gone: Gone, known: Collection[str]
) -> Iterator[FileOutcome]:
    """Every file by path with its end; renamed files and equal ones say so. `known` are ids of before."""
    versions = list(scanned.versions.values())
    renamed = renamed_files(gone.removed, scanned.records, known)
    notes = {
        **{path: f"renamed from {before}" for path, before in renamed.items()},
        **duplicate_files(store, versions, scanned.records),
    }
    for outcome in scanned.outcomes:
        more = notes.get(outcome.path) if outcome.status in ("ok", "unchanged") else None
        yield replace(outcome, reason="; ".join(filter(None, (outcome.reason, more)))) if more else outcome
    yield from _others(sources, gone, {before: path for path, before in renamed.items()})


def _others(sources: Sources, gone: Gone, renamed: Mapping[str, str]) -> Iterator[FileOutcome]:
    """Those that were not read, and why. `renamed` has the new path of a file by its old one."""
    for skipped in sources.discovery.skipped:
        yield FileOutcome(str(skipped.path), "skipped", skipped.reason)
    for path in sources.missing:
        yield FileOutcome(str(path), "missing", "the folder is not there: its documents are kept")
    for document in gone.removed:
        now = renamed.get(document.source)
        yield FileOutcome(
            document.source, "removed", f"renamed to {now}" if now else "no longer in its folder", document.nodes
        )
    for document in gone.held_back:
        reason = "gone, but so is much else, or it was given by name: kept; if that is right, use --allow-delete"
        yield FileOutcome(document.source, "missing", reason, document.nodes, stale=True)


def nothing_to_ingest(discovery: Discovery) -> IngestError:
    """The error of a run without a single file, naming what was left out."""
    readable = ", ".join(sorted(SUPPORTED_SUFFIXES - REFUSED_SUFFIXES))
    skipped = "; ".join(f"{item.path.name} ({item.reason})" for item in discovery.skipped[:5])
    return IngestError(
        "There is nothing to ingest" + (f": skipped {skipped}." if skipped else ": no files were found."),
        hint=f"Give files or folders with documents of these types: {readable}",
    )
