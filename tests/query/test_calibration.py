"""Which weights an engine decides by: those fitted to just what it asks, else the shipped ones, and it says which."""

import json
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.progress import SilentProgress
from elt_llm_core.results import QueryResult
from elt_llm_core.settings import QuerySettings, Settings
from elt_llm_core.state.calibrations import Calibrations
from elt_llm_core.state.database import STATE_NAME, open_state
from elt_llm_core.store.store import open_store
from elt_llm_ingest.texts import GivenText, ingest_texts
from elt_llm_query.answer.abstention import SHIPPED, Weighing
from elt_llm_query.calibration import settings_key, to_json
from elt_llm_query.engine import open_engine

QUESTION = "How tall is the mast?"
NEVER = Weighing(-40.0, SHIPPED.weights)
ALWAYS = Weighing(40.0, SHIPPED.weights)


@dataclass
class Harbour:
    """Collections of one data directory."""

    data_dir: Path
    embedding: FakeEmbedding
    settings: Settings

    def ingest(self, name: str, text: str = "The mast is twelve metres tall.") -> None:
        with open_store(self.data_dir, for_writing=True) as store:
            ingest_texts(name, [GivenText("a", "", text)], self.settings, self.embedding, store, SilentProgress())

    def fit(self, name: str, weighing: Weighing) -> None:
        from elt_llm_core.collection import open_generation

        with open_store(self.data_dir) as store, open_generation(store, name) as generation:
            self.keep(name, generation.identity, to_json(weighing))

    def keep(self, name: str, identity: str, fitted: str) -> None:
        with closing(open_state(self.data_dir)) as state:
            Calibrations(state).put(name, identity, settings_key(self.settings), fitted)

    def ask(self, *names: str, settings: Settings | None = None) -> QueryResult:
        with open_engine(settings or self.settings, self.data_dir, names, embedding=self.embedding) as engine:
            return engine.ask(QUESTION)


@pytest.fixture
def harbour(tmp_path: Path, embedding: FakeEmbedding) -> Harbour:
    """One collection, nothing fitted."""
    made = Harbour(tmp_path, embedding, Settings())
    made.ingest("ship")
    return made


def test_asking_leaves_no_state_behind_and_says_that_nothing_was_fitted(harbour: Harbour) -> None:
    assert harbour.ask("ship").metadata["abstention"] == "shipped"
    assert not (harbour.data_dir / STATE_NAME).exists()


@pytest.mark.parametrize(("weighing", "answered"), [(NEVER, False), (ALWAYS, True)])
def test_what_was_fitted_decides(harbour: Harbour, weighing: Weighing, *, answered: bool) -> None:
    harbour.fit("ship", weighing)
    result = harbour.ask("ship")
    assert result.metadata["abstention"] == "calibrated"
    assert result.answered is answered


def test_another_state_of_the_collection_is_weighed_as_shipped_and_the_stale_fit_is_told_once(harbour: Harbour) -> None:
    before = harbour.ask("ship").confidence
    harbour.fit("ship", NEVER)
    harbour.ingest("ship", "The mast is twelve metres tall. The keel is of oak.")
    with open_engine(harbour.settings, harbour.data_dir, ["ship"], embedding=harbour.embedding) as engine:
        first, second = engine.ask(QUESTION), engine.ask(QUESTION)
    assert first.metadata["abstention"] == second.metadata["abstention"] == "stale"
    assert first.confidence > 0.01 * before
    assert any("elt-llm eval --calibrate -c ship" in note for note in first.notes)
    assert not any("--calibrate" in note for note in second.notes)


def test_a_written_answer_that_is_told_again_does_not_tell_of_the_stale_fit_again(harbour: Harbour) -> None:
    harbour.fit("ship", NEVER)
    harbour.ingest("ship", "The mast is twelve metres tall. The keel is of oak.")
    llm = ScriptedLLM(["The mast is twelve metres tall [1]."])
    with open_engine(harbour.settings, harbour.data_dir, ["ship"], embedding=harbour.embedding, llm=llm) as engine:
        first, second = engine.ask(QUESTION), engine.ask(QUESTION)
    assert (first.metadata["cached"], second.metadata["cached"]) == (False, True)
    assert any("--calibrate" in note for note in first.notes)
    assert not any("--calibrate" in note for note in second.notes)


def test_other_settings_of_searching_are_weighed_as_shipped(harbour: Harbour) -> None:
    harbour.fit("ship", NEVER)
    other = harbour.settings.model_copy(update={"query": QuerySettings(similarity_top_k=3, reranker_top_k=3)})
    assert harbour.ask("ship", settings=other).metadata["abstention"] == "shipped"
    alike = harbour.settings.model_copy(update={"query": QuerySettings(cache_size=0)})
    assert harbour.ask("ship", settings=alike).metadata["abstention"] == "calibrated"


def test_several_collections_are_weighed_as_shipped(harbour: Harbour) -> None:
    harbour.ingest("port")
    harbour.fit("ship", NEVER)
    assert harbour.ask("ship", "port").metadata["abstention"] == "shipped"


def test_what_was_fitted_to_other_shipped_weights_is_not_used(harbour: Harbour) -> None:
    harbour.fit("ship", NEVER)
    with closing(open_state(harbour.data_dir)) as state:
        ((identity, fitted),) = state.rows("SELECT generation, fitted FROM calibrations")
    harbour.keep("ship", identity, json.dumps({**json.loads(fitted), "from": "another"}))
    assert harbour.ask("ship").metadata["abstention"] == "stale"
    for nothing in ("[]", "[" * 5000, fitted.replace("-40.0", "NaN"), fitted.replace("-40.0", f"1{'0' * 400}")):
        harbour.keep("ship", identity, nothing)
        assert harbour.ask("ship").metadata["abstention"] == "stale"


def test_that_the_shipped_weights_were_kept_is_no_calibration(harbour: Harbour) -> None:
    harbour.fit("ship", SHIPPED)
    result = harbour.ask("ship")
    assert result.metadata["abstention"] == "shipped"
    assert not any("--calibrate" in note for note in result.notes)


def test_state_that_cannot_be_read_is_said_and_does_not_keep_from_answering(harbour: Harbour) -> None:
    (harbour.data_dir / STATE_NAME).write_bytes(b"no database " * 500)
    result = harbour.ask("ship")
    assert result.metadata["abstention"] == "shipped"
    assert any("could not be read" in note for note in result.notes)
