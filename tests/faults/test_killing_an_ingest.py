"""An ingest killed at any moment keeps the published data, and the next ingest completes with the same result.

By default, a few random moments and a sample of the steps are tested. The environment variable KILLS changes the
number of moments, BUILD_KILLS the number of those from the first byte of a generation to the end of publishing, and
FULL=1 tests all steps.
"""

import random
from pathlib import Path

import pytest
from processes.aftermath import check_what_is_left, finish
from processes.killing import Moment, Scene, Work, do, killed_after, killed_at, killed_while_building, seconds_to_build
from sampling import sampled

pytestmark = [pytest.mark.faults, pytest.mark.halved]

Scenes = tuple[Scene, Scene, Scene]


def test_an_ingest_killed_at_a_random_moment_loses_no_data(scenes: Scenes, tmp_path: Path, kill: int) -> None:
    scene = scenes[kill % 3]
    moment = random.Random(kill).uniform(0, scene.seconds)  # noqa: S311
    work = scene.set_up(tmp_path / "data")
    killed_after(work, moment)
    check_what_is_left(work, scene)
    finish(work, scene)


@pytest.fixture(scope="session")
def building_seconds(scenes: Scenes, tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    """Return the time that each ingest needs from the first byte of its generation to the end of publishing."""
    return [seconds_to_build(scene.set_up(tmp_path_factory.mktemp("building") / "data")) for scene in scenes]


def test_an_ingest_killed_while_it_builds_or_publishes_loses_no_data(
    scenes: Scenes, building_seconds: list[float], tmp_path: Path, build_kill: int
) -> None:
    scene, seconds = scenes[build_kill % 3], building_seconds[build_kill % 3]
    share = random.Random(build_kill).random()  # noqa: S311
    for attempt in range(6):
        work = scene.set_up(tmp_path / f"data-{attempt}")
        if killed_while_building(work, share, seconds):
            break
        share /= 2
    else:
        pytest.fail("the ingest was never killed before it had published")
    check_what_is_left(work, scene)
    finish(work, scene)


STEPS = {
    "before the documents are stored": Moment("statement", "INSERT INTO document_versions", 20),
    "within a document": Moment("statement", "INSERT INTO nodes", 50),
    "between batches of vectors": Moment("statement", "INSERT INTO vectors", 2),
    "before the generation has its number": Moment("statement", "UPDATE collections SET last_number"),
    "before the directory is renamed": Moment("event", "os.rename"),
    "between renaming and publishing": Moment("statement", "INSERT INTO generations"),
    "within publishing": Moment("statement", "UPDATE collections SET previous"),
    "between publishing and remembering the files": Moment("statement", "INSERT INTO files"),
    "before the run is finished": Moment("statement", "UPDATE runs"),
}
SECOND_TIME_ONLY = {
    "before old rows are swept": Moment("statement", "DELETE FROM document_versions"),
    "before the old generation goes to the trash": Moment("event", "os.rename", 2),
    "before the trash is emptied": Moment("event", "os.remove", 1),
    "while the trash is emptied": Moment("event", "os.remove", 6),
    "between emptying the trash and forgetting the old generation": Moment("statement", "DELETE FROM generations"),
    "while old rows are swept": Moment("statement", "DELETE FROM vectors", 1),
}


@pytest.mark.parametrize("step", sampled(STEPS, 3))
def test_a_first_ingest_killed_at_any_step_loses_no_data(scenes: Scenes, tmp_path: Path, step: str) -> None:
    _kill_at(scenes[0], STEPS[step], tmp_path / "data")


@pytest.mark.parametrize(
    "step", ["between renaming and publishing", *sampled(["before the directory is renamed", *SECOND_TIME_ONLY], 2)]
)
def test_a_later_ingest_killed_at_any_step_loses_no_data(scenes: Scenes, tmp_path: Path, step: str) -> None:
    _kill_at(scenes[1], {**STEPS, **SECOND_TIME_ONLY}[step], tmp_path / "data")


def _kill_at(scene: Scene, moment: Moment, place: Path) -> None:
    work = scene.set_up(place)
    assert killed_at(work, moment), "the ingest ended before it reached the moment"
    check_what_is_left(work, scene)
    finish(work, scene)


def test_a_repeatedly_killed_ingest_still_completes(scenes: Scenes, tmp_path: Path) -> None:
    scene = scenes[1]
    work = scene.set_up(tmp_path / "data")
    for moment in (
        Moment("statement", "INSERT INTO nodes", 1),
        Moment("event", "os.rename", 1),
        Moment("statement", "INSERT INTO generations"),
        Moment("event", "shutil.rmtree", 1),
        Moment("statement", "UPDATE collections SET previous"),
    ):
        assert killed_at(work, moment), moment
        assert check_what_is_left(work, scene) == scene.hashes[0]
    finish(work, scene)


@pytest.mark.parametrize("statement", [12, *sampled([1, 2, 5, 16, 17], 2)])
def test_an_ingest_killed_while_the_store_is_created_leaves_no_store_or_a_complete_store(
    scenes: Scenes, tmp_path: Path, statement: int
) -> None:
    scene = scenes[0]
    assert killed_at(Work("create", tmp_path / "data"), Moment("statement", "", statement))
    work = scene.set_up(tmp_path / "data")
    check_what_is_left(work, scene)
    if statement == 12:
        finish(work, scene)
    else:
        do(Work("create", work.data_dir))
        assert check_what_is_left(work, scene) is None
