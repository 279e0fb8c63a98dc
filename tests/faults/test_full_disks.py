"""An ingest on a full disk fails with the cause, keeps published data, and succeeds once there is space."""

from pathlib import Path

import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.store.store import open_store
from processes.killing import Scene, do, ingest_within, processes
from sampling import sampled
from stored.shelf import COLLECTION

pytestmark = pytest.mark.faults


def _published(data_dir: Path) -> tuple[str, tuple[str, ...]]:
    with open_store(data_dir) as store, open_generation(store, COLLECTION) as generation:
        record = store.collections.get(COLLECTION)
        assert len(generation.nodes(generation.ids)) == generation.size
        digest = store.generations.get(record.id, generation.number).collection_hash.hex()
        return digest, generation.notes


@pytest.mark.parametrize("kibibytes", sampled([20, 40, 80, 120, 160, 250, 500, 700], 4))
def test_an_ingest_on_a_full_disk_fails_with_a_clear_message_and_continues_when_there_is_space_again(
    scenes: tuple[Scene, Scene, Scene], tmp_path: Path, kibibytes: int
) -> None:
    scene = scenes[1]
    work = scene.set_up(tmp_path / "data")
    answers = processes().Queue()
    process = processes().Process(
        target=ingest_within, args=(str(work.data_dir), str(work.folder), kibibytes * 1024, answers)
    )
    process.start()
    kind, said, hint = answers.get(timeout=120)
    process.join()
    digest, notes = _published(work.data_dir)
    assert digest in scene.hashes
    assert notes == ()
    if kind != "ok":
        assert str(tmp_path) in said
        assert hint
        assert digest == scene.hashes[0]
    do(work)
    assert _published(work.data_dir)[0] == scene.hashes[1]
