"""What `elt-llm eval` measures of answers without labels by hand: refusals, gold answers, and what it fits to them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from elt_llm_api.evaluation import opened_set
from elt_llm_api.options import CommandContext
from elt_llm_api.progress_display import progress_display

if TYPE_CHECKING:
    from elt_llm_core.generation import Generation
    from elt_llm_core.models.embedding_model import EmbeddingModel
    from elt_llm_core.settings import Settings
    from elt_llm_core.settings_loader import LoadedSettings
    from elt_llm_core.store.store import Store
    from elt_llm_query.calibration import State
    from elt_llm_query.evaluate.calibrating import Fitted
    from elt_llm_query.evaluate.gold_answers import GoldReport
    from elt_llm_query.evaluate.quoting import Ended, Posed, Quoting
    from elt_llm_query.evaluate.refusals import RefusalReport


@dataclass(frozen=True)
class Asking:
    """The settings of one call: those in force with one profile, and how many questions are drawn."""

    loaded: "LoadedSettings"
    settings: "Settings"
    profile: str
    number: int | None
    seed: int
    quiet: bool

    @classmethod
    def of(cls, context: CommandContext, profile: str, number: int | None, seed: int, *, quiet: bool) -> Self:
        """Read what a call asks for. Raises SettingsError, UsageError."""
        from elt_llm_core.settings_loader import load_profile

        loaded = context.load()
        settings = load_profile(profile, loaded).apply_to(loaded.settings)
        return cls(loaded, settings, profile, number, seed, quiet)


def refusals_of_set(asking: Asking, directory: Path, foreign: Path | None) -> "RefusalReport":
    """Of a labelled set: its own unanswerable questions, and those of another set or about other subjects."""
    from elt_llm_query.evaluate.datasets import QUERIES, read_dataset, read_questions
    from elt_llm_query.evaluate.posing import drawn, posed_foreign, posed_of_set
    from elt_llm_query.evaluate.quoting import Quoting
    from elt_llm_query.evaluate.refusals import report

    dataset = read_dataset(directory)
    posed = posed_of_set(dataset, directory)
    strange = list(read_questions(foreign / QUERIES).values()) if foreign else None
    with opened_set(asking.loaded, dataset, quiet=asking.quiet) as (generation, embedding):
        posed += posed_foreign(_shipped(generation) if strange is None else strange)
        with Quoting(generation, embedding, asking.settings) as quoting:
            return report(dataset.name, _told(asking, quoting, drawn(posed, asking.number, asking.seed)))


def gold_of_set(asking: Asking, directory: Path) -> "GoldReport":
    """Of a labelled set: how often what is quoted holds an answer."""
    from elt_llm_query.evaluate.datasets import read_answers, read_dataset
    from elt_llm_query.evaluate.gold_answers import measure_gold
    from elt_llm_query.evaluate.posing import drawn, posed_of_set
    from elt_llm_query.evaluate.quoting import Quoting

    dataset, answers = read_dataset(directory), read_answers(directory)
    having = [posed for posed in posed_of_set(dataset, directory) if posed.identity in answers]
    chosen = [posed.identity for posed in drawn(having, asking.number, asking.seed)]
    with (
        opened_set(asking.loaded, dataset, quiet=asking.quiet) as (generation, embedding),
        Quoting(generation, embedding, asking.settings) as quoting,
        progress_display(quiet=asking.quiet) as progress,
    ):
        return measure_gold(dataset, answers, quoting, chosen, progress)


def refusals_of_own(asking: Asking, collection: str) -> "tuple[RefusalReport, State]":
    """Of a collection, on questions made from it, weighed as it is asked; and which weights those are."""
    from elt_llm_query.calibration import read_calibration
    from elt_llm_query.evaluate.quoting import Quoting
    from elt_llm_query.evaluate.refusals import report

    with _opened(asking, collection) as (store, generation, embedding):
        found = read_calibration(asking.loaded.data_dir, [generation], asking.settings)
        with Quoting(generation, embedding, asking.settings, found.weighing) as quoting:
            ends = _pose(asking, store, generation, quoting)
        return report(collection, ends), found.state


def calibrate_own(asking: Asking, collection: str) -> "Fitted":
    """Fit to a collection and keep what was fitted, or that nothing better was, for its generation and profile."""
    from contextlib import closing

    from elt_llm_core.state.calibrations import Calibrations
    from elt_llm_core.state.database import open_state
    from elt_llm_query.calibration import settings_key, to_json
    from elt_llm_query.evaluate.calibrating import calibrate
    from elt_llm_query.evaluate.quoting import Quoting

    with _opened(asking, collection) as (store, generation, embedding):
        with Quoting(generation, embedding, asking.settings) as quoting:
            fitted = calibrate(_pose(asking, store, generation, quoting))
        with closing(open_state(asking.loaded.data_dir)) as state:
            key = settings_key(asking.settings)
            Calibrations(state).put(collection, generation.identity, key, to_json(fitted.weighing))
        return fitted


def _pose(asking: Asking, store: "Store", generation: "Generation", quoting: "Quoting") -> "list[Ended]":
    from elt_llm_query.evaluate.foreign_questions import questions_of_others
    from elt_llm_query.evaluate.own_questions import DEFAULT_NUMBER, own_questions
    from elt_llm_query.evaluate.posing import posed_foreign, posed_of_own

    own = own_questions(generation, asking.number or DEFAULT_NUMBER, asking.seed)
    strange = questions_of_others(store, generation, own, asking.seed)
    return _told(asking, quoting, [*posed_of_own(own), *posed_foreign([*_shipped(generation), *strange])])


def _told(asking: Asking, quoting: "Quoting", posed: "Sequence[Posed]") -> "list[Ended]":
    from elt_llm_core.progress import followed

    with progress_display(quiet=asking.quiet) as progress:
        return quoting.pose(followed(posed, progress, "ask"))


def _shipped(generation: "Generation") -> list[str]:
    from elt_llm_query.evaluate.foreign_questions import foreign_questions

    return foreign_questions(generation.passport.language)


@contextmanager
def _opened(asking: Asking, collection: str) -> "Iterator[tuple[Store, Generation, EmbeddingModel]]":
    from elt_llm_core.store.store import open_store

    with open_store(asking.loaded.data_dir) as store:
        store.collections.get(collection)  # a mistyped name is told before anything heavy is imported
        from elt_llm_core.collection import open_generation
        from elt_llm_core.models.embeddings import create_embedding

        embedding = create_embedding(asking.loaded.settings)
        with open_generation(store, collection, embedding.fingerprint) as generation:
            yield store, generation, embedding
