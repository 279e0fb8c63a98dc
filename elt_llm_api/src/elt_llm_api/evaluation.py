"""What `elt-llm eval` measures and with which profiles; all that can be refused is refused before anything is asked."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from elt_llm_core.errors import UsageError

from elt_llm_api.options import CommandContext
from elt_llm_api.progress_display import progress_display

if TYPE_CHECKING:
    from elt_llm_core.generation import Generation
    from elt_llm_core.models.embedding_model import EmbeddingModel
    from elt_llm_core.settings import Settings
    from elt_llm_core.settings_loader import LoadedSettings
    from elt_llm_query.evaluate.datasets import Dataset
    from elt_llm_query.evaluate.reports import ProfileReport
    from elt_llm_query.evaluate.significance import Comparison
    from elt_llm_query.evaluate.thresholds import Threshold

DEFAULT = "default"


@dataclass(frozen=True)
class Evaluated:
    """What was measured; `compared` of two profiles, `failed` a sentence for each figure that is too low."""

    reports: "Sequence[ProfileReport]"
    compared: "Comparison | None"
    judged: bool
    failed: Sequence[str]


@dataclass(frozen=True)
class Measuring:
    """The settings of one call. `judged` names the profiles that thresholds hold for."""

    loaded: "LoadedSettings"
    profiles: "Mapping[str, Settings]"
    compared: tuple[str, str] | None
    thresholds: "Sequence[Threshold]"
    judged: Sequence[str]

    @classmethod
    def of(
        cls,
        context: CommandContext,
        profiles: tuple[str, ...],
        compare: tuple[str, str] | None,
        fail_under: tuple[str, ...],
    ) -> Self:
        """Read what a call asks for. Raises UsageError, SettingsError."""
        from elt_llm_query.evaluate.thresholds import read_threshold

        if compare and compare[0] == compare[1]:
            raise UsageError(f"'{compare[0]}' cannot be compared with itself.", hint="Name two profiles.")
        thresholds = [read_threshold(text) for text in fail_under]
        loaded = context.load()
        named = tuple(dict.fromkeys((*profiles, *(compare or ()))))
        return cls(loaded, _profiles(loaded, named), compare or None, thresholds, named or (DEFAULT,))

    def outcome(self, reports: "Sequence[ProfileReport]", seed: int) -> Evaluated:
        """The reports with the comparison and the shortfalls that were asked for."""
        from elt_llm_query.evaluate.significance import compare
        from elt_llm_query.evaluate.thresholds import shortfalls

        by_name = {report.profile: report for report in reports}
        compared = compare(by_name[self.compared[0]], by_name[self.compared[1]], seed) if self.compared else None
        failed = shortfalls([by_name[name] for name in self.judged], self.thresholds)
        return Evaluated(reports, compared, bool(self.thresholds), failed)


def measure_set(measuring: Measuring, directory: Path, *, quiet: bool) -> "list[ProfileReport]":
    """Ingest a labelled set's corpus, unless that was done before, and ask its questions by each profile."""
    from elt_llm_query.evaluate.datasets import read_dataset
    from elt_llm_query.evaluate.runner import evaluate

    dataset = read_dataset(directory)
    with (
        opened_set(measuring.loaded, dataset, quiet=quiet) as (generation, embedding),
        progress_display(quiet=quiet) as progress,
    ):
        return evaluate(dataset, generation, embedding, measuring.profiles, progress=progress)


@contextmanager
def opened_set(
    loaded: "LoadedSettings", dataset: "Dataset", *, quiet: bool
) -> "Iterator[tuple[Generation, EmbeddingModel]]":
    """A labelled set's corpus as a collection of its own, kept apart from those of the data directory."""
    from elt_llm_core.collection import open_generation
    from elt_llm_core.models.embeddings import create_embedding
    from elt_llm_core.store.lock import writer_lock
    from elt_llm_core.store.store import open_store
    from elt_llm_ingest.texts import GivenText, ingest_texts

    settings, data_dir = loaded.settings, loaded.data_dir / "evaluation"
    name = re.sub(r"[^a-z0-9_-]", "-", dataset.name.lower()).lstrip("-_")[:63] or "dataset"
    embedding = create_embedding(settings)
    texts = (GivenText(document.corpus_id, document.title, document.text) for document in dataset.documents)
    with writer_lock(data_dir, "elt-llm eval"), open_store(data_dir, for_writing=True) as store:
        with progress_display(quiet=quiet) as progress:
            ingest_texts(name, texts, settings, embedding, store, progress)
        with open_generation(store, name, embedding.fingerprint) as generation:
            yield generation, embedding


def measure_own(
    measuring: Measuring, collection: str, number: int | None, seed: int, *, quiet: bool
) -> "list[ProfileReport]":
    """Ask a collection the questions its own documents give rise to."""
    from elt_llm_core.store.store import open_store

    with open_store(measuring.loaded.data_dir) as store:
        store.collections.get(collection)  # a mistyped name is told before anything heavy is imported
        from elt_llm_core.collection import open_generation
        from elt_llm_core.models.embeddings import create_embedding
        from elt_llm_query.evaluate.own_questions import DEFAULT_NUMBER, asked_of, own_questions
        from elt_llm_query.evaluate.runner import measure_profiles

        embedding = create_embedding(measuring.loaded.settings)
        with open_generation(store, collection, embedding.fingerprint) as generation:
            asked = asked_of(own_questions(generation, number or DEFAULT_NUMBER, seed))
            with progress_display(quiet=quiet) as progress:
                return measure_profiles(collection, asked, generation, embedding, measuring.profiles, progress)


def _profiles(loaded: "LoadedSettings", names: tuple[str, ...]) -> "dict[str, Settings]":
    """Settings by the name of their profile; the name of a strategy stands for the settings as they are, with it."""
    from elt_llm_core.settings import STRATEGIES
    from elt_llm_core.settings_loader import load_profile, profile_names
    from elt_llm_query.evaluate.profiles import comparison_profiles, with_strategy

    if not names:
        return comparison_profiles(loaded.settings)
    own = profile_names(loaded)
    return {
        name: with_strategy(loaded.settings, name)
        if name in STRATEGIES and name not in own
        else load_profile(name, loaded).apply_to(loaded.settings)
        for name in names
    }
