"""What running a job would do."""

from collections.abc import Collection, Mapping

from elt_llm_core.errors import UnreadableDocument, UsageError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.settings_loader import LoadedSettings
from elt_llm_core.store.store import Store

from elt_llm_ingest.groups import Filled, GroupFinder, place
from elt_llm_ingest.ingest_request import IngestRequest
from elt_llm_ingest.job_file import Job, Unread
from elt_llm_ingest.job_request import Flags, request_of
from elt_llm_ingest.jobs import filled_by
from elt_llm_ingest.patterns import Selection
from elt_llm_ingest.plan import Plan, PlannedFile, plan_ingest
from elt_llm_ingest.readers.options import ReaderOptions
from elt_llm_ingest.reading import Reading
from elt_llm_ingest.roots import Located
from elt_llm_ingest.sandbox.parser import DirectParser
from elt_llm_ingest.sources import Known, locate_sources


def plan_job(
    job: Job | Unread, loaded: LoadedSettings, embedding: EmbeddingModel | None, store: Store | None, flags: Flags
) -> Plan:
    """What a job would do. Of one that splits its files, one plan for all its collections: groups are not known yet.

    One that cannot be run is a plan that says why.
    """
    if isinstance(job, Unread):
        return Plan("", (), refused=str(job.error), job=job.name)
    try:
        return _plan(job, loaded, embedding, store, flags)
    except UsageError as error:
        return Plan(job.spec.collection or f"{job.spec.collection_prefix}*", (), refused=str(error), job=job.name)


def _plan(
    job: Job, loaded: LoadedSettings, embedding: EmbeddingModel | None, store: Store | None, flags: Flags
) -> Plan:
    request = request_of(job, loaded, flags)
    if job.spec.split_by is None:
        return plan_ingest(request, job.spec.apply_to(loaded.settings), embedding, store)
    filled = filled_by(store, job, loaded) if store else []
    reading = Reading(DirectParser(), ReaderOptions.of(loaded.settings.ingest), job.spec.reader)
    finder = GroupFinder(reading, job.spec.split_by, filled)
    return _plan_split(job, request, filled, finder)


def _plan_split(job: Job, request: IngestRequest, filled: list[Filled], finder: GroupFinder) -> Plan:
    selection = Selection.of(request.include, request.exclude)
    sources = locate_sources(Known(), request.paths, selection, everything=False)
    before = {where: record.path for one in filled for where, record in one.files.items()}
    names = {one.filling.group: one.name for one in filled}
    files = [_planned(located, finder, names, before) for located in sources.files]
    there = {place(located.root_path, located.relative) for located in sources.files}
    files += [
        PlannedFile(path, "removed", "no longer in its folder")
        for where, path in sorted(before.items())
        if where not in there
    ]
    files += [PlannedFile(str(it.path), "skipped", it.reason) for it in sources.discovery.skipped]
    rebuilt = "--rebuild was given" if request.rebuild and filled else ""
    return Plan(f"{job.spec.collection_prefix}*", tuple(files), rebuilt, "", job.name)


def _planned(located: Located, finder: GroupFinder, names: Mapping[str, str], before: Collection[str]) -> PlannedFile:
    try:
        groups = finder.known_groups(finder.key(located))
    except UnreadableDocument as error:
        return PlannedFile(located.relative, "failed", str(error))
    if groups:
        return PlannedFile(located.relative, "unchanged", f"in {', '.join(names[group] for group in groups)}")
    known = place(located.root_path, located.relative) in before
    return PlannedFile(located.relative, "changed" if known else "new", "its groups are known when it is read")
