"""After any sequence of changes to a collection, readers see exactly the documents that a simple model predicts.

By default, 6 sequences of 20 changes are tested. The environment variables LIVES and STEPS change these numbers.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.collection.forgetting import forget
from elt_llm_core.collection.lifecycle import open_generation, roll_back
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.errors import EltError, FingerprintMismatch, UsageError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.store.records import CollectionRecord
from elt_llm_core.store.store import open_store
from elt_llm_core.utilities import Failpoint
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from processes.failing import ingest_killed_at
from stored.folders import run_ingest, write_files
from stored.library_model import LibraryModel
from stored.shelf import COLLECTION, writing

pytestmark = pytest.mark.faults

NAMES = st.sampled_from(["a.md", "b.md", "harbour/c.md", "harbour/d.md", "e.txt"])
TEXTS = st.sampled_from(
    [
        f"# Note {word}\n\nThe {word} lies below.\n\n## More\n\nOf {word}.\n"
        for word in ["anchor", "basin", "canal", "ferry", "reef"]
    ]
)
STAGES = (
    Failpoint.DISCOVER,
    Failpoint.PARSE,
    Failpoint.CHUNK,
    Failpoint.WRITE,
    Failpoint.EMBED,
    Failpoint.INDEX,
    Failpoint.VERIFY,
    Failpoint.PUBLISH,
    Failpoint.COLLECT,
)
PLACES = st.sampled_from([f"{stage}-{side}" for stage in STAGES for side in ("before", "after")])


class LifeOfACollection(RuleBasedStateMachine):
    """Random changes to a folder and its collection, compared with a model of the expected content."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="life-"))
        self.data_dir, self.folder = self.place / "data", self.place / "docs"
        self.model = LibraryModel()
        self.version = "1"

    def teardown(self) -> None:
        """Check that a clean build of the same files gives the same collection."""
        if self.model.published is not None and not self.model.forgotten_paths and not self.model.rolled_back:
            self.ingest()
            fresh = (
                run_ingest(self.place / "fresh", self.folder, embedding=FakeEmbedding(version=self.version))
                if self.model.files
                else None
            )
            if fresh is not None:
                with open_store(self.data_dir) as store:
                    record = store.collections.get(COLLECTION)
                    [row] = [it for it in store.generations.of_collection(record.id) if it.number == record.published]
                assert row.collection_hash.hex() == fresh.collection_hash
        shutil.rmtree(self.place)

    @initialize(text=TEXTS)
    def first(self, text: str) -> None:
        """Write the first files, before any other change."""
        self.folder.mkdir()
        self.put("start.md", text)

    @rule(name=NAMES, text=TEXTS)
    def put(self, name: str, text: str) -> None:
        """Add or change a file."""
        write_files(self.folder, {name: text})
        self.model.files[name] = text

    @rule(name=NAMES, other=NAMES)
    def rename(self, name: str, other: str) -> None:
        """Rename a file. An existing file of the new name is replaced."""
        if name in self.model.files and name != other:
            (self.folder / other).parent.mkdir(exist_ok=True)
            (self.folder / name).replace(self.folder / other)
            self.model.files[other] = self.model.files.pop(name)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        """Delete a file."""
        if name in self.model.files:
            (self.folder / name).unlink()
            del self.model.files[name]

    @rule()
    def ingest(self) -> None:
        """Ingest the files twice, and check that the second ingest changes nothing."""
        self._settle(run_ingest(self.data_dir, self.folder, embedding=self._embedding(), **self._flags()).generation)
        again = run_ingest(self.data_dir, self.folder, embedding=self._embedding(), **self._flags())
        assert not again.published
        assert again.embedded == 0

    @rule(place=PLACES, count=st.integers(1, 3), deep=st.booleans())
    def killed(self, place: str, count: int, deep: bool) -> None:
        """Kill an ingest and perhaps the next one, and check that readers see the old or the new collection."""
        for _ in range(2 if deep else 1):
            ingest_killed_at(f"{place}:{count}", self.data_dir, self.folder, self._flags(), self.version)
            record = self._record()
            if record is not None and record.published not in (None, self.model.published):
                self._settle(record.published)

    @precondition(lambda self: self.model.seen)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        """Forget a document and every document with the same bytes."""
        path = data.draw(st.sampled_from(sorted(self.model.seen)))
        with writing(self.data_dir) as store:
            report = forget(store, COLLECTION, path, SilentListener())
        gone = self.model.forget(path)
        assert gone <= set(report.documents)
        left = {it: text for it, text in self.model.seen.items() if it not in gone}
        rolled_back = self.model.rolled_back
        assert report.generation is not None
        self.model.publish(report.generation, left, self.model.built_with)
        self.model.rolled_back = rolled_back

    @rule()
    def roll_back(self) -> None:
        """Roll back to the previous generation, if there is one."""
        with writing(self.data_dir) as store:
            try:
                _, number = roll_back(store, COLLECTION)
            except UsageError:
                assert self.model.published is None or store.collections.get(COLLECTION).previous is None
                return
            embedder = store.generations.get(store.collections.get(COLLECTION).id, number).passport
        self.model.rolled_back = self.model.rolled_back or number != self.model.published
        self.model.published = number
        self.model.built_with = next(v for v in "12" if FakeEmbedding(version=v).fingerprint.digest in embedder)

    @precondition(lambda self: self.model.published is not None)
    @rule()
    def another_model(self) -> None:
        """Switch to another embedding model, which is refused until the collection is rebuilt with this model."""
        other = "2" if self.model.built_with == "1" else "1"
        flags = {name: flag for name, flag in self._flags().items() if name != "rebuild"}
        with pytest.raises(FingerprintMismatch):
            run_ingest(self.data_dir, self.folder, embedding=FakeEmbedding(version=other), **flags)
        self.version = other

    @invariant()
    def readers_see_the_expected_collection(self) -> None:
        """Check the texts, the node ids in every index, and the spans of the chunks."""
        record = self._record()
        assert (record.published if record else None) == self.model.published
        if record is None or record.published is None:
            return
        with open_store(self.data_dir) as store:
            assert verify_collection(store, COLLECTION).damage == ()
            with open_generation(store, COLLECTION) as generation:
                assert generation.notes == () or generation.size < 2
                texts = {it.source: generation.document(it.document_id).text for it in generation.documents()}
                assert texts == self.model.seen
                nodes = generation.nodes(generation.ids)
                assert all(texts[node.source][node.start : node.end] == node.text for node in nodes)
                assert {texts[node.source] for node in nodes} == set(texts.values())

    def _embedding(self) -> FakeEmbedding:
        return FakeEmbedding(version=self.version)

    def _flags(self) -> dict[str, Any]:
        rebuild = bool(self.model.built_with) and self.version != self.model.built_with
        return {"allow_delete": True, "resume": not rebuild, "rebuild": rebuild}

    def _settle(self, number: int | None) -> None:
        """Update the expected content after an ingest, which may have published generation `number`."""
        if number is None:
            assert not self.model.wanted
        elif number != self.model.published or self.model.seen != self.model.wanted:
            assert number != self.model.published
            self.model.publish(number, self.model.wanted, self.version)

    def _record(self) -> CollectionRecord | None:
        if not (self.data_dir / "store.sqlite3").exists():
            return None
        try:
            with open_store(self.data_dir) as store:
                return store.collections.find(COLLECTION)
        except EltError:  # the ingest was killed while the store was created
            return None


LifeOfACollection.TestCase.settings = settings(
    max_examples=int(os.environ.get("LIVES", "3")),
    stateful_step_count=int(os.environ.get("STEPS", "20")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestLifeOfACollection = LifeOfACollection.TestCase
