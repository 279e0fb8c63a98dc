"""A publication writes to the disk in an order of system calls that is safe against power loss."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from stored.folders import generated_files, run_ingest, write_files

pytestmark = [pytest.mark.faults, pytest.mark.halved]

SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from stored.folders import run_ingest
if __name__ == "__main__":
    run_ingest(Path(sys.argv[1]), Path(sys.argv[2]))
"""
SYNC = re.compile(r"(?:fsync|fdatasync)\(\d+<([^>]{1,500})>")
RENAME = re.compile(r'rename(?:at2?)?\(.{0,200}"([^"]{1,500})".{0,200}"([^"]{1,500})"')
UNFINISHED = " <unfinished ...>"
RESUMED = re.compile(r"<\.\.\. \w{1,20} resumed>")


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return the data directory of a second ingest and its system calls as `sync PATH` and `rename FROM TO`."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("needs strace")
    place = tmp_path_factory.mktemp("syncs")
    data_dir, log = place / "data", place / "log"
    command = [sys.executable, "-c", SCRIPT, str(data_dir)]
    support = str(Path(__file__).parents[1] / "support")
    docs = write_files(place / "docs", generated_files(3))
    run_ingest(data_dir, docs)
    write_files(docs, generated_files(4))
    # With --seccomp-bpf, only the traced calls stop the program.
    trace = [
        strace,
        "-f",
        "--seccomp-bpf",
        "-y",
        "-e",
        "trace=fsync,fdatasync,rename,renameat,renameat2",
        "-o",
        str(log),
    ]
    subprocess.run([*trace, *command, str(docs), support], check=True)
    return data_dir, list(_successful_calls(log.read_text().splitlines()))


def _successful_calls(lines: list[str]) -> Iterator[str]:
    """Yield each call when it has ended: strace splits its line if another thread makes a call in the meantime."""
    unfinished: dict[str, str] = {}
    for line in lines:
        process, _, call = line.partition(" ")
        call = call.lstrip()
        if call.endswith(UNFINISHED):
            unfinished[process] = call.removesuffix(UNFINISHED)
            continue
        if resumed := RESUMED.match(call):
            call = unfinished.pop(process) + call[resumed.end() :]
        if not call.endswith("= 0"):
            continue
        if synced := SYNC.match(call):
            yield f"sync {synced.group(1)}"
        elif renamed := RENAME.match(call):
            yield f"rename {renamed.group(1)} {renamed.group(2)}"


def test_calls_whose_lines_are_split_are_read_as_calls() -> None:
    lines = [
        "7  fsync(5</data/a> <unfinished ...>",
        "8  fdatasync(6</data/b>) = 0",
        '9  rename("/data/c", "/data/d" <unfinished ...>',
        "7  <... fsync resumed>) = 0",
        "8  fsync(6</data/e>) = -1 EIO (Input/output error)",
        "9  <... rename resumed>) = 0",
        "8  +++ exited with 0 +++",
    ]
    assert list(_successful_calls(lines)) == ["sync /data/b", "sync /data/a", "rename /data/c /data/d"]


def test_every_file_of_a_generation_is_on_disk_before_the_generation_is_published(
    calls: tuple[Path, list[str]],
) -> None:
    data_dir, made = calls
    folder = data_dir / "collections" / "library"
    renamed = made.index(f"rename {folder}/building-2 {folder}/2")
    before, after = made[:renamed], made[renamed + 1 :]
    published = folder / "2"
    inside = [published, *(path for path in published.rglob("*") if not path.name.startswith("chroma.sqlite3-"))]
    assert len(inside) > 15
    for path in inside:
        building = str(path).replace(str(published), f"{folder}/building-2")
        assert f"sync {building}" in before, building
    pointer = after.index(f"sync {data_dir}/store.sqlite3-wal")
    assert {f"sync {folder}", f"sync {folder.parent}", f"sync {data_dir}"} <= set(after[:pointer])


def test_the_files_of_a_generation_are_synced_to_disk_before_their_folders(calls: tuple[Path, list[str]]) -> None:
    data_dir, made = calls
    building = f"{data_dir}/collections/library/building-2"
    last = {call.removeprefix("sync "): place for place, call in enumerate(made) if call.startswith("sync ")}
    for path, place in last.items():
        parent = str(Path(path).parent)
        if path.startswith(f"{building}/") and "journal" not in path:
            assert place < last[parent], path
