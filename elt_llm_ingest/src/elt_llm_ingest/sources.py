"""Where a run's files come from: the paths it was given, and the folders its collection already knows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from elt_llm_core.store.records import CollectionRecord
from elt_llm_core.store.store import Store

from elt_llm_ingest.discovery import Discovery, discover
from elt_llm_ingest.roots import Located, RootNames


@dataclass(frozen=True)
class Sources:
    """What was found. `roots` maps names to (folder, scanned whole); `missing` are known places that are not there."""

    discovery: Discovery
    files: tuple[Located, ...]
    roots: Mapping[str, tuple[Path, bool]]
    missing: tuple[Path, ...]
    known: bool

    @property
    def whole_roots(self) -> frozenset[str]:
        """Names of the roots in which a missing file means that it is gone."""
        return frozenset(name for name, (_, whole) in self.roots.items() if whole)


def find_sources(store: Store, name: str, paths: Sequence[Path], *, everything: bool) -> Sources:
    """Discover `paths`; with none, or with `everything`, also all that the collection was filled from before.

    Raises UsageError for a given path that does not exist, UnknownCollection if none is given and there is nothing to
    look at again; a known path that is gone is told in `missing`.
    """
    record = store.collections.find(name) if paths else store.collections.get(name)
    known = {root: path for root, (path, _) in store.collections.roots(record.id).items()} if record else {}
    remembered = _remembered(store, record) if record and (everything or not paths) else []
    present = [path for path in remembered if path.exists()]
    discovery = discover([*paths, *present])
    names = RootNames(known)
    files = tuple(names.locate(file) for file in discovery.files)
    scanned = frozenset(discovery.scanned_roots)
    roots = {file.root: (file.root_path, file.root_path in scanned) for file in files}
    roots |= {names.name_of(path): (path, True) for path in scanned if path in known.values()}
    missing = tuple(path for path in remembered if not path.exists())
    return Sources(discovery, files, roots, missing, known=bool(known))


def _remembered(store: Store, record: CollectionRecord) -> list[Path]:
    """Roots that were given as a whole, and the single files of the others."""
    roots = store.collections.roots(record.id)
    files = store.documents.files(record.id).values()
    single = [roots[file.root][0] / file.path for file in files if file.root in roots and not roots[file.root][1]]
    return [path for path, whole in roots.values() if whole] + single
