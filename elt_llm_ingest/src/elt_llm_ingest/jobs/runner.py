"""Run or plan ingest jobs. A job fills one collection, or splits its files into groups and fills one for each."""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from elt_llm_core.collection.lifecycle import drop
from elt_llm_core.errors import EltError, UnreadableDocument, UsageError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.progress import ProgressListener
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.store.collections import CollectionJob
from elt_llm_core.store.records import FileRecord, document_id, sha256
from elt_llm_core.store.store import Store

from elt_llm_ingest.jobs.job_file import INGEST_FOLDER, LoadedJob, UnreadableJob, create_request
from elt_llm_ingest.pipeline import ingest
from elt_llm_ingest.run.plan import IngestPlan, PlannedFile, plan_ingest
from elt_llm_ingest.run.reading import FileReading, SplitBy, document_groups
from elt_llm_ingest.run.report import FileOutcome, IngestReport
from elt_llm_ingest.run.scan import inspect_file
from elt_llm_ingest.sandbox.parser import CachingParser, DirectParser, ParseOutcome, Parser
from elt_llm_ingest.sources.collection_sources import KnownSources, LocatedFile, find_sources
from elt_llm_ingest.sources.patterns import literal_pattern
from elt_llm_ingest.sources.request import IngestFlags, IngestRequest

_MAX_NAME_LENGTH = 63
_MAX_GROUPS = 1000  # each group is a separate collection with indexes on the disk
_CAMEL_CASE = re.compile("(?<=[a-z0-9])(?=[A-Z])")
_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "ø": "o", "ł": "l", "đ": "d"})


@dataclass(frozen=True)
class FilledCollection:
    """A collection that a job filled earlier: its name, the job and group that fill it, and its files by path."""

    name: str
    filling: CollectionJob
    files: Mapping[str, FileRecord]


def stable_path(root: Path, relative: str) -> str:
    """Return the full path of a file in composed Unicode (NFC), which identifies the file in every collection."""
    return unicodedata.normalize("NFC", str(root / relative))


class GroupFinder:
    """Finds the groups of each file: its top-level sections, or the types of the documents in it (`split_by`).

    `find` fills `files` with the files of each group, and `keys` with a key of each file, made from path and bytes.
    Later runs recognise unchanged files by it, and do not parse them. `outcomes` are those of files without a group.
    """

    def __init__(self, reading: FileReading, split_by: SplitBy, filled: Sequence[FilledCollection]) -> None:
        self._reading, self._split_by, self._filled = reading, split_by, filled
        self._known: dict[str, list[str]] = {}
        self._records: dict[str, FileRecord] = {}
        for one in filled:
            self._records.update(one.files)
            for key in one.filling.files:
                self._known.setdefault(key, []).append(one.filling.group)
        self.files: dict[str, list[LocatedFile]] = {}
        self.keys: dict[str, list[str]] = {}
        self.outcomes: list[FileOutcome] = []

    def find(self, files: Sequence[LocatedFile]) -> None:
        """Assign each file to all groups that occur in it, such as each of its top-level sections."""
        unknown: list[tuple[LocatedFile, str]] = []
        for located in files:
            try:
                key = self.key(located)
            except UnreadableDocument as error:
                self._keep_groups(located, error)
                continue
            if groups := self.known_groups(key):
                self._add(groups, located, [key])
            else:
                unknown.append((located, key))
        answers = self._reading.parser.read_all(self._reading.request(located) for located, _ in unknown)
        for (located, key), parsed in zip(unknown, answers, strict=True):
            self._add_parsed(located, key, parsed)

    def _add_parsed(self, located: LocatedFile, key: str, parsed: ParseOutcome) -> None:
        if isinstance(parsed, UnreadableDocument):
            self._keep_groups(located, parsed)
            return
        groups = document_groups(parsed, self._split_by)
        if len(groups) > _MAX_GROUPS:
            most = f"split_by can fill at most {_MAX_GROUPS:,} collections from a file"
            self._keep_groups(located, UnreadableDocument(f"has {len(groups):,} groups, but {most}"))
        elif groups:
            self._add(groups, located, [key])
        else:
            self.outcomes.append(FileOutcome(located.relative, "empty", "it contains no text"))

    def _add(self, groups: Sequence[str], located: LocatedFile, keys: Sequence[str] = ()) -> None:
        for group in groups:
            self.files.setdefault(group, []).append(located)
            self.keys.setdefault(group, []).extend(keys)

    def _keep_groups(self, located: LocatedFile, error: UnreadableDocument) -> None:
        """Keep an unreadable file in the groups it was in before. If it was in none, report it as failed."""
        where = stable_path(located.root_path, located.relative)
        before = [one.filling.group for one in self._filled if where in one.files]
        self._add(before, located)
        if not before:
            self.outcomes.append(FileOutcome(located.relative, "failed", error.reason_and_hint))

    def known_groups(self, key: str) -> list[str]:
        """Return the groups to which an earlier run of the job assigned the file with this key; empty if none."""
        return self._known.get(key, [])

    def key(self, located: LocatedFile) -> str:
        """Return a key made from a file's path, bytes and reader. The bytes are read only if they may have changed.

        Raises UnreadableDocument if the file cannot be read or has no reader.
        """
        where = stable_path(located.root_path, located.relative)
        record = self._records.get(where)
        known = {document_id("", located.root, located.relative): record} if record else {}
        digest = inspect_file("", located, known).digest
        return sha256(where, digest, self._reading.identity(located), self._split_by).hex()[:32]


def collection_names(
    prefix: str, groups: Collection[str], filled: Sequence[FilledCollection], taken: Collection[str]
) -> dict[str, str]:
    """Return the collection name of each group: the existing name, or one made from the prefix and the group's title.

    Raises UsageError if a new name is `taken` by a collection that the job did not fill.
    """
    names = {one.filling.group: one.name for one in filled if one.filling.group in groups}
    used = set(names.values())
    for group in sorted(set(groups) - names.keys()):
        name = collection_name(prefix, group)
        if name in used:
            name = _with_digest(prefix, name, group)
        if name in taken:
            raise UsageError(
                f"Collection '{name}' already exists, but this job did not fill it.",
                hint=f"Choose another collection_prefix, or run: elt-llm drop {name}",
            )
        names[group] = name
        used.add(name)
    return names


def collection_name(prefix: str, group: str) -> str:
    """Build the collection name of a group: `("fa-", "Sea Ports") -> "fa-sea-ports"`.

    A name that is too long is shortened and ends with a digest. A digest also replaces a title without letters a to z
    and digits.
    """
    words = _CAMEL_CASE.sub("-", group)  # the type of a document may be written as SeaPort
    plain = unicodedata.normalize("NFKD", words.lower().translate(_LETTERS)).encode("ascii", "ignore").decode()
    name = prefix + "-".join(re.findall(r"[a-z0-9]+", plain))
    return name if len(prefix) < len(name) <= _MAX_NAME_LENGTH else _with_digest(prefix, name, group)


def _with_digest(prefix: str, name: str, group: str) -> str:
    digest = sha256(group).hex()[:8]
    stem = name[: _MAX_NAME_LENGTH - 9].rstrip("-_")
    return f"{stem}-{digest}" if len(stem) > len(prefix) else f"{prefix}{digest}"


@dataclass(frozen=True)
class JobReport:
    """The outcome of one job, with a report for each collection that it fills.

    `files` are the unreadable or empty files, which are in no collection. If the group of a collection no longer occurs
    in any file, the collection is in `left_over` if it was kept, and in `dropped` if it was dropped. A job with an
    `error` did not finish.
    """

    job: str
    reports: tuple[IngestReport, ...] = ()
    files: tuple[FileOutcome, ...] = ()
    left_over: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    error: str = ""
    hint: str = ""

    @property
    def exit_code(self) -> int:
        """1 if the user must act, else 0.

        It is 1 if the job or a file failed. It is also 1 if something was kept that only --allow-delete removes: the
        document of a deleted file, or a collection to which no file belongs any more (`left_over`).
        """
        failed = any(it.status == "failed" for it in self.files)
        return int(bool(self.error or failed or self.left_over or any(it.exit_code for it in self.reports)))

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {**asdict(self), "reports": [report.to_json() for report in self.reports]}


class JobRunner:
    """Runs jobs with one store, embedding model and parser. The caller must hold the writer's lock of the store."""

    def __init__(
        self,
        loaded: LoadedSettings,
        embedding: EmbeddingModel,
        store: Store,
        parser: Parser,
        progress: ProgressListener,
        flags: IngestFlags,
    ) -> None:
        self._loaded, self._embedding, self._store = loaded, embedding, store
        self._parser, self._progress, self._flags = parser, progress, flags

    def run_all(self, jobs: Sequence[LoadedJob | UnreadableJob]) -> list[JobReport]:
        """Run jobs one after the other. A failing job does not stop the jobs after it."""
        reports = []
        for job in jobs:
            self._progress.note(f"Job {job.name}")
            try:
                reports.append(self.run(job))
            except (EltError, OSError) as error:
                reports.append(JobReport(job.name, error=str(error), hint=getattr(error, "hint", "")))
        return reports

    def run(self, job: LoadedJob | UnreadableJob) -> JobReport:
        """Run one job. Raises an EltError if it fails."""
        if isinstance(job, UnreadableJob):
            raise job.error
        request = create_request(job, self._loaded, self._flags)
        if job.spec.split_by is not None:
            return self._run_split(job, request)
        self._check_not_filled_by_other_job(job, request.collection)
        report = self._ingest(job, request, CollectionJob(job.name), self._parser)
        return JobReport(job.name, (report,))

    def _run_split(self, job: LoadedJob, request: IngestRequest) -> JobReport:
        filled = collections_filled_by(self._store, job, self._loaded)
        parser = CachingParser(self._parser)  # one file may be read for several collections of this job
        sources = find_sources(KnownSources(), request.paths, request.selection, everything=False)
        reading = FileReading(request, self._loaded.settings.ingest, parser)
        grouped = GroupFinder(reading, job.spec.split_by or "section", filled)
        grouped.find(sources.files)
        others = {record.name for record in self._store.collections.all()} - {one.name for one in filled}
        names = collection_names(job.spec.collection_prefix or "", grouped.files.keys(), filled, others)
        reports = []
        for group, files in grouped.files.items():
            include = tuple(literal_pattern(located.file.path) for located in files)
            of_group = replace(request, collection=names[group], include=include, group=group)
            filling = CollectionJob(job.name, group, tuple(grouped.keys[group]))
            reports.append(self._ingest(job, of_group, filling, parser))
        left_over = [one.name for one in filled if one.filling.group not in grouped.files]
        dropped = left_over if request.allow_delete else []
        for name in dropped:
            drop(self._store, name)
        kept = () if dropped else tuple(left_over)
        return JobReport(job.name, tuple(reports), tuple(grouped.outcomes), kept, tuple(dropped))

    def _ingest(self, job: LoadedJob, request: IngestRequest, filling: CollectionJob, parser: Parser) -> IngestReport:
        settings = job.spec.apply_to(self._loaded.settings)
        report = ingest(request, settings, self._embedding, self._store, self._progress, parser)
        record = self._store.collections.find(request.collection)
        if record is not None:
            self._store.collections.set_filled_by(record.id, filling)
        return report

    def _check_not_filled_by_other_job(self, job: LoadedJob, collection: str) -> None:
        """Raise UsageError if another job fills the collection: each job would remove the other job's documents."""
        record = self._store.collections.find(collection)
        filling = self._store.collections.filled_by(record.id) if record else None
        if filling and filling.job != job.name and _still_exists(filling.job, self._loaded):
            raise UsageError(
                f"Collection '{collection}' is filled by the job {filling.job}.",
                hint=f"Give {job.name} a collection of its own, or run: elt-llm drop {collection}",
            )


def collections_filled_by(store: Store, job: LoadedJob, loaded: LoadedSettings) -> list[FilledCollection]:
    """Return the collections with the job's prefix that were filled by this job, or by a job that no longer exists."""
    collections = []
    for record in store.collections.all():
        filling = store.collections.filled_by(record.id)
        if filling is None or not record.name.startswith(job.spec.collection_prefix or "\0"):
            continue
        if filling.group and (filling.job == job.name or not _still_exists(filling.job, loaded)):
            roots = store.collections.roots(record.id)
            records = store.files.of_collection(record.id).values()
            files = {stable_path(roots[it.root][0], it.path): it for it in records if it.root in roots}
            collections.append(FilledCollection(record.name, filling, files))
    return collections


def refuse_job_collection(store: Store, collection: str) -> None:
    """Raise UsageError if a job filled the collection, because only the job defines what belongs in it."""
    if store.collections.find(collection) is None and KnownSources.of(store, collection).uploads:
        return
    filling = store.collections.filled_by(store.collections.get(collection).id)
    if filling is not None:
        raise UsageError(
            f"Collection '{collection}' is filled by a job.",
            hint=f"Run: elt-llm ingest --job {filling.job}   (with the same options)",
        )


def _still_exists(name: str, loaded: LoadedSettings) -> bool:
    return (loaded.config_dir / INGEST_FOLDER / f"{name}.yaml").is_file() or (loaded.project / name).is_file()


def plan_job(
    job: LoadedJob | UnreadableJob,
    loaded: LoadedSettings,
    embedding: EmbeddingModel | None,
    store: Store | None,
    flags: IngestFlags,
    parser: Parser | None = None,
) -> IngestPlan:
    """Plan a job. A `parser` reads the headers of new tables, to propose the columns of a data dictionary.

    A job that splits its files has one plan for all its collections, because the groups are not known before the files
    are read. If a job cannot run, `refused` in its plan is the reason.
    """
    if isinstance(job, UnreadableJob):
        return IngestPlan("", (), refused=str(job.error), job=job.name)
    try:
        request = create_request(job, loaded, flags)
        if job.spec.split_by is None:
            return plan_ingest(request, job.spec.apply_to(loaded.settings), embedding, store, parser)
        filled = collections_filled_by(store, job, loaded) if store else []
        reading = FileReading(request, loaded.settings.ingest, DirectParser())
        return _plan_split_job(job, request, filled, GroupFinder(reading, job.spec.split_by, filled))
    except UsageError as error:
        return IngestPlan(job.spec.collection or f"{job.spec.collection_prefix}*", (), refused=str(error), job=job.name)


def _plan_split_job(
    job: LoadedJob, request: IngestRequest, filled: list[FilledCollection], finder: GroupFinder
) -> IngestPlan:
    sources = find_sources(KnownSources(), request.paths, request.selection, everything=False)
    before = {where: record.path for one in filled for where, record in one.files.items()}
    names = {one.filling.group: one.name for one in filled}
    files = [_planned_file(located, finder, names, before) for located in sources.files]
    there = {stable_path(located.root_path, located.relative) for located in sources.files}
    files += [
        PlannedFile(path, "removed", "no longer found") for where, path in sorted(before.items()) if where not in there
    ]
    files += [PlannedFile(str(it.path), "skipped", it.reason) for it in sources.skipped]
    rebuilt = "--rebuild was given" if request.rebuild and filled else ""
    return IngestPlan(f"{job.spec.collection_prefix}*", tuple(files), rebuilt, "", job.name)


def _planned_file(
    located: LocatedFile, finder: GroupFinder, names: Mapping[str, str], before: Collection[str]
) -> PlannedFile:
    try:
        groups = finder.known_groups(finder.key(located))
    except UnreadableDocument as error:
        return PlannedFile(located.relative, "failed", error.reason_and_hint)
    if groups:
        return PlannedFile(located.relative, "unchanged", f"in {', '.join(names[group] for group in groups)}")
    known = stable_path(located.root_path, located.relative) in before
    return PlannedFile(located.relative, "changed" if known else "new", "its groups are not known before it is read")
