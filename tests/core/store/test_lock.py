"""A data directory has one writer at a time across processes, even when processes die."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from elt_llm_core.errors import LockHeld
from elt_llm_core.store.lock import LOCK_NAME, lock_holder, writer_lock

HOLD = """
import sys, time
from pathlib import Path
from elt_llm_core.store.lock import writer_lock
with writer_lock(Path(sys.argv[1]), "elt-llm ingest /books -c library"):
    print("held", flush=True)
    time.sleep(60)
"""
TRY = """
import sys
from pathlib import Path
from elt_llm_core.errors import LockHeld
from elt_llm_core.store.lock import writer_lock
try:
    with writer_lock(Path(sys.argv[1]), "second"):
        pass
except LockHeld as error:
    print(error, error.hint)
    heavy = [name for name in ("llama_index", "chromadb", "numpy", "pydantic") if name in sys.modules]
    sys.exit(99 if heavy else error.exit_code)
"""


@pytest.fixture
def other_process(tmp_path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def _kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_second_lock_in_the_same_process_is_refused(tmp_path: Path) -> None:
    with (
        writer_lock(tmp_path, "first"),
        pytest.raises(LockHeld, match=rf"process {os.getpid()} \(first"),
        writer_lock(tmp_path, "second"),
    ):
        pass


def test_a_command_ends_with_exit_code_75_before_heavy_imports_if_another_process_holds_the_lock(
    tmp_path: Path,
) -> None:
    with writer_lock(tmp_path, "elt-llm ingest /books"):
        other = subprocess.run(
            [sys.executable, "-c", TRY, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
        )
    assert other.returncode == 75, other.stderr
    assert f"process {os.getpid()} (elt-llm ingest /books" in other.stdout
    assert "Questions are still answered" in other.stdout


def test_the_process_that_holds_the_lock_is_named_and_its_death_releases_the_lock(
    tmp_path: Path, other_process: subprocess.Popen[str]
) -> None:
    seen = lock_holder(tmp_path)
    assert seen is not None
    assert (seen.pid, seen.command) == (other_process.pid, "elt-llm ingest /books -c library")
    with pytest.raises(LockHeld, match=str(other_process.pid)), writer_lock(tmp_path, "mine"):
        pass
    _kill(other_process)
    assert lock_holder(tmp_path) is None
    with writer_lock(tmp_path, "mine"):
        mine = lock_holder(tmp_path)
        assert mine is not None
        assert mine.pid == os.getpid()


def test_a_lock_is_released_after_use_and_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), writer_lock(tmp_path, "failing"):
        raise RuntimeError("work failed")
    with writer_lock(tmp_path, "next"):
        pass
    assert lock_holder(tmp_path) is None


def test_no_process_holds_the_lock_of_a_missing_data_directory(tmp_path: Path) -> None:
    assert lock_holder(tmp_path / "nowhere") is None


def test_a_second_writer_is_refused_if_the_lock_file_is_incomplete(tmp_path: Path) -> None:
    with writer_lock(tmp_path, "first"):
        (tmp_path / LOCK_NAME).write_text('{"pid": 1, "sta')
        seen = lock_holder(tmp_path)
        assert seen is not None
        assert seen.command == "unknown command"
        with pytest.raises(LockHeld, match="another process"), writer_lock(tmp_path, "second"):
            pass


def test_the_data_directory_is_accessible_only_to_its_owner(tmp_path: Path) -> None:
    with writer_lock(tmp_path / "data", "first"):
        assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "data" / LOCK_NAME).stat().st_mode & 0o777 == 0o600
