"""On a full or read-only disk, open processes keep answering, and new processes answer exactly or report the cause."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.store.store import open_store
from processes.killing import Scene
from stored.shelf import COLLECTION

pytestmark = [pytest.mark.faults, pytest.mark.halved]

_WRITE_AND_STOP = """
database = SqliteDatabase(path, for_writing=True)
database.execute("CREATE TABLE things (name TEXT)")
database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
database.execute("INSERT INTO things VALUES ('latest')")
os._exit(0)
"""
_READ = """
try:
    print(SqliteDatabase(path, for_writing=False).rows("SELECT name FROM things"))
    SqliteDatabase(path, for_writing=True)
except StoreError as error:
    print(error, error.hint)
"""

PROGRAM = Path(__file__).parents[1] / "support" / "hard_disks.py"
SUPPORT = str(PROGRAM.parent)


def _may_mount(place: Path) -> bool:
    mount = f"mount -t tmpfs none {shlex.quote(str(place))}"
    return subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True, check=False).returncode == 0


def _run(kind: str, data_dir: Path, place: Path) -> dict[str, Any]:
    """Run the program on a separate small disk, or with a limit on file sizes if mounting is not allowed."""
    place.mkdir()
    command = [sys.executable, str(PROGRAM), kind, str(data_dir), str(place)]
    if kind != "limit" and _may_mount(place):
        script = f"mount -t tmpfs -o size=24m none {shlex.quote(str(place))} && exec {shlex.join(command)}"
        command = ["unshare", "-rm", "sh", "-c", script]
    else:
        command[2] = "limit"
    path = os.pathsep.join(filter(None, [SUPPORT, os.environ.get("PYTHONPATH")]))
    ended = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return dict(json.loads(ended.stdout))


def _documents(data_dir: Path) -> int:
    with open_store(data_dir) as store, open_generation(store, COLLECTION) as generation:
        return len(generation.documents())


def _answers_exactly_or_refuses(told: dict[str, Any], before: Any) -> None:
    if "error" in told:
        assert told["error"] in {"StoreError", "CorruptIndex"}
        assert "store.sqlite3" in told["said"]
        assert told["hint"]
    else:
        assert told["answers"] == before
        assert "searched exactly" in " ".join(told["notes"])
        assert told["damage"] == []
        assert "cannot be checked" in " ".join(told["unchecked"])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["full", "readonly", "limit"])
def test_on_a_full_or_read_only_disk_a_published_collection_can_be_searched_and_is_undamaged(
    scenes: tuple[Scene, Scene, Scene], tmp_path: Path, kind: str
) -> None:
    before = scenes[1].before
    assert before is not None
    told = _run(kind, before, tmp_path / "disk")
    if "still" in told:
        assert told["still"] == told["before"]
    for moment in ("anew", "anew_after", *(["anew_beside"] if "anew_beside" in told else [])):
        _answers_exactly_or_refuses(told[moment], told["before"])
    assert "error" in told["ingest"]
    if kind == "full" and told["ingest"]["error"] == "StoreError":
        assert str(tmp_path / "disk") in told["ingest"]["said"]
        assert "bytes or more are needed" in told["ingest"]["said"]
    assert told["ingest_after"] == {"documents": _documents(before) + 1}
    assert (told["after"]["notes"], told["after"]["damage"], told["after"]["unchecked"]) == ([], [], [])


@pytest.mark.parametrize(("removed", "expected"), [("other", "[('latest',)]"), ("store.sqlite3-shm", "cannot be read")])
def test_on_a_read_only_disk_the_latest_changes_of_a_killed_writer_are_read_or_their_loss_is_an_error(
    tmp_path: Path, removed: str, expected: str
) -> None:
    if not _may_mount(tmp_path):
        pytest.skip("mounting a disk is not allowed here")
    path = tmp_path / "store.sqlite3"
    imports = "from elt_llm_core.errors import StoreError\nfrom elt_llm_core.store.database import SqliteDatabase"
    start = f"import os\nfrom pathlib import Path\n{imports}\npath = Path({str(path)!r})\n"
    write, read = (shlex.join([sys.executable, "-c", start + program]) for program in (_WRITE_AND_STOP, _READ))
    script = f"""cd {shlex.quote(str(tmp_path))} && mount -t tmpfs -o size=24m none . && cd "$PWD" && {write}
        rm -f {removed} && mount -o remount,ro "$PWD" && {read}"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = ["unshare", "-rm", "sh", "-c", script]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert expected in ended.stdout
    assert "read-only" in ended.stdout or "is readable only if the folder is writable" in ended.stdout
