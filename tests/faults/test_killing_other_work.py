"""A killed repair, rollback or drop leaves the old or the new state, and the next run completes the work.

A sample of the moments is tested. FULL=1 tests all of them. The environment variable CARE_KILLS sets the number of
kills of each command at random moments.
"""

import shutil
from pathlib import Path

import pytest
from elt_llm_core.collection.lifecycle import has_leftovers, open_generation
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.errors import UnknownCollection
from elt_llm_core.store.store import open_store
from processes.killing import Action, Moment, Scene, Work, do, killed_at, killed_within, seconds_of
from sampling import sampled
from stored.shelf import COLLECTION

pytestmark = pytest.mark.faults


@pytest.fixture
def data_dir(scenes: tuple[Scene, Scene, Scene], tmp_path: Path) -> Path:
    """Return a data directory with a collection of two generations."""
    before = scenes[1].before
    assert before is not None
    shutil.copytree(before, tmp_path / "data")
    return tmp_path / "data"


def _published(data_dir: Path) -> tuple[int, str]:
    with open_store(data_dir) as store, open_generation(store, COLLECTION) as generation:
        assert len(generation.nodes(generation.ids)) == generation.size
        record = store.collections.get(COLLECTION)
        return generation.number, store.generations.get(record.id, generation.number).collection_hash.hex()


REPAIR_MOMENTS = [
    Moment("event", "os.rename"),
    Moment("statement", "INSERT INTO generations"),
    Moment("statement", "UPDATE collections SET published"),
    Moment("event", "os.rename", 2),
    Moment("event", "os.remove", 4),
    Moment("statement", "DELETE FROM generations"),
]


@pytest.mark.parametrize("moment", sampled(REPAIR_MOMENTS, 2), ids=str)
def test_a_repair_that_was_killed_can_be_repeated(data_dir: Path, moment: Moment) -> None:
    number, digest = _published(data_dir)
    [torn] = (data_dir / "collections" / COLLECTION / str(number)).rglob("header.bin")
    torn.write_bytes(torn.read_bytes()[:50])
    assert killed_at(Work("heal", data_dir), moment)
    _finish_repairing(data_dir, digest)


def _finish_repairing(data_dir: Path, digest: str) -> None:
    assert _published(data_dir)[1] == digest
    do(Work("heal", data_dir))
    with open_store(data_dir) as store:
        assert verify_collection(store, COLLECTION).damage == ()
        assert not has_leftovers(store)
        assert len(store.generations.of_collection(store.collections.get(COLLECTION).id)) == 2
        assert len(list(store.folder(COLLECTION).iterdir())) == 2
    assert _published(data_dir)[1] == digest


@pytest.fixture(scope="session")
def durations(scenes: tuple[Scene, Scene, Scene], tmp_path_factory: pytest.TempPathFactory) -> dict[Action, float]:
    """Return the duration of a repair and of a rollback in seconds."""
    place = tmp_path_factory.mktemp("durations")
    actions: tuple[Action, ...] = ("heal", "roll_back")
    return {action: seconds_of(_prepared(scenes, action, place / action)) for action in actions}


def _prepared(scenes: tuple[Scene, Scene, Scene], action: Action, place: Path) -> Work:
    """Prepare a command in a copy of the data directory; for a repair, damage its published generation."""
    before = scenes[1].before
    assert before is not None
    shutil.copytree(before, place / "data")
    if action == "heal":
        [torn] = (place / "data" / "collections" / COLLECTION / str(_published(before)[0])).rglob("header.bin")
        torn.write_bytes(torn.read_bytes()[:50])
    return Work(action, place / "data")


def test_a_repair_that_was_killed_at_a_random_moment_can_be_repeated(
    scenes: tuple[Scene, Scene, Scene], durations: dict[Action, float], tmp_path: Path, care_kill: int
) -> None:
    work = killed_within(lambda place: _prepared(scenes, "heal", place), tmp_path, durations["heal"], care_kill)
    _finish_repairing(work.data_dir, scenes[1].hashes[0] or "")


def test_a_rollback_that_was_killed_at_a_random_moment_can_be_repeated(
    scenes: tuple[Scene, Scene, Scene], durations: dict[Action, float], tmp_path: Path, care_kill: int
) -> None:
    before = scenes[1].before
    assert before is not None
    newest, _ = _published(before)
    work = killed_within(
        lambda place: _prepared(scenes, "roll_back", place), tmp_path, durations["roll_back"], care_kill
    )
    assert _published(work.data_dir)[0] in (newest, newest - 1)
    do(Work("roll_back", work.data_dir))
    assert _published(work.data_dir)[0] == newest - 1


@pytest.mark.parametrize("moment", [Moment("statement", "UPDATE collections"), Moment("statement", "COMMIT")], ids=str)
def test_a_rollback_command_that_was_killed_changes_nothing(data_dir: Path, moment: Moment) -> None:
    before = _published(data_dir)
    assert killed_at(Work("roll_back", data_dir), moment)
    assert _published(data_dir) == before
    do(Work("roll_back", data_dir))
    assert _published(data_dir)[0] == before[0] - 1


DROP_MOMENTS = [
    (Moment("statement", "DELETE FROM collections"), False),
    (Moment("statement", "COMMIT"), False),
    (Moment("event", "os.rename", 1), True),
    (Moment("event", "os.remove", 3), True),
    (Moment("event", "os.rename", 2), True),
    (Moment("statement", "DELETE FROM vectors"), True),
]


@pytest.mark.parametrize(("moment", "gone"), [DROP_MOMENTS[0], *sampled(DROP_MOMENTS[1:], 1)], ids=str)
def test_a_drop_command_that_was_killed_leaves_either_the_whole_collection_or_none_of_it(
    scenes: tuple[Scene, Scene, Scene], data_dir: Path, moment: Moment, gone: bool
) -> None:
    assert killed_at(Work("drop", data_dir), moment)
    if gone:
        with open_store(data_dir) as store, pytest.raises(UnknownCollection):
            open_generation(store, COLLECTION)
    else:
        _published(data_dir)
        do(Work("drop", data_dir))
    do(Work("ingest", data_dir, scenes[1].folder))
    assert _published(data_dir)[1] == scenes[1].hashes[1]
    with open_store(data_dir) as store:
        assert len(list(store.folder(COLLECTION).iterdir())) == 1
        assert not store.trash.exists() or list(store.trash.iterdir()) == []
