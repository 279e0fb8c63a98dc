"""Damage to any file of a data directory changes no answer without notice, and can be healed or recovered from.

By default, 6 changes of 1 to 64 bytes are tested with each vector index. The environment variable FLIPS changes
this number. Every third change is in the store, and the others are in each of the other files in turn.
"""

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from elt_llm_core.collection.lifecycle import collect_garbage, remove_leftovers
from elt_llm_core.collection.recovery import recover
from elt_llm_core.collection.verification import repair, verify_collection
from elt_llm_core.errors import EltError
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import GRAPH_FROM, EmbeddingSettings, LlmSettings, QuerySettings, Settings
from elt_llm_core.store.backups import backup_faults, rotate_backups
from elt_llm_core.store.database import STORE_NAME
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.store import open_store
from elt_llm_query.engine import open_engine
from stored.folders import generated_files, run_ingest, write_files
from stored.shelf import COLLECTION, store_faults, writing

pytestmark = pytest.mark.faults

SETTINGS = Settings(
    embedding=EmbeddingSettings(provider="fake"),
    llm=LlmSettings(provider="extractive"),
    query=QuerySettings(cache_size=0),
)
QUESTIONS = ("How long is the new reef off the harbour?", "anchor basin canal", "What about the keel and the lagoon?")
Answers = list[tuple[str, str, list[dict[str, object]]]]


@dataclass(frozen=True)
class UndamagedLibrary:
    """A data directory with two generations and a backup, the folder of its documents, its hash and its answers.

    A collection of at least `graph_from` chunks uses the vector index usearch, and a smaller one uses Chroma.
    """

    graph_from: int
    data_dir: Path
    documents: Path
    collection_hash: str
    answers: Answers


@pytest.fixture(scope="module", params=[2, GRAPH_FROM], ids=["usearch", "chroma"])
def library(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> UndamagedLibrary:
    place = tmp_path_factory.mktemp("library")
    documents, data_dir = write_files(place / "docs", generated_files(30)), place / "data"
    graph_from: int = request.param
    run_ingest(data_dir, documents, graph_from=graph_from)
    write_files(documents, {"new.md": "# Reef\n\nA new reef of forty metres lies off the harbour.\n"})
    report = run_ingest(data_dir, documents, graph_from=graph_from)
    with writing(data_dir) as store:
        rotate_backups(store.database, keep=1)
    answers, notes = ask(data_dir)
    assert notes == []
    assert "forty metres" in answers[0][0]
    return UndamagedLibrary(graph_from, data_dir, documents, report.collection_hash, answers)


def ask(data_dir: Path) -> tuple[Answers, list[str]]:
    """Return the answers to all questions with their citations, and the notes."""
    answers: Answers = []
    notes: list[str] = []
    with open_engine(SETTINGS, data_dir, [COLLECTION]) as engine:
        for question in QUESTIONS:
            result = engine.ask(question).model_dump(mode="json")
            cited = [{**citation, "extracted_at": ""} for citation in result["citations"]]
            answers.append((result["answer"], result["outcome"], cited))
            notes += result["notes"]
    return answers, notes


def flip_bytes(data_dir: Path, number: int) -> Path:
    """Change 1 to 64 adjacent bytes of one file, chosen by the number, and return the file."""
    others = [path for path in sorted(data_dir.rglob("*")) if path.is_file() and path.stat().st_size]
    others = [path for path in others if path.name != STORE_NAME]
    chance = random.Random(number)  # noqa: S311 - repeatable, not secret
    path = data_dir / STORE_NAME if number % 3 == 0 else others[(number - number // 3 - 1) % len(others)]
    content = bytearray(path.read_bytes())
    size = min(chance.choice([1, 2, 8, 64]), len(content))
    start = chance.randrange(len(content) - size + 1)
    for place in range(start, start + size):
        content[place] ^= chance.randrange(1, 256)
    path.write_bytes(content)
    return path


def hint_or_answers(data_dir: Path) -> tuple[str, Answers]:
    """Return the answers to the questions, or the hint of the error that refuses them."""
    try:
        return "", ask(data_dir)[0]
    except EltError as error:
        return error.hint, []


def check_answers(data_dir: Path, library: UndamagedLibrary) -> None:
    """Check that questions get the right answers, or one error that names the cure."""
    hint, answers = hint_or_answers(data_dir)
    assert "elt-llm " in hint or answers == library.answers


def heal(data_dir: Path) -> None:
    """Rebuild damaged generations, as `elt-llm verify` does, and delete damaged backups."""
    for fault in backup_faults(data_dir):
        Path(fault.partition(": ")[0]).unlink(missing_ok=True)
    with writing(data_dir) as store:
        remove_leftovers(store)
        repair(store, verify_collection(store, COLLECTION, deep=True).damage, SilentListener())
        collect_garbage(store, 2)


@pytest.mark.sampled(2)
def test_changed_bytes_in_any_file_never_change_an_answer_silently_and_can_be_repaired(
    library: UndamagedLibrary, tmp_path: Path, flip: int
) -> None:
    data_dir = tmp_path / "data"
    shutil.copytree(library.data_dir, data_dir)
    damaged = flip_bytes(data_dir, flip)
    check_answers(data_dir, library)
    with writer_lock(data_dir, "test"):
        recovered = recover(data_dir, SilentListener())
    assert recovered is None or damaged.name == STORE_NAME
    heal(data_dir)
    if recovered is None or not recovered.incomplete:  # else documents are lost until they are read again
        check_answers(data_dir, library)
    repeated = run_ingest(data_dir, library.documents, graph_from=library.graph_from)
    assert repeated.collection_hash == library.collection_hash
    assert ask(data_dir) == (library.answers, [])
    with open_store(data_dir) as store:
        assert store_faults(store) == []
        assert verify_collection(store, COLLECTION, deep=True).damage == ()
        assert store.database.rows("PRAGMA foreign_key_check") == []
        assert len(list(store.folder(COLLECTION).iterdir())) <= 2


def test_an_ingest_into_a_damaged_store_is_refused_with_the_command_that_recovers_it(
    library: UndamagedLibrary, tmp_path: Path
) -> None:
    data_dir = tmp_path / "data"
    shutil.copytree(library.data_dir, data_dir)
    content = bytearray((data_dir / STORE_NAME).read_bytes())
    place = content.find(b"forty metres")
    content[place : place + 5] = b"fifty"
    (data_dir / STORE_NAME).write_bytes(content)
    with pytest.raises(EltError, match="has changed since it was stored") as refused:
        run_ingest(data_dir, library.documents)
    assert "elt-llm recover" in refused.value.hint
