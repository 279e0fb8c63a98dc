"""Killed before and after every stage there is: readers see the old or the new, and repeating it ends the same.

Each stage at its first time by default; DEPTH=3 for the first three times each is reached.
"""

import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from aftermath import check_what_is_left, finish
from elt_llm_core.collection import open_generation
from elt_llm_core.exporting import export_collection
from elt_llm_core.failpoints import Stage
from elt_llm_core.store.store import open_store
from elt_llm_core.verification import examine, store_damage
from failing import enriching_killed_at
from folders import write_files
from killing import Action, Scene, Work, do, killed_by_failpoint
from shelf import COLLECTION, writing

pytestmark = pytest.mark.faults

Scenes = tuple[Scene, Scene]
Side = Literal["before", "after"]
SIDES: tuple[Side, Side] = ("before", "after")
DEPTH = int(os.environ.get("DEPTH", "1"))
OLD_STORE = Path(__file__).parents[1] / "fixtures" / "store-schema-1.tar.xz"
DOCUMENT = "part-2/note-07.md"


def _ingest(scenes: Scenes, place: Path, failpoint: str) -> bool:
    """A first ingest, or a later one for the stages that only have something to do then."""
    scene = scenes[1] if failpoint.startswith(("collect", "verify", "publish")) else scenes[0]
    work = scene.set_up(place / "data")
    killed = killed_by_failpoint(Work("ingest", work.data_dir, work.folder, failpoint=failpoint))
    check_what_is_left(work, scene)
    finish(work, scene)
    return killed


def _care(action: Action) -> Callable[[Scenes, Path, str], bool]:
    def run(scenes: Scenes, place: Path, failpoint: str) -> bool:
        before = scenes[1].before
        assert before is not None
        for name in ("data", "reference"):
            shutil.copytree(before, place / name)
        do(Work(action, place / "reference", document=DOCUMENT))
        killed = killed_by_failpoint(Work(action, place / "data", document=DOCUMENT, failpoint=failpoint))
        assert _published(place / "data") in (_published(before), _published(place / "reference"))
        do(Work(action, place / "data", document=DOCUMENT))
        assert _published(place / "data") == _published(place / "reference")
        return killed

    return run


def _import(scenes: Scenes, place: Path, failpoint: str) -> bool:
    before = scenes[1].before
    assert before is not None
    with open_store(before) as store:
        export_collection(store, COLLECTION, place / "library.zip")
    killed = killed_by_failpoint(Work("import", place / "data", place / "library.zip", failpoint=failpoint))
    do(Work("import", place / "data", place / "library.zip"))
    assert _published(place / "data") == _published(before)
    return killed


def _export(scenes: Scenes, place: Path, failpoint: str) -> bool:
    before = scenes[1].before
    assert before is not None
    shutil.copytree(before, place / "data")
    killed = killed_by_failpoint(Work("export", place / "data", place / "library.zip", failpoint=failpoint))
    do(Work("export", place / "data", place / "library.zip"))
    do(Work("import", place / "other", place / "library.zip"))
    assert _published(place / "other") == _published(before)
    return killed


def _migrate(_scenes: Scenes, place: Path, failpoint: str) -> bool:
    with tarfile.open(OLD_STORE) as archive:
        archive.extractall(place, filter="data")
    killed = killed_by_failpoint(Work("create", place / "data", failpoint=failpoint))
    with writing(place / "data") as store:
        assert store_damage(store) == []
        for record in store.collections.all():
            assert examine(store, record.name, deep=True).damage == ()
    return killed


def _enrich(_scenes: Scenes, place: Path, failpoint: str) -> bool:
    docs = write_files(place / "docs", {"a.md": "# A\n\nA reef.\n", "b.md": "# B\n\nA ferry.\n"})
    killed = enriching_killed_at(failpoint, place / "data", docs)
    enriching_killed_at("", place / "data", docs)
    enriching_killed_at("", place / "reference", docs)
    assert _published(place / "data") == _published(place / "reference")
    return killed


MATRIX: dict[Stage, Callable[[Scenes, Path, str], bool]] = {
    **dict.fromkeys((Stage.DISCOVER, Stage.PARSE, Stage.CHUNK, Stage.WRITE, Stage.EMBED, Stage.INDEX), _ingest),
    **dict.fromkeys((Stage.VERIFY, Stage.PUBLISH, Stage.COLLECT), _ingest),
    Stage.FORGET: _care("forget"),
    Stage.PURGE: _care("purge"),
    Stage.IMPORT: _import,
    Stage.EXPORT: _export,
    Stage.BACKUP: _migrate,
    Stage.MIGRATE: _migrate,
    Stage.ENRICH: _enrich,
}
ONCE = {Stage.DISCOVER, Stage.INDEX, Stage.VERIFY, Stage.PUBLISH, Stage.COLLECT, Stage.BACKUP, Stage.MIGRATE}
TWICE = {Stage.EXPORT, Stage.ENRICH}
ROWS = [
    (stage, side, count)
    for stage in Stage
    for side in SIDES
    for count in range(1, 1 + min(DEPTH, 1 if stage in ONCE else 2 if stage in TWICE else 3))
]


def _published(data_dir: Path) -> str:
    """The hash of what readers see, every byte of it checked."""
    with open_store(data_dir) as store:
        assert store_damage(store) == []
        assert examine(store, COLLECTION, deep=True).damage == ()
        assert store.database.rows("PRAGMA foreign_key_check") == []
        with open_generation(store, COLLECTION) as generation:
            assert generation.notes == () or generation.size < 3
            assert len(generation.nodes(generation.ids)) == generation.size
            record = store.collections.get(COLLECTION)
            return store.generations.get(record.id, generation.number).collection_hash.hex()


def test_every_stage_has_its_row() -> None:
    assert set(MATRIX) == set(Stage)


@pytest.mark.parametrize(("stage", "side", "count"), ROWS, ids=str)
def test_a_kill_at_a_stage_loses_nothing(scenes: Scenes, tmp_path: Path, stage: Stage, side: Side, count: int) -> None:
    assert MATRIX[stage](scenes, tmp_path, f"{stage}-{side}:{count}:kill"), "the moment never came"
