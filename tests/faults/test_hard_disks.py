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

pytestmark = pytest.mark.faults

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


@pytest.mark.sampled(2)
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
