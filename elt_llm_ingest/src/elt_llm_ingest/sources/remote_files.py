"""Find the files of remote sources, and present them to the ingest like local files."""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from elt_llm_core.errors import UsageError
from elt_llm_core.settings.tree import IngestSettings

from elt_llm_ingest.readers import no_reader_reason, readable_suffixes
from elt_llm_ingest.sources.collection_sources import (
    CollectionSources,
    FailedSource,
    KnownSources,
    LocatedFile,
    find_sources,
)
from elt_llm_ingest.sources.discovery import FoundFile, SkippedPath
from elt_llm_ingest.sources.reader_source import ReaderSource, read_documents
from elt_llm_ingest.sources.remote import RemoteEntry, RemoteFailure, RemoteSource, RemoteUrl
from elt_llm_ingest.sources.request import IngestRequest


def find_all_sources(
    known: KnownSources, request: IngestRequest, settings: IngestSettings, folder: Path
) -> CollectionSources:
    """Discover the local and remote files of a request, and of earlier ingests if it names none or sets `rebuild`.

    Changed remote files are fetched into `folder` when they are read. Raises UsageError for a requested path that does
    not exist, and for a requested URL whose host is not allowed. A remote source that cannot be listed is reported, and
    its documents are kept.
    """
    for url in request.urls:
        url.check_allowed(settings.remote.allowed_hosts)
    has_remote = bool(request.urls or request.source_reader)
    only_remote = has_remote and not request.paths and (request.is_exhaustive or not request.rebuild)
    local_known = KnownSources() if only_remote else known.local()
    local = find_sources(
        local_known, request.paths, request.selection, everything=request.rebuild, allow_delete=request.allow_delete
    )
    remote = _RemoteSearch(known.remote(), request, settings, folder)
    if not request.is_exhaustive and (request.rebuild or not (request.paths or request.urls)):
        remote.add_known()
    for url in request.urls:
        remote.add_source(url)
    if request.source_reader:
        remote.add_reader(request.source_reader)
    if request.is_exhaustive:
        remote.drop_unlisted()
    return remote.merge_into(local, known=bool(known.roots))


class _RemoteSearch:
    def __init__(self, known: KnownSources, request: IngestRequest, settings: IngestSettings, folder: Path) -> None:
        self._known, self._request, self._settings, self._folder = known, request, settings, folder
        self._files: dict[str, LocatedFile] = {}
        self._roots: dict[str, tuple[Path, bool]] = {}
        self._skipped: list[SkippedPath] = []
        self._failed: list[FailedSource] = []
        self._missing: set[str] = set()
        self._listed: set[str] = set()

    def add_known(self) -> None:
        """Add the folders and files of earlier ingests."""
        given = {url.url for url in self._request.urls}
        folders = [name for name, (_, whole) in self._known.roots.items() if whole]
        files = [it for it in self._known.files.values() if it.root in self._known.roots]
        single = [it.path for it in files if it.root not in folders]
        for url in [*folders, *single]:
            if url not in given:
                self.add_source(RemoteUrl(url))

    def add_reader(self, reader: ReaderSource) -> None:
        """Run a LlamaIndex reader that a job names, and add its documents."""
        folder = self._folder / "reader"
        try:
            documents = read_documents(reader, self._settings, folder)
        except RemoteFailure as error:
            self._fail(reader.root, str(error))
            return
        limit = self._settings.max_file_mb
        for url, (path, size) in documents.items():
            if path is None:
                self._fail(url, f"is larger than the limit of {limit:,} MB; raise ingest.max_file_mb to read it")
            else:
                file = FoundFile(folder, url, path, size, time.time_ns())
                self._files[url] = LocatedFile(file, reader.root, folder, url)
        self._roots[reader.root] = (Path(reader.root), all(path for path, _ in documents.values()))

    def drop_unlisted(self) -> None:
        """Count documents as deleted if the request no longer names their source, as after a job was changed."""
        failed = tuple(source.url for source in self._failed)
        for name, (path, whole) in self._known.roots.items():
            is_unseen = any(url.startswith(name) or name.startswith(url) for url in failed)
            if whole and name not in self._roots and not is_unseen:
                self._roots[name] = (path, True)
        for identity, record in self._known.files.items():
            named = record.root in self._known.roots and not self._known.roots[record.root][1]
            if named and record.path not in self._files and record.path not in failed:
                self._missing.add(identity)

    def merge_into(self, local: CollectionSources, *, known: bool) -> CollectionSources:
        """Return the local sources with the remote sources added."""
        return replace(
            local,
            files=(*local.files, *self._files.values()),
            skipped=(*local.skipped, *self._skipped),
            roots={**local.roots, **self._roots},
            missing_files=local.missing_files | self._missing,
            failed=tuple(self._failed),
            known=known,
        )

    def add_source(self, url: RemoteUrl) -> None:
        """Add a remote file, or the files of a remote folder. If the listing fails, the failure is recorded."""
        records = {record.path: identity for identity, record in self._known.files.items()}
        try:
            source = RemoteSource(url, self._settings)
            entries = source.list_files()
        except FileNotFoundError:
            if url.url in records:
                self._missing.add(records[url.url])
            else:
                self._fail(url.url, f"{url.url} was not found; check the URL")
            return
        except (UsageError, RemoteFailure) as error:
            self._fail(url.url, f"{error} {error.hint}" if isinstance(error, UsageError) else str(error))
            return
        # The innermost known root that contains the source, or else the source's own root.
        containing = [name for name in (*self._known.roots, *self._roots) if source.root.startswith(name)]
        root = max(containing, key=len, default=source.root)
        unseen = [entry for entry in entries if entry.reason]
        for entry in unseen:
            self._fail(entry.url, entry.reason)
        whole = source.is_folder and not unseen and root == source.root
        self._roots[root] = (Path(root), whole or self._roots.get(root, (None, False))[1])
        for entry in entries:
            if not entry.reason:
                self._add(source, root, entry)

    def _fail(self, url: str, reason: str) -> None:
        known = any(name.startswith(url) or url.startswith(name) for name in self._known.roots)
        self._failed.append(FailedSource(url, reason, known))

    def _add(self, source: RemoteSource, root: str, entry: RemoteEntry) -> None:
        if entry.url in self._files:
            return
        if reason := self._skip_reason(entry, root):
            self._skipped.append(SkippedPath(entry.url, reason))
            return
        folder = self._folder / str(len(self._files))
        path = folder / entry.name
        fetch = partial(_fetch_once, source, entry, path)
        file = FoundFile(folder, entry.url, path, entry.size or 0, entry.stamp, entry.written_ns, fetch)
        self._files[entry.url] = LocatedFile(file, root, folder, entry.url)

    def _skip_reason(self, entry: RemoteEntry, root: str) -> str:
        suffix = Path(entry.name).suffix.lower()
        if suffix not in readable_suffixes():
            return no_reader_reason(suffix)
        top = Path("/")
        path = top / entry.url.removeprefix(root)
        selection = self._request.selection
        pattern = next(filter(None, (selection.excluded_by(top, it) for it in (path, *path.parents))), "")
        return f"excluded by {pattern}" if pattern else ""


def _fetch_once(source: RemoteSource, entry: RemoteEntry, path: Path) -> None:
    """Fetch a file to its path, unless it is already there. Raises UnreadableDocument if that fails."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        source.fetch(entry, path)
