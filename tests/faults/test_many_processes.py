"""Many processes read a data directory correctly while one process writes to the directory."""

import subprocess
import sys
from pathlib import Path

import pytest
from elt_llm_core.collection.lifecycle import collect_garbage
from elt_llm_core.store.lock import writer_lock
from processes.killing import Scene, ask, processes, read_repeatedly
from stored.shelf import COLLECTION, put, some_documents, writing

pytestmark = pytest.mark.faults

QUESTIONS = ["anchor and basin", "a reef", "ferry harbour island", "nothing but tide", "note 12"]
SECOND = """
import sys
from pathlib import Path
from elt_llm_core.errors import EltError
from elt_llm_core.store.lock import writer_lock
try:
    with writer_lock(Path(sys.argv[1]), "elt-llm ingest"):
        pass
except EltError as error:
    print(error)
    sys.exit(error.exit_code)
"""


def test_eight_processes_that_read_one_generation_at_the_same_time_get_the_same_answers(
    scenes: tuple[Scene, Scene, Scene],
) -> None:
    data_dir = scenes[1].before
    start, answers = processes().Event(), processes().Queue()
    arguments = (str(data_dir), QUESTIONS, start, answers)
    readers = [processes().Process(target=ask, args=arguments) for _ in range(8)]
    for reader in readers:
        reader.start()
    start.set()
    given = [answers.get(timeout=120) for _ in readers]
    for reader in readers:
        reader.join()
        assert reader.exitcode == 0
    assert [notes for notes, _ in given] == [[]] * 8
    first = given[0][1]
    assert len(first) == len(QUESTIONS)
    assert all(len(ids) == len(texts) == 5 for ids, texts, _ in first)
    assert all(found == first for _, found in given)


def test_readers_see_only_complete_generations_while_others_are_published_and_deleted(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        put(store, some_documents(1))
        stop, answers = processes().Event(), processes().Queue()
        arguments = (str(tmp_path), stop, answers)
        readers = [processes().Process(target=read_repeatedly, args=arguments) for _ in range(2)]
        for reader in readers:
            reader.start()
        for _ in readers:
            assert answers.get(timeout=60) == "reading"
        for count in range(2, 9):
            put(store, some_documents(count))
            collect_garbage(store, keep=2)
        stop.set()
        for _ in readers:
            seen, faults = answers.get(timeout=60)
            assert faults == []
            assert len(seen) > 1
        for reader in readers:
            reader.join()
        collect_garbage(store, keep=2)
        assert sorted(path.name for path in store.folder(COLLECTION).iterdir()) == ["7", "8"]


def test_a_second_ingest_exits_with_75_and_names_the_running_process(
    scenes: tuple[Scene, Scene, Scene], tmp_path: Path
) -> None:
    work = scenes[0].set_up(tmp_path / "data")
    with writer_lock(work.data_dir, f"elt-llm ingest {work.folder} -c {COLLECTION}"):
        second = subprocess.run(
            [sys.executable, "-c", SECOND, str(work.data_dir)], capture_output=True, text=True, timeout=60, check=False
        )
    assert second.returncode == 75
    assert f"elt-llm ingest {work.folder} -c {COLLECTION}" in second.stdout
