"""Tests of the engine: its answers, its open resources, and the questions that it refuses."""

import gc
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from elt_llm_core.collection.lifecycle import drop
from elt_llm_core.errors import FingerprintMismatch, ModelUnavailable, UnknownCollection, UnusableReply, UsageError
from elt_llm_core.models.factory import create_embedding
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.results import QueryResult
from elt_llm_core.settings.tree import (
    AnswerSettings,
    EmbeddingSettings,
    LlmSettings,
    OllamaSettings,
    QuerySettings,
    Settings,
)
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.store import open_store
from elt_llm_ingest.pipeline import TextDocument, ingest_texts
from elt_llm_query.engine import Engine, open_engine
from numpy.typing import NDArray
from stored.folders import run_ingest, write_files

pytestmark = pytest.mark.halved


# Without a cache a repeated question is searched again, so that the tests do not merely test the cache.
FAKE = Settings(embedding=EmbeddingSettings(provider="fake"), query=QuerySettings(cache_size=0))
SHIP = {"mast.md": "# Mast\n\nThe mast is twelve metres tall.\n", "keel.md": "# Keel\n\nThe keel is made of oak.\n"}
PORT = {"quay.md": "# Quay\n\nThe quay is ninety metres long.\n", "ferry.md": "# Ferry\n\nThe ferry leaves at noon.\n"}
TALL = "How tall is the mast?"


class CountedEmbedding(FakeEmbedding):
    """A fake embedding model whose class records every instance."""

    made: ClassVar[list[int]] = []

    def __init__(self) -> None:
        super().__init__()
        self.made.append(1)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two collections of two documents: `ship` and `port-north`."""
    folder = tmp_path_factory.mktemp("filled")
    fill(folder / "data", "ship", SHIP, folder / "ship")
    fill(folder / "data", "port-north", PORT, folder / "port")
    return folder / "data"


@pytest.fixture
def data_dir(filled: Path, tmp_path: Path) -> Path:
    """A copy of the two collections."""
    return shutil.copytree(filled, tmp_path / "data")


def fill(data_dir: Path, name: str, files: Mapping[str, str], folder: Path) -> None:
    run_ingest(data_dir, write_files(folder, files), collection=name)


def opened(data_dir: Path, *names: str, prefixes: Sequence[str] = ()) -> Engine:
    return open_engine(FAKE, data_dir, names, prefixes=prefixes)


def comparable_answer(result: QueryResult) -> str:
    """Return a result without times, as JSON."""
    return json.dumps(result.model_dump(mode="json", exclude={"latency_ms": True, "trace": True}))


def test_the_answer_cites_the_document(data_dir: Path) -> None:
    with opened(data_dir, "ship") as engine:
        result = engine.ask(TALL)
    assert result.answered
    assert "twelve metres" in result.answer
    assert result.citations[0].source == "mast.md"
    assert SHIP["mast.md"][slice(*result.citations[0].span)] == result.citations[0].excerpt
    assert result.metadata["generations"] == {"ship": 1}
    assert 0 < result.confidence <= 1


def test_a_repeated_question_gets_the_same_answer(data_dir: Path) -> None:
    with opened(data_dir, "ship") as engine:
        first, second = engine.ask(TALL), engine.ask(TALL)
    with opened(data_dir, "ship") as another:
        third = another.ask(TALL)
    assert comparable_answer(first) == comparable_answer(second) == comparable_answer(third)


def test_further_questions_to_an_engine_build_no_model_and_read_no_index_file(data_dir: Path) -> None:
    indexes, files = str(data_dir / "collections"), list[str]()
    sys.addaudithook(lambda event, given: files.append(str(given[0])) if event == "open" else None)
    with open_engine(FAKE, data_dir, ["ship", "port-north"], embedding=CountedEmbedding()) as engine:
        assert any(file.startswith(indexes) for file in files)
        first, made = engine.ask(TALL), len(CountedEmbedding.made)
        files.clear()
        for _ in range(5):
            assert comparable_answer(engine.ask(TALL)) == comparable_answer(first)
        assert not any(file.startswith(indexes) for file in files)
    assert len(CountedEmbedding.made) == made


def test_closing_an_engine_releases_files_and_pins(data_dir: Path) -> None:
    def ask_and_count() -> int:
        with opened(data_dir, "ship") as engine:
            engine.ask(TALL)
        del engine
        gc.collect()  # memory-mapped arrays are released with their last reference
        return len(os.listdir("/dev/fd"))

    assert len({ask_and_count() for _ in range(4)}) == 1
    with writer_lock(data_dir, "test"), open_store(data_dir, for_writing=True) as store:
        drop(store, "ship")
    assert not (data_dir / "collections" / "ship" / "1").exists()


def test_an_open_engine_answers_from_the_generation_it_opened(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    fill(data_dir, "ship", SHIP, tmp_path / "ship")
    changed = write_files(tmp_path / "ship", {"mast.md": "# Mast\n\nThe mast is fifteen metres tall.\n"})
    with opened(data_dir, "ship") as engine:
        for _ in range(3):
            run_ingest(data_dir, changed, collection="ship", rebuild=True)
        assert "twelve" in engine.ask(TALL).answer
    with opened(data_dir, "ship") as engine:
        assert "fifteen" in engine.ask(TALL).answer


def test_many_threads_that_share_an_engine_get_the_same_answers(data_dir: Path) -> None:
    questions = [TALL, "What is the keel made of?", "How long is the quay?", "When does the ferry leave?"] * 4
    with opened(data_dir, "ship", "port-north") as engine:
        alone = [comparable_answer(engine.ask(question)) for question in questions]
        with ThreadPoolExecutor(8) as threads:
            assert [comparable_answer(result) for result in threads.map(engine.ask, questions)] == alone


def test_a_note_reports_that_an_older_version_is_quoted_because_the_changed_file_cannot_be_read(
    tmp_path: Path,
) -> None:
    data_dir = tmp_path / "data"
    fill(data_dir, "ship", SHIP, tmp_path / "ship")
    (tmp_path / "ship" / "mast.md").write_bytes(b"\x00\x01\x02")
    with opened(data_dir, "ship") as engine:
        run_ingest(data_dir, tmp_path / "ship", collection="ship")
        tall, keel = engine.ask(TALL), engine.ask("What is the keel made of?")
    [note] = set(tall.notes) - set(keel.notes)
    assert note.startswith("An older version of mast.md is quoted, because the newest version could not be read (")
    fill(data_dir, "ship", SHIP, tmp_path / "ship")
    with opened(data_dir, "ship") as engine:
        assert note not in engine.ask(TALL).notes


def test_several_collections_are_ranked_together(data_dir: Path) -> None:
    with opened(data_dir, "ship", "port-north") as engine:
        found = engine.search("mast quay")
        assert {chunk.collection for chunk in found.chunks} == {"ship", "port-north"}
        assert engine.ask(TALL).citations[0].collection == "ship"
        assert engine.ask("How long is the quay?").citations[0].collection == "port-north"


def test_a_prefix_selects_every_collection_whose_name_starts_with_the_prefix(data_dir: Path) -> None:
    fill(data_dir, "port-south", {"crane.md": "# Crane\n\nThe crane lifts nine tonnes.\n"}, data_dir.parent / "south")
    with opened(data_dir, prefixes=["port-"]) as engine:
        result = engine.ask("What does the crane lift?")
        assert result.metadata["generations"] == {"port-north": 1, "port-south": 1}
        assert result.citations[0].collection == "port-south"
    with opened(data_dir, "port-south", prefixes=["port-"]) as engine:
        assert len(engine.ask(TALL).metadata["generations"]) == 2


def test_a_refused_question_in_another_language_than_the_texts_names_the_extra_that_would_help(tmp_path: Path) -> None:
    text = "# Mast\n\nThe mast is twelve metres tall. It was made of the wood of a pine, and it is part of the ship.\n"
    model, folder = create_embedding(Settings()), write_files(tmp_path / "ship", {"mast.md": text})
    run_ingest(tmp_path / "data", folder, collection="ship", embedding=model)
    with open_engine(Settings(), tmp_path / "data", ["ship"], embedding=model) as engine:
        german, english = engine.ask("Wer hat das Rathaus gebaut?"), engine.ask("Who is the mayor?")
    assert not german.answered
    assert not english.answered
    assert "multilingual-e5-small, and run elt-llm ingest -c ship --rebuild." in " ".join(german.notes)
    assert "multilingual" not in " ".join(english.notes)


def test_a_name_or_prefix_that_matches_nothing_is_refused(data_dir: Path) -> None:
    with pytest.raises(UnknownCollection) as unknown:
        opened(data_dir, "shp")
    assert "ship" in unknown.value.hint
    with pytest.raises(UsageError, match="No collection starts with zz"):
        opened(data_dir, prefixes=["zz"])
    with pytest.raises(UsageError, match="No collection is named") as nameless:
        opened(data_dir)
    assert "port-north, ship" in nameless.value.hint


@pytest.mark.parametrize("question", ["", "  \n"])
def test_an_empty_question_is_refused(question: str, data_dir: Path) -> None:
    with opened(data_dir, "ship") as engine, pytest.raises(UsageError, match="empty"):
        engine.ask(question)


@pytest.mark.parametrize("top_k", [0, -1, -3])
def test_a_number_of_chunks_below_one_is_refused(top_k: int, data_dir: Path) -> None:
    with opened(data_dir, "ship") as engine, pytest.raises(UsageError, match=f"top_k is {top_k};") as refused:
        engine.search(TALL, top_k=top_k)
    assert "1 or more" in refused.value.hint


def test_a_text_where_a_list_is_expected_is_refused_with_the_right_form(data_dir: Path) -> None:
    with opened(data_dir, "ship") as engine:
        for ask in (engine.search, engine.ask):
            with pytest.raises(UsageError, match=r"where='source=mast\.md' is a text") as refused:
                ask(TALL, where="source=mast.md")
            assert refused.value.hint == "Write where=['source=mast.md']."
    with pytest.raises(UsageError, match="collections='ship' is a text") as refused:
        open_engine(FAKE, data_dir, "ship")
    assert refused.value.hint == "Write collections=['ship']."
    with pytest.raises(UsageError, match="prefixes='port' is a text"):
        open_engine(FAKE, data_dir, [], prefixes="port")


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"question": None}, "question is None, not a text"),
        ({"where": None}, "where is None, not a list of texts"),
        ({"where": [5]}, r"where\[0\] is an object of type int, not a text"),
        ({"where": {"source": "mast.md"}}, "where is an object of type dict, not a list of texts"),
        ({"strategy": ["dense"]}, "strategy is an object of type list, not a text"),
        ({"history": [("How tall?",)]}, r"history\[0\] has 1 texts, not a question and its answer"),
        ({"history": ["How tall?"]}, r"history\[0\] is an object of type str, not a pair of question and answer"),
        ({"style": 5}, "style is an object of type int, not a text"),
        ({"listen": None}, "listen is None, not a function of one event"),
        ({"cancelled": True}, "cancelled is an object of type bool, not a function"),
    ],
)
def test_an_option_of_a_wrong_type_is_named_with_the_type_it_should_have(
    options: dict[str, Any], message: str, data_dir: Path
) -> None:
    with opened(data_dir, "ship") as engine, pytest.raises(UsageError, match=message):
        engine.ask(**{"question": TALL, **options})


@pytest.mark.parametrize("top_k", ["3", 2.5, True])
def test_a_number_of_chunks_that_is_no_whole_number_is_refused(top_k: Any, data_dir: Path) -> None:
    with opened(data_dir, "ship") as engine, pytest.raises(UsageError, match=r"top_k is .* not a whole number"):
        engine.search(TALL, top_k=top_k)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"settings": None}, "settings is None, not Settings"),
        ({"place": None}, "The data directory is None, not a path or a Workspace"),
        ({"place": ""}, "The data directory is empty, which would be the working directory"),
        ({"collections": None}, "collections is None, not a list of texts"),
        ({"collections": [None]}, r"collections\[0\] is None, not a text"),
        ({"embedding": "all-MiniLM-L6-v2"}, "embedding is an object of type str, not an EmbeddingModel"),
        ({"llm": "qwen"}, "llm is an object of type str, not an LLM of LlamaIndex"),
        ({"make_reranker": FAKE}, "make_reranker is an object of type Settings, not a function"),
        ({"make_reranker": lambda _query: None}, "The result of make_reranker is None, not a Reranker"),
        ({"settings": FAKE.model_copy(update={"query": QuerySettings(where=("mast",))})}, "query.where: 'mast' is not"),
    ],
)
def test_an_argument_of_a_wrong_type_keeps_an_engine_from_opening(
    changed: dict[str, Any], message: str, data_dir: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        open_engine(**{"settings": FAKE, "place": data_dir, "collections": ["ship"], **changed})


def test_a_data_directory_may_be_a_text(data_dir: Path) -> None:
    with open_engine(FAKE, str(data_dir), ["ship"]) as engine:
        assert "twelve" in engine.ask(TALL).answer


class WrongEmbedding(FakeEmbedding):
    """A fake embedding model whose vectors are multiplied by a factor."""

    factor: float = 1.0

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of the texts, times the factor."""
        return super().embed_texts(texts) * np.float32(self.factor)


@pytest.mark.parametrize(("factor", "length"), [(float("nan"), "nan"), (0.0, "0"), (7.0, "7")])
def test_vectors_whose_length_is_not_1_name_their_model_and_are_not_stored(
    factor: float, length: str, data_dir: Path
) -> None:
    wrong, message = WrongEmbedding(), f"The embedding model fake returned a vector of length {length}, not"
    wrong.factor = factor
    texts = [TextDocument("flag.md", "Flag", f"The flag of case {length} is nine metres tall.")]
    with writer_lock(data_dir, "test"), open_store(data_dir, for_writing=True) as store:
        with pytest.raises(UnusableReply, match=message):
            ingest_texts("flag", texts, FAKE, wrong, store, SilentListener())
        ingest_texts("flag", texts, FAKE, FakeEmbedding(), store, SilentListener())
    with open_engine(FAKE, data_dir, ["flag"]) as engine:
        assert "nine" in engine.ask("How tall is the flag?").answer
    with (
        open_engine(FAKE, data_dir, ["flag"], embedding=wrong) as engine,
        pytest.raises(UnusableReply, match=message),
    ):
        engine.ask("How tall is the flag?")


def test_a_closed_engine_is_named_in_the_error(data_dir: Path) -> None:
    with opened(data_dir, "ship") as engine:
        engine.ask(TALL)
    for ask in (engine.search, engine.ask):
        with pytest.raises(UsageError, match="The engine over ship is closed"):
            ask(TALL)


def test_an_embedding_model_other_than_that_of_the_collection_is_refused_with_a_hint_to_rebuild(data_dir: Path) -> None:
    with pytest.raises(FingerprintMismatch) as refused:
        open_engine(FAKE, data_dir, ["ship"], embedding=FakeEmbedding(version="2"))
    assert "elt-llm ingest -c ship --rebuild" in refused.value.hint


def test_a_failing_language_model_is_not_silently_replaced_by_quotes(data_dir: Path) -> None:
    nobody = OllamaSettings(base_url="http://127.0.0.1:9", connect_timeout=0.5)
    settings = FAKE.model_copy(update={"llm": LlmSettings(provider="ollama"), "ollama": nobody})
    with open_engine(settings, data_dir, ["ship"]) as engine, pytest.raises(ModelUnavailable) as refused:
        engine.ask(TALL)
    assert "ollama serve" in refused.value.hint


def test_a_question_without_an_answer_is_refused(data_dir: Path) -> None:
    with opened(data_dir, "ship") as engine:
        result = engine.ask("Which zeppelin plays the xylophone?")
    assert not result.answered
    assert "Not found in these documents" in result.answer


def test_citations_can_be_switched_off(data_dir: Path) -> None:
    settings = FAKE.model_copy(update={"answer": AnswerSettings(enable_citation=False)})
    with open_engine(settings, data_dir, ["ship"]) as engine:
        assert engine.ask(TALL).citations == ()


def test_a_note_reports_a_missing_language_model_unless_the_settings_choose_quoted_answers(data_dir: Path) -> None:
    quoting = FAKE.model_copy(update={"llm": LlmSettings(provider="extractive")})
    with opened(data_dir, "ship") as auto, open_engine(quoting, data_dir, ["ship"]) as extractive:
        assert any("No language model" in note for note in auto.ask(TALL).notes)
        assert not any("No language model" in note for note in extractive.ask(TALL).notes)


def test_every_stage_of_answering_is_in_the_trace(data_dir: Path) -> None:
    with opened(data_dir, "ship") as engine:
        stages = [stage.name for stage in engine.ask(TALL).trace.stages]
    assert stages == ["understand", "embed", "retrieve", "fuse", "rerank", "shape", "answer"]
