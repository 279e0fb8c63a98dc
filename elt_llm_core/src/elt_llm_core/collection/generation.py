"""A published generation. A reader pins it, so that it is not deleted, and opens it read-only."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from llama_index.core.vector_stores.types import BasePydanticVectorStore
from numpy.typing import NDArray

from elt_llm_core.errors import CorruptIndex, StoreError
from elt_llm_core.index.contents import (
    ARRAY_PARTS,
    ARTEFACTS_FOLDER,
    CHROMA_FOLDER,
    FIELDS_NAME,
    GenerationArrays,
    GenerationContents,
    collection_hash,
    node_stems,
    read_arrays,
    read_contents,
    read_json,
)
from elt_llm_core.index.fields import FilterFields, build_fields, fields_in_memory, open_fields
from elt_llm_core.index.keyword_index import BM25_FOLDER, KeywordIndex, build_keyword_index, read_keyword_index
from elt_llm_core.index.local_index import LocalIndex
from elt_llm_core.index.passport import Passport, damaged_files_in, generation_identity, passport_on_disk
from elt_llm_core.index.points import PointSearch, PointsView
from elt_llm_core.index.qdrant import PointDatabases, point_databases
from elt_llm_core.index.searchable import find_document
from elt_llm_core.index.usearch import USEARCH_FOLDER, GraphVectorStore
from elt_llm_core.index.vector_index import ExactVectorStore, PooledVectorStore, VectorIndexPool, exact_search_note
from elt_llm_core.settings.tree import ChromaSettings
from elt_llm_core.store.conditions import DocumentConditions
from elt_llm_core.store.database import RECOVER_HINT
from elt_llm_core.store.generations import GenerationPin
from elt_llm_core.store.records import CollectionRecord, StoredDocument, StoredNode
from elt_llm_core.store.store import Store
from elt_llm_core.text.outline import Outline
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_core.utilities import Closeable

if TYPE_CHECKING:
    from elt_llm_core.index.chroma import ChromaIndex


class Generation(LocalIndex, Closeable):
    """One generation of a collection, open for searching and reading. It is not deleted before it is closed."""

    def __init__(  # noqa: PLR0913 - all but the first four have defaults
        self,
        store: Store,
        record: CollectionRecord,
        pin: GenerationPin,
        passport: Passport,
        indexes: VectorIndexPool | None = None,
        tokeniser_of: Callable[[str], KeywordTokeniser] = KeywordTokeniser,
        databases: PointDatabases | None = None,
        *,
        conditions: DocumentConditions = (),
    ) -> None:
        """Open the generation's files.

        With `indexes`, generations share a limited number of open vector indexes. Without it, the vector index of this
        generation is opened at once. `tokeniser_of` returns the tokeniser for a language, so that generations can share
        it. The first search connects to a vector database, through `databases` or through a connection of its own. If
        the store has row-level security, only what a caller with `conditions` may see is read.
        """
        self.collection = record.name
        self.number = pin.number
        self.passport = passport
        self.directory = store.folder(record.name) / str(pin.number)
        self._on_disk = passport_on_disk(self.directory, passport) if store.workspace.is_shared else passport
        self._store, self._record, self._pin = store, record, pin
        self._conditions, self._seen = conditions, store.seen_by(conditions)
        self._chroma: ChromaIndex | None = None
        self._databases: PointDatabases | None = None
        arrays, fields, array_notes = self._open_arrays()
        tokeniser = tokeniser_of(passport.language)
        self._tokeniser_key = tokeniser.fingerprint
        keyword, keyword_notes = self._open_keyword(tokeniser, len(arrays.ids))
        vector_store, vector_notes = self._open_vectors(arrays, indexes, rebuilt=bool(array_notes))
        points = self._open_points(databases)
        super().__init__(arrays, fields, keyword, vector_store, points, self._visible_nodes(arrays))
        self._opening_notes = (*array_notes, *keyword_notes, *vector_notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about indexes that were damaged or outdated and were therefore rebuilt or replaced."""
        lent = self.vector_store.notes if isinstance(self.vector_store, PooledVectorStore) else ()
        return (*self._opening_notes, *lent, *(self.points.notes if self.points else ()))

    @property
    def identity(self) -> str:
        """A text that is unique for this build. Generation numbers are not: they restart if a collection is dropped."""
        return generation_identity(self.collection, self.number, self.passport)

    def nodes(self, node_ids: Sequence[str]) -> list[StoredNode]:
        """Return these nodes with their texts, in the given order. Raises CorruptIndex if a node is missing."""
        found = self._seen.nodes.in_generation(self._record.id, self.number, node_ids)
        missing = [node_id for node_id in node_ids if node_id not in found]
        if missing:
            raise CorruptIndex(
                f"Node {missing[0]} of '{self.collection}' is not in the store.",
                hint=f"Run: elt-llm verify -c {self.collection}",
            )
        return [found[node_id] for node_id in node_ids]

    def stems(self, node_ids: Sequence[str]) -> list[list[str]]:
        """Return each node's stems, first from its context, then from its text. Unknown nodes have none."""
        found = self._seen.nodes.stems_in_generation(self._record.id, self.number, node_ids, self._tokeniser_key)
        both = (found.get(node_id, ("", None)) for node_id in node_ids)
        return [self.tokeniser.stems(text or "") if stems is None else stems.split() for stems, text in both]

    def documents(self) -> list[StoredDocument]:
        """Return the documents sorted by path, without their texts."""
        return self._seen.documents.in_generation(self._record.id, self.number)

    def document(self, reference: str) -> StoredDocument:
        """Return the only document with this id, path, file name or title, with its text, or raise UsageError."""
        found = find_document(self.documents(), reference, self.collection)
        return replace(found, text=self._seen.documents.text(found.version))

    def texts(self, document_ids: Sequence[str]) -> dict[str, str]:
        """Return the texts of these documents by document id. Unknown ids are skipped."""
        return self._seen.documents.texts(self._record.id, self.number, list(dict.fromkeys(document_ids)))

    def outlines(self, document_ids: Sequence[str]) -> dict[str, Outline]:
        """Return the pages and sections of these documents by document id. Unknown ids are skipped."""
        return self._seen.documents.outlines(self._record.id, self.number, list(dict.fromkeys(document_ids)))

    def outdated(self, document_ids: Sequence[str]) -> dict[str, str]:
        """Return why the changed file of a document could not be read, for documents of an older version, by id."""
        return self._seen.documents.outdated(self._record.id, self.number, list(dict.fromkeys(document_ids)))

    @property
    def artefact_names(self) -> list[str]:
        """The names of the documents' artefacts, such as `enterprise_model`.

        An artefact is a JSON value that a reader extracted from a document in addition to the text.
        """
        return sorted(path.name for path in (self.directory / ARTEFACTS_FOLDER).glob("*"))

    def artefacts(self, name: str) -> dict[str, Any]:
        """Return the artefacts with this name, as parsed JSON by document id.

        An artefact is a JSON value that a reader extracted in addition to the text, such as `enterprise_model`. If a
        file is damaged, the artefacts are read from the database instead, and `notes` reports that.
        """
        folder = self.directory / ARTEFACTS_FOLDER / name
        try:
            self._check_files(f"{ARTEFACTS_FOLDER}/{name}")
            return {path.stem: read_json(path) for path in sorted(folder.glob("*.json"))}
        except CorruptIndex as error:
            versions = self._store.generations.versions(self._record.id, self.number)
            note = f"{error} It was read from the store. {error.hint}"
            self._opening_notes = tuple(dict.fromkeys((*self._opening_notes, note)))
            stored = self._store.documents.artefacts(versions)
            return {identity: json.loads(content) for found, identity, content in stored if found == name}

    def close(self) -> None:
        """Close the indexes and release the pin."""
        if self._chroma:
            self._chroma.close()
            self._chroma = None
        if isinstance(self.vector_store, PooledVectorStore):
            self.vector_store.let_go()
        if self._databases:
            self._databases.close()
        self._pin.release()

    def _check_files(self, part: str) -> None:
        """Raise CorruptIndex if this file or folder in the generation does not match the passport's hashes."""
        if faults := damaged_files_in(self.directory, part, self._on_disk):
            raise CorruptIndex(
                f"An index file is damaged or missing: {self.directory / faults[0]}.",
                hint=f"Run: elt-llm verify -c {self.collection}",
            )

    def _open_arrays(self) -> tuple[GenerationArrays, FilterFields, tuple[str, ...]]:
        """Open ids, vectors and fields. If a file is damaged, rebuild them in memory from the store.

        Raises StoreError if the store is damaged too.
        """
        try:
            for part in ARRAY_PARTS:
                self._check_files(part)
            arrays = read_arrays(self.directory)
            return arrays, open_fields(self.directory / FIELDS_NAME, arrays.fields), ()
        except CorruptIndex as error:
            contents = self._contents()
            fields = build_fields(self._store, contents, contents.arrays.fields["document"])
            note = f"{error} It was rebuilt in memory. Run: elt-llm verify -c {self.collection}"
            return contents.arrays, fields_in_memory(fields, contents.arrays.fields), (note,)

    def _open_points(self, databases: PointDatabases | None) -> PointSearch | None:
        """Return an object that searches the vector database, or None if this generation's vectors are not in one."""
        passport = self.passport
        if not passport.lineage:
            return None
        if databases is None:
            databases = self._databases = point_databases(self._store)
        graph = ChromaSettings.model_validate(passport.chroma)
        database_of = partial(databases.get, passport.index_settings, passport.fingerprint, graph)
        view = PointsView(passport.lineage, self.number)
        return PointSearch(database_of, view, passport.nodes, self.collection, self._conditions)

    def _visible_nodes(self, arrays: GenerationArrays) -> NDArray[np.bool_] | None:
        """Return a mask of the nodes that row-level security shows to the caller, or None if it is not in force."""
        if self._seen is self._store:
            return None
        versions, seen = (one.generations.versions(self._record.id, self.number) for one in (self._store, self._seen))
        visible: NDArray[np.bool_] = np.isin(versions, seen)[arrays.fields["document"]]
        return visible

    def _contents(self) -> GenerationContents:
        """Read the generation's contents from the store. Raises StoreError if they differ from what was published."""
        versions = self._store.generations.versions(self._record.id, self.number)
        contents = read_contents(self._store, versions, self.passport.fingerprint, self.passport.duplicates)
        published = self._store.generations.get(self._record.id, self.number).collection_hash
        if collection_hash(self._store, contents, self.passport.hashing) != published:
            raise StoreError(
                f"Texts or vectors of '{self.collection}' in {self._store.database.name} have changed since they were"
                " published.",
                hint=RECOVER_HINT,
            )
        return contents

    def _open_keyword(self, tokeniser: KeywordTokeniser, size: int) -> tuple[KeywordIndex, tuple[str, ...]]:
        """Open the stored keyword index, or build one in memory if it is damaged or outdated."""
        if tokeniser.fingerprint != self._on_disk.tokeniser:
            return self._keyword_from_store(tokeniser), (
                f"The keyword index of '{self.collection}' was built by another tokeniser; it was rebuilt in memory."
                f" Run: elt-llm ingest -c {self.collection}",
            )
        try:
            self._check_files(BM25_FOLDER)
            return read_keyword_index(self.directory, tokeniser, size), ()
        except CorruptIndex as error:
            return self._keyword_from_store(tokeniser), (
                f"{error} It was rebuilt in memory. Run: elt-llm verify -c {self.collection}",
            )

    def _keyword_from_store(self, tokeniser: KeywordTokeniser) -> KeywordIndex:
        return build_keyword_index(node_stems(self._store, self._contents().nodes, tokeniser), tokeniser)

    def _open_vectors(
        self, arrays: GenerationArrays, indexes: VectorIndexPool | None, *, rebuilt: bool
    ) -> tuple[BasePydanticVectorStore, tuple[str, ...]]:
        """Return the vector store, and a note if exact search replaces a damaged index.

        A usearch graph refers to rows of `vectors.npy`, so it cannot be used with arrays `rebuilt` from the store.
        """
        exact = ExactVectorStore(arrays)
        on_disk = self._on_disk
        if on_disk.exact or on_disk.database or (rebuilt and on_disk.index == "usearch"):
            return exact, ()
        folder = self.directory / CHROMA_FOLDER
        try:
            if self._on_disk.index == "usearch":
                self._check_files(USEARCH_FOLDER)
                settings = ChromaSettings.model_validate(self.passport.chroma)
                return GraphVectorStore(self.directory, arrays, settings), ()
            # A damaged file can crash Chroma and this process, so the hashes of the files are checked first.
            self._check_files(CHROMA_FOLDER)
            if indexes and len(arrays.ids) < indexes.exact_below:
                return exact, ()  # checked although it is not used, so that damage is reported early
            if indexes:
                return PooledVectorStore(indexes, folder, exact, self.collection), ()
            from elt_llm_core.index.chroma import open_chroma

            self._chroma = open_chroma(folder, exact)
        except CorruptIndex as error:
            return exact, (exact_search_note(error, self.collection),)
        return self._chroma.store, ()
