"""Build a new generation's directory, from the published generation and what changed, or from the store alone."""

import importlib.metadata
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import CorruptIndex, StoreError
from elt_llm_core.index.contents import (
    CHROMA_FOLDER,
    DIGESTS_NAME,
    FIELDS_NAME,
    VECTORS_NAME,
    GenerationArrays,
    GenerationChange,
    GenerationContents,
    clear_reserved_bytes,
    hash_of_digests,
    load_array,
    node_digests,
    node_stems,
    read_arrays,
    read_change,
    read_contents,
    save_array,
    write_arrays,
    write_artefacts,
)
from elt_llm_core.index.fields import (
    FilterField,
    build_fields,
    fields_in_memory,
    open_fields,
    updated_fields,
    write_fields,
)
from elt_llm_core.index.keyword_index import TermCounts, keyword_index_of, read_term_counts, write_keyword_index
from elt_llm_core.index.passport import PASSPORT_NAME, IndexLibrary, Passport, damaged_files, file_hashes, file_stamps
from elt_llm_core.index.points import (
    NodeCodes,
    PointDatabase,
    PointsChange,
    PointsView,
    points_change,
    points_faults,
    write_points,
)
from elt_llm_core.index.qdrant import check_place, lineages_of, point_databases
from elt_llm_core.index.usearch import GRAPH_NAME, USEARCH_FOLDER, GraphVectorStore, build_graph, graph_faults
from elt_llm_core.progress import ProgressListener
from elt_llm_core.settings.tree import GRAPH_FROM, ChromaSettings, IndexSettings
from elt_llm_core.store.database import SqliteDatabase
from elt_llm_core.store.disk import link_or_copy, sync_tree
from elt_llm_core.store.generations import PIN_NAME
from elt_llm_core.store.records import EmbeddingFingerprint, GenerationRecord, utc_now
from elt_llm_core.store.store import Store
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_core.utilities import Failpoint, failpoint

_LIBRARIES = (
    "chromadb",
    "bm25s",
    "PyStemmer",
    "llama-index-core",
    "numpy",
    "onnxruntime",
    "tokenizers",
    "pysqlite3",
    "usearch",
)


@dataclass(frozen=True)
class GenerationRecipe:
    """The models and parameters with which an ingest builds all its generations.

    From `graph_from` nodes on, vectors are indexed by usearch instead of Chroma. If `index` names a vector database,
    that indexes them instead.
    """

    fingerprint: EmbeddingFingerprint
    chunker: str
    tokeniser: KeywordTokeniser
    chroma: ChromaSettings
    graph_from: int = GRAPH_FROM
    index: IndexSettings = field(default_factory=IndexSettings)


@dataclass(frozen=True)
class BuildTarget:
    """The collection, number and directory of a generation to build.

    `lineage` is set to rebuild a published generation whose points, the vectors in a vector database, are already
    written. Generations of one lineage share their points.
    """

    collection: str
    number: int
    directory: Path
    lineage: str | None = None


@dataclass(frozen=True)
class BaseGeneration:
    """The published generation, whose files are the starting point for building the next one.

    `is_latest` is false if a generation with a higher number has points (vectors) in the database: after a rollback.
    """

    record: GenerationRecord
    directory: Path
    versions: tuple[int, ...]
    is_latest: bool = True


# Files of a usearch generation that never change. The next generation links to them instead of copying them.
_LINKED = (VECTORS_NAME, f"{USEARCH_FOLDER}/{GRAPH_NAME}")


@failpoint(Failpoint.INDEX)
def build_generation(
    store: Store,
    place: BuildTarget,
    versions: Sequence[int],
    recipe: GenerationRecipe,
    base: BaseGeneration | None,
    progress: ProgressListener,
) -> GenerationRecord:
    """Build and verify the generation's directory. No text is embedded. Returns the row to add to the store.

    With the published generation `base`, only new and changed nodes are read, unless there are too many of them.
    """
    builder = _Builder(store, place, recipe, progress)
    return (builder.updated(versions, base) if base else None) or builder.fresh(versions)


@dataclass(frozen=True)
class _Contents:
    """What a generation's files contain, apart from its vector index."""

    versions: tuple[int, ...]
    arrays: GenerationArrays
    digests: NDArray[np.uint8]
    fields: Sequence[FilterField]
    counts: TermCounts

    @property
    def codes(self) -> NodeCodes:
        """The filter codes (hashes of field values) of all nodes. A value has the same code in every generation."""
        return NodeCodes.of(fields_in_memory(self.fields, self.arrays.fields), len(self.arrays.ids))


@dataclass(frozen=True)
class _Builder:
    store: Store
    place: BuildTarget
    recipe: GenerationRecipe
    progress: ProgressListener

    @property
    def directory(self) -> Path:
        """The directory of the new generation."""
        return self.place.directory

    def fresh(self, versions: Sequence[int]) -> GenerationRecord:
        """Build the generation from the store alone, without the files of an earlier one."""
        contents = read_contents(self.store, versions, self.recipe.fingerprint)
        size = len(contents.nodes)
        self.progress.stage("index", size)
        digests = node_digests(self.store, contents)
        fields = build_fields(self.store, contents, contents.arrays.fields["document"])
        counts = TermCounts.of_stems(node_stems(self.store, contents.nodes, self.recipe.tokeniser))
        written = _Contents(contents.versions, contents.arrays, digests, fields, counts)
        self._write(written)
        library, lineage = self._library(size), ""
        faults: list[str] = []
        # For a single vector, Chroma stores no graph, and it rewrites its files whenever it opens them.
        if self.recipe.index.backend != "local" and size >= 2:
            lineage, faults = self._fresh_points(written)
        elif size >= 2:
            faults = self._fresh_index(contents, library)
        for fault in faults:
            self.progress.note(f"The vector index is not used; vectors are searched exactly instead: {fault}")
        passport = self._finish(size, library, exact=size < 2 or bool(faults), lineage=lineage)
        return _row(written, passport, fresh_base=self.place.number, changed=0)

    def updated(self, versions: Sequence[int], base: BaseGeneration) -> GenerationRecord | None:
        """Build the generation by changing copies of the published one's files where nodes changed.

        Returns None if the published generation is damaged or was built with other parameters, if more than a tenth of
        the nodes changed since its index was built from scratch, or if the changed index has faults.
        """
        passport = Passport.from_json(base.record.passport)
        linked = _LINKED if passport.index == "usearch" else ()
        # All other files are read here, because their bytes are copied into new files, whose hashes would hide damage.
        if not self._is_alike(passport) or damaged_files(base.directory, base.record.passport, linked):
            return None
        before = read_arrays(base.directory)
        change = read_change(self.store, before, base.versions, versions, self.recipe.fingerprint)
        size, removed, added = len(change.ids), change.vectors_removed, change.vectors_added
        changed = base.record.changed_since_fresh + len({*removed, *added})
        in_points = bool(passport.database)
        if size < 2 or passport.index != self._library_after(passport, size):
            return None
        if not self._has_points(base, passport) if in_points else changed * 10 > size:
            return None
        self.progress.stage("index", size)
        contents = self._updated_contents(base, before, change, passport)
        if contents is None:
            return None
        present = [name for name in linked if (base.directory / name).is_file()]
        self._write(contents, {name: base.directory / name for name in present})
        if in_points:
            faults = self._changed_points(base, passport, before, contents, added)
        else:
            faults = [] if passport.exact else self._changed_index(base, passport, contents.arrays, removed, added)
        for fault in faults:
            self.progress.note(f"The vector index is rebuilt instead of copied: {fault}")
        if faults:
            return None
        known = {name: passport.files[name] for name in present}
        lineage = passport.lineage
        passport = self._finish(size, passport.index, exact=passport.exact, known=known, lineage=lineage)
        return _row(contents, passport, fresh_base=base.record.fresh_base, changed=changed)

    def _is_alike(self, passport: Passport) -> bool:
        recipe = self.recipe
        return (
            (passport.duplicates, passport.hashing) == ("once", "nodes")  # else an earlier program version built it
            and passport.fingerprint == recipe.fingerprint
            and passport.chroma == recipe.chroma.model_dump()
            and passport.tokeniser == recipe.tokeniser.fingerprint
            and passport.index_settings.is_same_place(recipe.index)
        )

    def _library(self, size: int) -> IndexLibrary:
        if self.recipe.index.backend != "local":
            return self.recipe.index.backend
        return "usearch" if size >= self.recipe.graph_from else "chroma"

    def _library_after(self, before: Passport, size: int) -> IndexLibrary:
        """Return the library or database of the next generation's vector index.

        A collection changes from Chroma to usearch at `graph_from` nodes (a setting), but back only below 80 % of that
        number. Otherwise, small changes near the limit would build a new index each time.
        """
        keeps = before.index == "usearch" and size * 5 >= self.recipe.graph_from * 4
        return before.index if keeps else self._library(size)

    def _updated_contents(
        self, base: BaseGeneration, before: GenerationArrays, change: GenerationChange, passport: Passport
    ) -> _Contents | None:
        """Apply the change to the base generation's contents, or return None if that is not possible."""
        counts = read_term_counts(base.directory, len(before.ids))
        if counts is None:
            return None
        old_numbers = np.searchsorted(change.versions, change.versions_before)
        new_numbers = np.searchsorted(change.versions, [node.version for node in change.added.nodes])
        documents = change.applied(old_numbers[before.fields["document"]], new_numbers)
        pages = np.array([node.page or 0 for node in change.added.nodes], dtype=np.int64)
        fields = updated_fields(self.store, change, open_fields(base.directory / FIELDS_NAME, before.fields), documents)
        if fields is None:
            return None
        segmented = passport.index == "usearch"
        vectors = (
            change.segmented(before) if segmented else change.applied(np.asarray(before.vectors), change.added.vectors)
        )
        stems = node_stems(self.store, change.added.nodes, self.recipe.tokeniser)
        digests = load_array(base.directory / DIGESTS_NAME, mapped=False)
        return _Contents(
            change.versions,
            GenerationArrays(
                change.ids,
                vectors,
                {"document": documents, "page": change.applied(before.fields["page"], pages)},
            ),
            change.applied(digests, node_digests(self.store, change.added)),
            fields,
            counts.with_changes(change.moved, dict(zip(change.places.tolist(), stems, strict=True)), len(change.ids)),
        )

    def _write(self, contents: _Contents, linked: Mapping[str, Path] | None = None) -> None:
        """Write all files except the vector index.

        `linked` has existing files by name, such as {"vectors.npy": previous file}. They are linked, not copied.
        """
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True, mode=0o700)
        (self.directory / PIN_NAME).touch()
        for name, source in (linked or {}).items():
            (self.directory / name).parent.mkdir(exist_ok=True)
            link_or_copy(source, self.directory / name)
        write_arrays(self.directory, contents.arrays)
        save_array(self.directory / DIGESTS_NAME, contents.digests)
        write_fields(self.directory / FIELDS_NAME, contents.fields)
        write_artefacts(self.directory, self.store.documents.artefacts(contents.versions))
        index = keyword_index_of(contents.counts, self.recipe.tokeniser)
        write_keyword_index(self.directory, index, contents.counts)

    def _fresh_index(self, contents: GenerationContents, library: IndexLibrary) -> list[str]:
        """Build the vector index and return its faults. An index with faults is deleted."""
        if library == "usearch":
            build_graph(self.directory, contents.vectors, self.recipe.chroma)
            faults = self._graph_faults(contents.arrays, fresh=True)
        else:
            from elt_llm_core.index.chroma import create_chroma, index_faults

            with create_chroma(self.directory / CHROMA_FOLDER, self.recipe.chroma, len(contents.nodes)) as index:
                index.store.put(contents.ids, contents.vectors)
                with failpoint(Failpoint.VERIFY):
                    faults = index_faults(index.store, contents.arrays, ())
        if faults:
            for folder in (CHROMA_FOLDER, USEARCH_FOLDER):
                shutil.rmtree(self.directory / folder, ignore_errors=True)
        return faults

    @contextmanager
    def _database(self) -> Iterator[PointDatabase]:
        """Yield the vector database, after checking that it can be written to."""
        check_place(self.recipe.index, self.store.workspace)
        with point_databases(self.store) as databases:
            database = databases.get(self.recipe.index, self.recipe.fingerprint, self.recipe.chroma)
            database.prepare()
            yield database

    def _has_points(self, base: BaseGeneration, passport: Passport) -> bool:
        """Return whether new points (vectors in a database) can be added to those of the published generation, `base`.

        They can if this workspace wrote those points, and none of a later generation are in the database.
        """
        known = passport.lineage and lineages_of(self.store).find(passport.lineage)
        return bool(known) and base.is_latest

    def _fresh_points(self, contents: _Contents) -> tuple[str, list[str]]:
        """Write a point for every node to the vector database. Return the lineage and the faults.

        The lineage is the new random name under which the points are stored. Faults are what a check of the points
        found, such as a wrong number of points; with faults, the lineage is "". If the generation was published before
        (`place.lineage` is not None), nothing is written, and its lineage is returned.
        """
        if (published := self.place.lineage) is not None:
            return published, [] if published else ["The generation was published without vectors in the database."]
        with self._database() as database:
            lineage = lineages_of(self.store).start(self.recipe.index, self.recipe.fingerprint).name
            view = PointsView(lineage, self.place.number)
            every = PointsChange(np.arange(len(contents.arrays.ids)), ())
            write_points(database, view, self.place.collection, (contents.arrays, contents.codes), every)
            with failpoint(Failpoint.VERIFY):
                faults = points_faults(database, view, contents.arrays)
        return "" if faults else lineage, faults

    def _changed_points(
        self,
        base: BaseGeneration,
        passport: Passport,
        before: GenerationArrays,
        contents: _Contents,
        added: Sequence[str],
    ) -> list[str]:
        """Write only the points (vectors in a database) that the base generation lacks, and return the faults."""
        former = open_fields(base.directory / FIELDS_NAME, before.fields)
        coded = contents.arrays, contents.codes
        change = points_change((before, NodeCodes.of(former, len(before.ids))), coded, added)
        record = lineages_of(self.store)
        with self._database() as database:
            if lineage := record.find(passport.lineage):
                record.save(replace(lineage, kept=None))
            database.rewind(PointsView(passport.lineage, base.record.number))
            view = PointsView(passport.lineage, self.place.number)
            write_points(database, view, self.place.collection, coded, change)
            with failpoint(Failpoint.VERIFY):
                return points_faults(database, view, contents.arrays, change.written)

    def _changed_index(
        self,
        base: BaseGeneration,
        passport: Passport,
        arrays: GenerationArrays,
        removed: Sequence[str],
        added: Sequence[str],
    ) -> list[str]:
        """Update a copy of the base generation's Chroma index, or check its usearch graph, which is never changed.

        Returns the faults, such as low recall.
        """
        if passport.index == "usearch":
            return self._graph_faults(arrays, fresh=False)
        from elt_llm_core.index.chroma import index_faults, open_chroma

        folder = self.directory / CHROMA_FOLDER
        try:
            _copy_chroma(base.directory / CHROMA_FOLDER, folder)
            with open_chroma(folder) as index:
                index.store.delete_nodes(list(removed))
                index.store.put(added, arrays.vectors[arrays.positions(added)])
                with failpoint(Failpoint.VERIFY):
                    return index_faults(index.store, arrays, added)
        except StoreError as error:  # for example damage in Chroma's own database, which has no checksums
            return [str(error)]

    def _graph_faults(self, arrays: GenerationArrays, *, fresh: bool) -> list[str]:
        with failpoint(Failpoint.VERIFY):
            try:
                return graph_faults(GraphVectorStore(self.directory, arrays, self.recipe.chroma), arrays, fresh=fresh)
            except CorruptIndex as error:  # for example a disk fault: a linked graph was not read before
                return [str(error)]

    def _finish(
        self,
        size: int,
        library: IndexLibrary,
        *,
        exact: bool,
        known: Mapping[str, str] | None = None,
        lineage: str = "",
    ) -> Passport:
        """Write the passport and flush all files to the disk. `known` has the hashes of unchanged files."""
        clear_reserved_bytes(self.directory / CHROMA_FOLDER)
        recipe = self.recipe
        passport = Passport(
            collection=self.place.collection,
            number=self.place.number,
            nodes=size,
            fingerprint=recipe.fingerprint,
            chroma=recipe.chroma.model_dump(),
            exact=exact,
            chunker=recipe.chunker,
            tokeniser=recipe.tokeniser.fingerprint,
            language=recipe.tokeniser.language,
            library_versions={name: importlib.metadata.version(name) for name in _LIBRARIES},
            files=file_hashes(self.directory, known),
            duplicates="once",
            hashing="nodes",
            index=library,
            graph_from=recipe.graph_from,
            stamps=file_stamps(self.directory),
            database={} if recipe.index.backend == "local" else recipe.index.model_dump(),
            lineage=lineage,
        )
        (self.directory / PASSPORT_NAME).write_text(passport.to_json(), encoding="utf-8")
        sync_tree(self.directory)
        self.progress.advance(size)
        return passport


def _row(contents: _Contents, passport: Passport, *, fresh_base: int, changed: int) -> GenerationRecord:
    """Return the row that records a generation in the store. The generation's directory must be complete."""
    return GenerationRecord(
        number=passport.number,
        created_at=utc_now(),
        fresh_base=fresh_base,
        changed_since_fresh=changed,
        documents=len(contents.versions),
        nodes=passport.nodes,
        collection_hash=hash_of_digests(contents.digests),
        passport=passport.to_json(),
    )


def _copy_chroma(source: Path, target: Path) -> None:
    """Copy the HNSW files as they are, but Chroma's database by SQLite's backup API, so that no journal is needed."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("chroma.sqlite3*"))
    with closing(SqliteDatabase(source / "chroma.sqlite3", for_writing=False)) as database:
        database.backup_to(target / "chroma.sqlite3")
