"""A pinned generation stays on disk until its reader releases the pin or ends."""

import subprocess
import sys
from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path

import pytest
from elt_llm_core.errors import StoreError
from elt_llm_core.store.generations import PIN_NAME, discard_generation, pin_published

HOLD = """
import sys, time
from pathlib import Path
from elt_llm_core.store.generations import pin_published
pin = pin_published(Path(sys.argv[1]), lambda: 1)
print("pinned", flush=True)
time.sleep(60)
"""


@pytest.fixture
def make(tmp_path: Path) -> Callable[[int], Path]:
    def directory(number: int) -> Path:
        made = tmp_path / "library" / str(number)
        made.mkdir(parents=True)
        (made / PIN_NAME).touch()
        (made / "ids.npy").write_bytes(b"x")
        return made

    return directory


def test_no_generation_is_pinned_if_none_is_published(tmp_path: Path) -> None:
    assert pin_published(tmp_path, lambda: None) is None


def test_a_generation_that_a_reader_pins_is_deleted_only_after_the_reader_releases_it(
    make: Callable[[int], Path], tmp_path: Path
) -> None:
    directory = make(1)
    first = pin_published(tmp_path / "library", lambda: 1)
    second = pin_published(tmp_path / "library", lambda: 1)
    assert first is not None
    assert second is not None
    first.release()
    first.release()
    assert not discard_generation(directory, tmp_path / "trash")
    assert (directory / "ids.npy").exists()
    second.release()
    assert discard_generation(directory, tmp_path / "trash")
    assert not directory.exists()
    assert list((tmp_path / "trash").iterdir()) == []


def test_a_pin_on_a_generation_ends_with_the_process_that_reads_it(make: Callable[[int], Path], tmp_path: Path) -> None:
    directory = make(1)
    command = [sys.executable, "-c", HOLD, str(tmp_path / "library")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "pinned\n"
        assert not discard_generation(directory, tmp_path / "trash")
        process.kill()
    assert discard_generation(directory, tmp_path / "trash")


def test_a_generation_that_is_published_during_pinning_is_the_one_that_is_pinned(
    make: Callable[[int], Path], tmp_path: Path
) -> None:
    make(1)
    make(2)
    answers = chain([1], repeat(2))
    pin = pin_published(tmp_path / "library", lambda: next(answers))
    assert pin is not None
    assert pin.number == 2
    pin.release()
    assert discard_generation(tmp_path / "library" / "1", tmp_path / "trash")


def test_pinning_succeeds_while_an_older_generation_is_deleted(make: Callable[[int], Path], tmp_path: Path) -> None:
    make(2)
    answers = chain([1], repeat(2))
    pin = pin_published(tmp_path / "library", lambda: next(answers))
    assert pin is not None
    assert pin.number == 2
    pin.release()


def test_a_published_generation_whose_files_are_missing_is_reported(
    make: Callable[[int], Path], tmp_path: Path
) -> None:
    make(1)
    with pytest.raises(StoreError, match=r"generation 2 of 'library' is not in") as caught:
        pin_published(tmp_path / "library", lambda: 2)
    assert caught.value.hint == "Run: elt-llm verify -c library"


def test_deleting_a_missing_or_unpinned_generation_succeeds(make: Callable[[int], Path], tmp_path: Path) -> None:
    assert discard_generation(tmp_path / "library" / "9", tmp_path / "trash")
    (make(1) / PIN_NAME).unlink()
    assert discard_generation(tmp_path / "library" / "1", tmp_path / "trash")
