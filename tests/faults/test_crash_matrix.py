"""A command killed before or after any stage leaves the old or the new state, and its repetition completes the work.

By default, the command is killed the first time it reaches a stage, before the stage or after it. DEPTH=3 tests the
first three times, and FULL=1 both sides of each stage.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from elt_llm_core.collection.exporting import export_collection
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.store.database import find_damage
from elt_llm_core.store.store import open_store
from elt_llm_core.utilities import Failpoint
from old_stores import unpack
from processes.aftermath import check_what_is_left, finish
from processes.failing import enriching_killed_at
from processes.killing import Action, Scene, Work, do, killed_by_failpoint
from sampling import FULL
from stored.folders import write_files
from stored.shelf import COLLECTION, writing

pytestmark = [pytest.mark.faults, pytest.mark.halved]

Scenes = tuple[Scene, Scene, Scene]
Side = Literal["before", "after"]
SIDES: tuple[Side, Side] = ("before", "after")
DEPTH = int(os.environ.get("DEPTH", "1"))
OLD_STORE = Path(__file__).parents[1] / "fixtures" / "store-schema-1.tar.xz"
DOCUMENT = "part-2/note-07.md"


def _ingest(scenes: Scenes, place: Path, failpoint: str) -> bool:
    """Run a first ingest, or a later ingest for the stages that only a later ingest reaches."""
    scene = scenes[1] if failpoint.startswith(("collect", "verify", "publish")) else scenes[0]
    work = scene.set_up(place / "data")
    killed = killed_by_failpoint(Work("ingest", work.data_dir, work.folder, failpoint=failpoint))
    check_what_is_left(work, scene)
    finish(work, scene)
    return killed


def _maintain(action: Action) -> Callable[[Scenes, Path, str], bool]:
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
    unpack(OLD_STORE, place)
    killed = killed_by_failpoint(Work("create", place / "data", failpoint=failpoint))
    with writing(place / "data") as store:
        assert find_damage(store.database) == []
        for record in store.collections.all():
            assert verify_collection(store, record.name, deep=True).damage == ()
    return killed


def _enrich(_scenes: Scenes, place: Path, failpoint: str) -> bool:
    docs = write_files(place / "docs", {"a.md": "# A\n\nA reef.\n", "b.md": "# B\n\nA ferry.\n"})
    killed = enriching_killed_at(failpoint, place / "data", docs)
    enriching_killed_at("", place / "data", docs)
    enriching_killed_at("", place / "reference", docs)
    assert _published(place / "data") == _published(place / "reference")
    return killed


MATRIX: dict[Failpoint, Callable[[Scenes, Path, str], bool]] = {
    **dict.fromkeys(
        (Failpoint.DISCOVER, Failpoint.PARSE, Failpoint.CHUNK, Failpoint.WRITE, Failpoint.EMBED, Failpoint.INDEX),
        _ingest,
    ),
    **dict.fromkeys((Failpoint.VERIFY, Failpoint.PUBLISH, Failpoint.COLLECT), _ingest),
    Failpoint.FORGET: _maintain("forget"),
    Failpoint.PURGE: _maintain("purge"),
    Failpoint.IMPORT: _import,
    Failpoint.EXPORT: _export,
    Failpoint.BACKUP: _migrate,
    Failpoint.MIGRATE: _migrate,
    Failpoint.ENRICH: _enrich,
}
ONCE = {
    Failpoint.DISCOVER,
    Failpoint.INDEX,
    Failpoint.VERIFY,
    Failpoint.PUBLISH,
    Failpoint.COLLECT,
    Failpoint.BACKUP,
    Failpoint.MIGRATE,
}
TWICE = {Failpoint.EXPORT, Failpoint.ENRICH}
ROWS = [
    (stage, side, count)
    for number, stage in enumerate(Failpoint)
    for side in (SIDES if FULL else SIDES[number % 2 :][:1])
    for count in range(1, 1 + min(DEPTH, 1 if stage in ONCE else 2 if stage in TWICE else 3))
]


def _published(data_dir: Path) -> str:
    """Verify every byte of the published collection and return the hash of the collection."""
    with open_store(data_dir) as store:
        assert find_damage(store.database) == []
        assert verify_collection(store, COLLECTION, deep=True).damage == ()
        assert store.database.rows("PRAGMA foreign_key_check") == []
        with open_generation(store, COLLECTION) as generation:
            assert generation.notes == () or generation.size < 3
            assert len(generation.nodes(generation.ids)) == generation.size
            record = store.collections.get(COLLECTION)
            return store.generations.get(record.id, generation.number).collection_hash.hex()


def test_the_crash_matrix_has_a_row_for_every_stage_at_which_a_command_can_be_killed() -> None:
    assert set(MATRIX) == set(Failpoint)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("stage", "side", "count"), ROWS, ids=str)
def test_a_command_killed_at_a_stage_loses_no_data(
    scenes: Scenes, tmp_path: Path, stage: Failpoint, side: Side, count: int
) -> None:
    assert MATRIX[stage](scenes, tmp_path, f"{stage}-{side}:{count}:kill"), (
        "the command ended before it reached the stage"
    )
