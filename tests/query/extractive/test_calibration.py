"""An engine uses the weights fitted to its collection and settings, else the shipped ones, and reports which."""

import json
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.progress import SilentListener
from elt_llm_core.results import QueryResult
from elt_llm_core.settings.tree import QuerySettings, Settings
from elt_llm_core.state.calibrations import CalibrationTable
from elt_llm_core.state.database import STATE_NAME, open_state
from elt_llm_core.store.store import open_store
from elt_llm_ingest.pipeline import TextDocument, ingest_texts
from elt_llm_query.engine import open_engine
from elt_llm_query.extractive.confidence import SHIPPED_WEIGHTS, ConfidenceWeights, calibration_json, settings_key

QUESTION = "How tall is the mast?"
NEVER = ConfidenceWeights(-40.0, SHIPPED_WEIGHTS.weights)
ALWAYS = ConfidenceWeights(40.0, SHIPPED_WEIGHTS.weights)


@dataclass
class Harbour:
    """Collections of one data directory."""

    data_dir: Path
    embedding: FakeEmbedding
    settings: Settings

    def ingest(self, name: str, text: str = "The mast is twelve metres tall.") -> None:
        with open_store(self.data_dir, for_writing=True) as store:
            ingest_texts(name, [TextDocument("a", "", text)], self.settings, self.embedding, store, SilentListener())

    def fit(self, name: str, weights: ConfidenceWeights) -> None:
        from elt_llm_core.collection.lifecycle import open_generation

        with open_store(self.data_dir) as store, open_generation(store, name) as generation:
            self.keep(name, generation.identity, calibration_json(weights))

    def keep(self, name: str, identity: str, fitted: str) -> None:
        with closing(open_state(self.data_dir)) as state:
            CalibrationTable(state).put(name, identity, settings_key(self.settings), fitted)

    def ask(self, *names: str, settings: Settings | None = None) -> QueryResult:
        with open_engine(settings or self.settings, self.data_dir, names, embedding=self.embedding) as engine:
            return engine.ask(QUESTION)


@pytest.fixture
def harbour(tmp_path: Path, embedding: FakeEmbedding) -> Harbour:
    """A data directory with one collection, for which no confidence weights were fitted."""
    made = Harbour(tmp_path, embedding, Settings())
    made.ingest("ship")
    return made


def test_asking_a_question_writes_no_state_and_reports_that_the_shipped_weights_are_used(harbour: Harbour) -> None:
    assert harbour.ask("ship").metadata["calibration"] == "shipped"
    assert not (harbour.data_dir / STATE_NAME).exists()


@pytest.mark.parametrize(("weights", "answered"), [(NEVER, False), (ALWAYS, True)])
def test_fitted_weights_decide_whether_to_answer(
    harbour: Harbour, weights: ConfidenceWeights, *, answered: bool
) -> None:
    harbour.fit("ship", weights)
    result = harbour.ask("ship")
    assert result.metadata["calibration"] == "calibrated"
    assert result.answered is answered


def test_after_a_collection_changes_the_shipped_weights_are_used_and_one_note_reports_the_stale_calibration(
    harbour: Harbour,
) -> None:
    before = harbour.ask("ship").confidence
    harbour.fit("ship", NEVER)
    harbour.ingest("ship", "The mast is twelve metres tall. The keel is of oak.")
    with open_engine(harbour.settings, harbour.data_dir, ["ship"], embedding=harbour.embedding) as engine:
        first, second = engine.ask(QUESTION), engine.ask(QUESTION)
    assert first.metadata["calibration"] == second.metadata["calibration"] == "stale"
    assert first.confidence > 0.01 * before
    assert any("elt-llm eval --calibrate -c ship" in note for note in first.notes)
    assert not any("--calibrate" in note for note in second.notes)


def test_a_cached_answer_does_not_repeat_the_note_about_a_stale_calibration(harbour: Harbour) -> None:
    harbour.fit("ship", NEVER)
    harbour.ingest("ship", "The mast is twelve metres tall. The keel is of oak.")
    llm = ScriptedLLM(["The mast is twelve metres tall [1]."])
    with open_engine(harbour.settings, harbour.data_dir, ["ship"], embedding=harbour.embedding, llm=llm) as engine:
        first, second = engine.ask(QUESTION), engine.ask(QUESTION)
    assert (first.metadata["cached"], second.metadata["cached"]) == (False, True)
    assert any("--calibrate" in note for note in first.notes)
    assert not any("--calibrate" in note for note in second.notes)


def test_the_shipped_weights_are_used_with_search_settings_other_than_those_of_the_calibration(
    harbour: Harbour,
) -> None:
    harbour.fit("ship", NEVER)
    other = harbour.settings.model_copy(update={"query": QuerySettings(similarity_top_k=3, reranker_top_k=3)})
    assert harbour.ask("ship", settings=other).metadata["calibration"] == "shipped"
    alike = harbour.settings.model_copy(update={"query": QuerySettings(cache_size=0)})
    assert harbour.ask("ship", settings=alike).metadata["calibration"] == "calibrated"


def test_the_shipped_weights_are_used_when_several_collections_are_searched(harbour: Harbour) -> None:
    harbour.ingest("port")
    harbour.fit("ship", NEVER)
    assert harbour.ask("ship", "port").metadata["calibration"] == "shipped"


def test_a_calibration_that_was_fitted_from_other_shipped_weights_is_not_used(harbour: Harbour) -> None:
    harbour.fit("ship", NEVER)
    with closing(open_state(harbour.data_dir)) as state:
        ((identity, fitted),) = state.rows("SELECT generation, fitted FROM calibrations")
    harbour.keep("ship", identity, json.dumps({**json.loads(fitted), "from": "another"}))
    assert harbour.ask("ship").metadata["calibration"] == "stale"
    for nothing in ("[]", "[" * 5000, fitted.replace("-40.0", "NaN"), fitted.replace("-40.0", f"1{'0' * 400}")):
        harbour.keep("ship", identity, nothing)
        assert harbour.ask("ship").metadata["calibration"] == "stale"


def test_a_profile_that_keeps_the_shipped_weights_counts_as_not_calibrated(harbour: Harbour) -> None:
    harbour.fit("ship", SHIPPED_WEIGHTS)
    result = harbour.ask("ship")
    assert result.metadata["calibration"] == "shipped"
    assert not any("--calibrate" in note for note in result.notes)


def test_if_the_state_database_is_unreadable_a_note_is_added_and_the_question_is_still_answered(
    harbour: Harbour,
) -> None:
    (harbour.data_dir / STATE_NAME).write_bytes(b"no database " * 500)
    result = harbour.ask("ship")
    assert result.metadata["calibration"] == "shipped"
    assert any("could not be read" in note for note in result.notes)
