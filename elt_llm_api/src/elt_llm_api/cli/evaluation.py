"""Run the measurements of `elt-llm eval`: retrieval by profile, refusals, gold answers, calibration."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from elt_llm_core.errors import UsageError

from elt_llm_api.cli.options import CommandContext
from elt_llm_api.display.progress import progress_display

if TYPE_CHECKING:
    from elt_llm_core.collection.generation import Generation
    from elt_llm_core.models.embedding_model import EmbeddingModel
    from elt_llm_core.settings.loader import LoadedSettings
    from elt_llm_core.settings.tree import Settings
    from elt_llm_core.store.store import Store
    from elt_llm_query.evaluate.answers import GoldAnswerReport
    from elt_llm_query.evaluate.calibration import FittedCalibration
    from elt_llm_query.evaluate.datasets import Dataset
    from elt_llm_query.evaluate.refusals import QuotingSession, RefusalOutcome, RefusalQuestion, RefusalReport
    from elt_llm_query.evaluate.reports import FigureThreshold, ProfileReport
    from elt_llm_query.evaluate.significance import ProfileComparison
    from elt_llm_query.extractive.confidence import CalibrationState

DEFAULT_PROFILE = "default"


@dataclass(frozen=True)
class EvaluationOutcome:
    """The reports by profile, the comparison of two profiles, and a sentence for each metric below its threshold."""

    reports: "Sequence[ProfileReport]"
    compared: "ProfileComparison | None"
    judged: bool
    failed: Sequence[str]


@dataclass(frozen=True)
class EvaluationSettings:
    """The settings of one evaluation. `judged` are the profiles that thresholds apply to."""

    loaded: "LoadedSettings"
    profiles: "Mapping[str, Settings]"
    compared: tuple[str, str] | None
    thresholds: "Sequence[FigureThreshold]"
    judged: Sequence[str]

    @classmethod
    def of(
        cls,
        context: CommandContext,
        profiles: tuple[str, ...],
        compare: tuple[str, str] | None,
        fail_under: tuple[str, ...],
    ) -> Self:
        """Load the settings of the profiles. Raises UsageError, SettingsError."""
        from elt_llm_query.evaluate.reports import read_threshold

        if compare and compare[0] == compare[1]:
            raise UsageError(f"'{compare[0]}' cannot be compared with itself.", hint="Name two profiles.")
        thresholds = [read_threshold(text) for text in fail_under]
        loaded = context.load()
        named = tuple(dict.fromkeys((*profiles, *(compare or ()))))
        return cls(loaded, _profile_settings(loaded, named), compare or None, thresholds, named or (DEFAULT_PROFILE,))

    def outcome(self, reports: "Sequence[ProfileReport]", seed: int) -> EvaluationOutcome:
        """Return the reports with the requested comparison and the metrics below their thresholds."""
        from elt_llm_query.evaluate.reports import shortfalls
        from elt_llm_query.evaluate.significance import compare_reports

        by_name = {report.profile: report for report in reports}
        compared = (
            compare_reports(by_name[self.compared[0]], by_name[self.compared[1]], seed) if self.compared else None
        )
        failed = shortfalls([by_name[name] for name in self.judged], self.thresholds)
        return EvaluationOutcome(reports, compared, bool(self.thresholds), failed)


def evaluate_labelled_set(measuring: EvaluationSettings, directory: Path, *, quiet: bool) -> "list[ProfileReport]":
    """Ingest a labelled set's corpus unless it is up to date, and measure its questions with each profile."""
    from elt_llm_query.evaluate.datasets import read_dataset
    from elt_llm_query.evaluate.runner import evaluate

    dataset = read_dataset(directory)
    with (
        open_labelled_set(measuring.loaded, dataset, quiet=quiet) as (generation, embedding),
        progress_display(quiet=quiet) as progress,
    ):
        return evaluate(dataset, generation, embedding, measuring.profiles, progress=progress)


@contextmanager
def open_labelled_set(
    loaded: "LoadedSettings", dataset: "Dataset", *, quiet: bool
) -> "Iterator[tuple[Generation, EmbeddingModel]]":
    """Ingest a labelled set's corpus into a collection of its own, in `evaluation` of the data directory."""
    from elt_llm_core.collection.lifecycle import open_generation
    from elt_llm_core.models.factory import create_embedding
    from elt_llm_core.store.lock import writer_lock
    from elt_llm_core.store.store import open_store
    from elt_llm_ingest.pipeline import TextDocument, ingest_texts

    settings, data_dir = loaded.settings, loaded.data_dir / "evaluation"
    name = re.sub(r"[^a-z0-9_-]", "-", dataset.name.lower()).lstrip("-_")[:63] or "dataset"
    embedding = create_embedding(settings)
    texts = (TextDocument(document.corpus_id, document.title, document.text) for document in dataset.documents)
    with writer_lock(data_dir, "elt-llm eval"), open_store(data_dir, for_writing=True) as store:
        with progress_display(quiet=quiet) as progress:
            ingest_texts(name, texts, settings, embedding, store, progress)
        with open_generation(store, name, embedding.fingerprint) as generation:
            yield generation, embedding


def evaluate_own_documents(
    measuring: EvaluationSettings, collection: str, number: int | None, seed: int, *, quiet: bool
) -> "list[ProfileReport]":
    """Measure questions that are generated from the documents of a collection."""
    from elt_llm_core.store.store import open_store

    with open_store(measuring.loaded.data_dir) as store:
        store.collections.get(collection)  # report an unknown name before heavy imports
        from elt_llm_core.collection.lifecycle import open_generation
        from elt_llm_core.models.factory import create_embedding
        from elt_llm_query.evaluate.generated_questions import DEFAULT_NUMBER, evaluation_questions, generate_questions
        from elt_llm_query.evaluate.runner import measure_profiles

        embedding = create_embedding(measuring.loaded.settings)
        with open_generation(store, collection, embedding.fingerprint) as generation:
            questions = evaluation_questions(generate_questions(generation, number or DEFAULT_NUMBER, seed))
            with progress_display(quiet=quiet) as progress:
                return measure_profiles(collection, questions, generation, embedding, measuring.profiles, progress)


def _profile_settings(loaded: "LoadedSettings", names: tuple[str, ...]) -> "dict[str, Settings]":
    """Return the settings by profile name; a strategy name means the current settings with that strategy."""
    from elt_llm_core.settings.profiles import load_profile, profile_names
    from elt_llm_core.settings.tree import STRATEGIES
    from elt_llm_query.evaluate.runner import comparison_profiles, with_strategy

    if not names:
        return comparison_profiles(loaded.settings)
    own = profile_names(loaded)
    return {
        name: with_strategy(loaded.settings, name)
        if name in STRATEGIES and name not in own
        else load_profile(name, loaded).apply_to(loaded.settings)
        for name in names
    }


@dataclass(frozen=True)
class RefusalSettings:
    """The settings of one measurement of refusals: a profile, and how many questions to sample."""

    loaded: "LoadedSettings"
    settings: "Settings"
    profile: str
    number: int | None
    seed: int
    quiet: bool

    @classmethod
    def of(cls, context: CommandContext, profile: str, number: int | None, seed: int, *, quiet: bool) -> Self:
        """Load the settings of a profile. Raises SettingsError, UsageError."""
        from elt_llm_core.settings.profiles import load_profile

        loaded = context.load()
        settings = load_profile(profile, loaded).apply_to(loaded.settings)
        return cls(loaded, settings, profile, number, seed, quiet)


def measure_refusals_of_set(asking: RefusalSettings, directory: Path, foreign: Path | None) -> "RefusalReport":
    """Measure refusals on a labelled set: its unanswerable questions, and questions of another or the shipped set."""
    from elt_llm_query.evaluate.datasets import QUERIES, read_dataset, read_questions
    from elt_llm_query.evaluate.refusals import (
        QuotingSession,
        questions_of_dataset,
        questions_without_answer,
        refusal_report,
        sample_questions,
    )

    dataset = read_dataset(directory)
    posed = questions_of_dataset(dataset, directory)
    foreign_questions = list(read_questions(foreign / QUERIES).values()) if foreign else None
    with open_labelled_set(asking.loaded, dataset, quiet=asking.quiet) as (generation, embedding):
        posed += questions_without_answer(
            _shipped_foreign_questions(generation) if foreign_questions is None else foreign_questions
        )
        with QuotingSession(generation, embedding, asking.settings) as quoting:
            return refusal_report(
                dataset.name, _answer_questions(asking, quoting, sample_questions(posed, asking.number, asking.seed))
            )


def measure_gold_answers(asking: RefusalSettings, directory: Path) -> "GoldAnswerReport":
    """Measure how often the quotes contain a gold answer of a labelled set."""
    from elt_llm_query.evaluate.answers import measure_gold_answers
    from elt_llm_query.evaluate.datasets import read_answers, read_dataset
    from elt_llm_query.evaluate.refusals import QuotingSession, questions_of_dataset, sample_questions

    dataset, answers = read_dataset(directory), read_answers(directory)
    having = [posed for posed in questions_of_dataset(dataset, directory) if posed.identity in answers]
    chosen = [posed.identity for posed in sample_questions(having, asking.number, asking.seed)]
    with (
        open_labelled_set(asking.loaded, dataset, quiet=asking.quiet) as (generation, embedding),
        QuotingSession(generation, embedding, asking.settings) as quoting,
        progress_display(quiet=asking.quiet) as progress,
    ):
        return measure_gold_answers(dataset, answers, quoting, chosen, progress)


def measure_refusals_of_collection(
    asking: RefusalSettings, collection: str
) -> "tuple[RefusalReport, CalibrationState]":
    """Measure refusals on generated questions of a collection; return also which weights were used."""
    from elt_llm_query.evaluate.refusals import QuotingSession, refusal_report
    from elt_llm_query.extractive.confidence import read_calibration

    with _open_collection(asking, collection) as (store, generation, embedding):
        calibration = read_calibration(asking.loaded.data_dir, [generation], asking.settings)
        with QuotingSession(generation, embedding, asking.settings, calibration.weights) as quoting:
            outcomes = _answer_own_and_foreign(asking, store, generation, quoting)
        return refusal_report(collection, outcomes), calibration.state


def calibrate_collection(asking: RefusalSettings, collection: str) -> "FittedCalibration":
    """Fit the confidence to a collection and store the result for its generation and profile.

    If the shipped weights are better, they stay in use, and the stored result records this.
    """
    from contextlib import closing

    from elt_llm_core.state.calibrations import CalibrationTable
    from elt_llm_core.state.database import open_state
    from elt_llm_query.evaluate.calibration import calibrate
    from elt_llm_query.evaluate.refusals import QuotingSession
    from elt_llm_query.extractive.confidence import calibration_json, settings_key

    with _open_collection(asking, collection) as (store, generation, embedding):
        with QuotingSession(generation, embedding, asking.settings) as quoting:
            fitted = calibrate(_answer_own_and_foreign(asking, store, generation, quoting))
        with closing(open_state(asking.loaded.data_dir)) as state:
            key = settings_key(asking.settings)
            CalibrationTable(state).put(collection, generation.identity, key, calibration_json(fitted.weights))
        return fitted


def _answer_own_and_foreign(
    asking: RefusalSettings, store: "Store", generation: "Generation", quoting: "QuotingSession"
) -> "list[RefusalOutcome]":
    from elt_llm_query.evaluate.generated_questions import (
        DEFAULT_NUMBER,
        generate_questions,
        questions_of_other_collections,
    )
    from elt_llm_query.evaluate.refusals import questions_of_collection, questions_without_answer

    own = generate_questions(generation, asking.number or DEFAULT_NUMBER, asking.seed)
    foreign_questions = questions_of_other_collections(store, generation, own, asking.seed)
    return _answer_questions(
        asking,
        quoting,
        [
            *questions_of_collection(own),
            *questions_without_answer([*_shipped_foreign_questions(generation), *foreign_questions]),
        ],
    )


def _answer_questions(
    asking: RefusalSettings, quoting: "QuotingSession", posed: "Sequence[RefusalQuestion]"
) -> "list[RefusalOutcome]":
    from elt_llm_core.progress import track_progress

    with progress_display(quiet=asking.quiet) as progress:
        return quoting.ask(track_progress(posed, progress, "ask"))


def _shipped_foreign_questions(generation: "Generation") -> list[str]:
    from elt_llm_query.evaluate.generated_questions import foreign_questions

    return foreign_questions(generation.passport.language)


@contextmanager
def _open_collection(asking: RefusalSettings, collection: str) -> "Iterator[tuple[Store, Generation, EmbeddingModel]]":
    from elt_llm_core.store.store import open_store

    with open_store(asking.loaded.data_dir) as store:
        store.collections.get(collection)  # report an unknown name before heavy imports
        from elt_llm_core.collection.lifecycle import open_generation
        from elt_llm_core.models.factory import create_embedding

        embedding = create_embedding(asking.loaded.settings)
        with open_generation(store, collection, embedding.fingerprint) as generation:
            yield store, generation, embedding
