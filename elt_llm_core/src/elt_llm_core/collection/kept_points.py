"""The points that generations have in a database: which are kept, and deleting the others."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from elt_llm_core.errors import CorruptIndex, IndexRefused, IndexUnavailable, SettingsError
from elt_llm_core.index.databases import PointDatabases, refuse_shared_workspace
from elt_llm_core.index.passport import PASSPORT_NAME, Passport
from elt_llm_core.index.points import LineageRecord, StoredLineage
from elt_llm_core.settings.tree import ChromaSettings, IndexSettings
from elt_llm_core.store.records import EmbeddingFingerprint
from elt_llm_core.store.store import Store


@dataclass(frozen=True)
class UncollectedPoints:
    """A lineage whose unused points could not be deleted; the next writing command tries again."""

    lineage: StoredLineage
    error: IndexUnavailable | IndexRefused | SettingsError


def generations_of_lineage(store: Store, lineage: str) -> list[int]:
    """Return the numbers of the generations that use points of a lineage, ascending.

    A generation without a row counts as long as its directory exists, because a reader has it open.
    """
    return _numbers_by_lineage(store).get(lineage, [])


def collect_points(store: Store) -> tuple[UncollectedPoints, ...]:
    """Delete the points that no generation uses, and return the lineages whose database refuses or is unreachable.

    The caller holds the writer's lock. A database is asked only if generations or points have changed since.
    """
    record, used = LineageRecord(store.data_dir), _numbers_by_lineage(store)
    left = []
    changed = [lineage for lineage in record.all() if lineage.kept != tuple(used.get(lineage.name, []))]
    with PointDatabases(store.data_dir) as databases:
        for lineage in changed:
            numbers = used.get(lineage.name, [])
            try:
                databases.get(lineage.settings, lineage.fingerprint).keep(lineage.name, numbers)
            except (IndexUnavailable, IndexRefused, SettingsError) as error:
                left.append(UncollectedPoints(lineage, error))
                continue
            if numbers:
                record.save(replace(lineage, kept=tuple(numbers)))
            else:
                record.remove(lineage)
    return tuple(left)


def check_databases(store: Store) -> None:
    """Raise the error of the first database that has points of this data directory and cannot be written to."""
    with PointDatabases(store.data_dir) as databases:
        for lineage in LineageRecord(store.data_dir).all():
            databases.get(lineage.settings, lineage.fingerprint).prepare()


def check_index(store: Store, index: IndexSettings, fingerprint: EmbeddingFingerprint, graph: ChromaSettings) -> None:
    """Create what an ingest needs in the database of the settings, if there is one, and check that it may write.

    Raises IndexUnavailable, IndexRefused and SettingsError, before a document is read or a text embedded.
    """
    if index.backend != "local":
        refuse_shared_workspace(store.workspace)
        with PointDatabases(store.data_dir) as databases:
            databases.get(index, fingerprint, graph).prepare()


def databases_of(store: Store) -> Sequence[str]:
    """Return the addresses of the databases that have points of this data directory."""
    return sorted({lineage.settings.url for lineage in LineageRecord(store.data_dir).all()})


def _numbers_by_lineage(store: Store) -> dict[str, list[int]]:
    found: dict[str, set[int]] = {}
    texts = [row.passport for record in store.collections.all() for row in store.generations.of_collection(record.id)]
    for path in store.data_dir.glob(f"collections/*/*/{PASSPORT_NAME}"):
        if path.parent.name.isdecimal():
            with suppress(OSError, UnicodeDecodeError):
                texts.append(path.read_text(encoding="utf-8"))
    for text in texts:
        with suppress(CorruptIndex):
            passport = Passport.from_json(text)
            if passport.lineage:
                found.setdefault(passport.lineage, set()).add(passport.number)
    return {lineage: sorted(numbers) for lineage, numbers in found.items()}
