"""Searches with a damaged or missing index return the same chunks and a note, or fail with one error."""

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from elt_llm_core.collection.generation import Generation
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.errors import ModelError, RetrievalError
from elt_llm_core.index.vector_index import VectorIndexPool
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import QuerySettings, Settings
from elt_llm_core.store.store import open_store
from elt_llm_query.search import SearchResult
from numpy.typing import NDArray
from processes.command_line import CommandLine
from retrieval.searching import search_once
from stored.filtered_library import fill
from stored.folders import write_files
from stored.shelf import writing

pytestmark = pytest.mark.halved


QUESTION = "pike and perch"
FLIPS = 3  # places in each file


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    with writing(folder) as store:
        fill(store, FakeEmbedding())
    return folder


@pytest.fixture
def data_dir(published: Path, tmp_path: Path) -> Path:
    """A copy of a data directory that a test may damage."""
    shutil.copytree(published, tmp_path / "data")
    return tmp_path / "data"


@contextmanager
def opened(data_dir: Path, indexes: VectorIndexPool | None = None) -> Iterator[Generation]:
    with open_store(data_dir) as store, open_generation(store, "harbour", indexes=indexes) as generation:
        yield generation


def find(generation: Generation, embedding: FakeEmbedding | None = None, **query: object) -> SearchResult:
    settings = Settings(query=QuerySettings.model_validate({"cache_size": 0, **query}))
    return search_once(QUESTION, [generation], embedding or FakeEmbedding(), settings)


def shown(found: SearchResult) -> list[tuple[str, float]]:
    return [(chunk.node_id, round(chunk.score, 4)) for chunk in found.chunks]


def flip(path: Path, seed: int) -> None:
    """Invert every bit of one byte of a file."""
    place = random.Random(seed).randrange(path.stat().st_size)  # noqa: S311 - repeatable, not secret
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 0xFF]))


def test_a_changed_byte_in_any_vector_index_file_changes_no_ranking_and_a_note_reports_it(data_dir: Path) -> None:
    folder = data_dir / "collections" / "harbour" / "1" / "chroma"
    with opened(data_dir) as generation:
        whole = shown(find(generation))
    # Opening Chroma changes the bytes of its database, which therefore has its own test below.
    files = [path for path in sorted(folder.rglob("*.*")) if path.stat().st_size and path.name != "chroma.sqlite3"]
    assert len(files) > 3
    for path in files:
        before = path.read_bytes()
        for seed in range(FLIPS):
            flip(path, seed)
            with opened(data_dir) as generation:
                found = find(generation)
            assert shown(found) == whole
            assert any(path.name in note and "searched exactly" in note for note in found.notes)
            path.write_bytes(before)


def test_a_changed_byte_in_the_vector_index_database_never_changes_a_ranking_without_a_note(
    data_dir: Path,
) -> None:
    path = data_dir / "collections" / "harbour" / "1" / "chroma" / "chroma.sqlite3"
    with opened(data_dir) as generation:
        whole = shown(find(generation))
    before = path.read_bytes()
    for seed in range(10 * FLIPS):
        flip(path, seed)
        with opened(data_dir) as generation:
            found = find(generation)
        assert shown(found) == whole or any("harbour" in note for note in found.notes)
        path.write_bytes(before)


@pytest.mark.parametrize(
    "harm", [shutil.rmtree, lambda folder: (folder / "chroma.sqlite3").write_bytes(b"no database")]
)
def test_a_note_reports_an_index_that_is_damaged_before_its_first_search(
    data_dir: Path, harm: Callable[[Path], object]
) -> None:
    with opened(data_dir) as generation:
        whole = shown(find(generation))
    with VectorIndexPool(exact_below=0) as indexes, opened(data_dir, indexes) as generation:
        harm(generation.directory / "chroma")
        found = find(generation)
        assert shown(found) == whole
        assert any("searched exactly" in note and "elt-llm verify" in note for note in found.notes)


@pytest.mark.parametrize("part", ["bm25", "chroma"])
def test_a_missing_index_is_replaced_by_exact_search_with_a_note(data_dir: Path, part: str) -> None:
    with opened(data_dir) as generation:
        whole = shown(find(generation))
    shutil.rmtree(data_dir / "collections" / "harbour" / "1" / part)
    with opened(data_dir) as generation:
        found = find(generation)
    assert shown(found) == whole
    assert any("Run: elt-llm verify -c harbour" in note for note in found.notes)


class MuteEmbedding(FakeEmbedding):
    """An embedding model that fails on every question."""

    def embed_question(self, text: str) -> NDArray[np.float32]:
        raise ModelError(f"the model is silent about {text}", hint="Start it")


def test_a_question_without_embedding_model_is_searched_by_keywords_and_fails_without_a_keyword_index(
    data_dir: Path,
) -> None:
    with opened(data_dir) as generation:
        found = find(generation, MuteEmbedding(), strategy="hybrid")
        assert found.chunks
        assert any("is silent" in note for note in found.notes)
        with pytest.raises(RetrievalError, match="is silent") as refused:
            find(generation, MuteEmbedding(), strategy="dense")
    assert refused.value.hint == "Start it"


def test_the_command_answers_despite_a_damaged_vector_index_and_verify_repairs_the_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = CommandLine(tmp_path, capsys)
    documents = {f"note-{number}.md": f"# Note {number}\n\nMast {number} is tall.\n" for number in range(6)}
    run.done("ingest", write_files(tmp_path / "notes", documents), "-c", "ship")
    whole = run.done("ask", "How tall is mast 4?", "-c", "ship", "--json").json
    [vectors] = tmp_path.rglob("ship/1/chroma/*/data_level0.bin")
    flip(vectors, 4)
    damaged = run.done("ask", "How tall is mast 4?", "-c", "ship", "--json").json
    assert damaged["answer"] == whole["answer"]
    assert damaged["citations"] == whole["citations"]
    told = run("verify", "--check-only", "-c", "ship")
    assert told.code == 1
    assert "data_level0.bin" in told.out + told.err
    run.done("verify", "-c", "ship")
    healed = run.done("ask", "How tall is mast 4?", "-c", "ship", "--json").json
    assert (healed["answer"], healed["notes"]) == (whole["answer"], whole["notes"])
