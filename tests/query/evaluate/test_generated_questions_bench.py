"""Generated questions rank profiles in the same order as questions that people labelled."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.models.factory import create_embedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.store import open_store
from elt_llm_ingest.pipeline import TextDocument, ingest_texts
from elt_llm_query.evaluate.datasets import Dataset, read_dataset
from elt_llm_query.evaluate.generated_questions import evaluation_questions, generate_questions
from elt_llm_query.evaluate.runner import comparison_profiles, evaluate, measure_profiles

SETS = ("xquad-en", "hotpotqa-100", "squad2")
PROFILES = ("bm25", "dense", "fusion", "default")


def _kendall_tau(first: Sequence[float], second: Sequence[float]) -> float:
    """Return tau-b of two orders of the same items, -1 to 1; 0 if all values of one order are equal.

    Source: Kendall, "The Treatment of Ties in Ranking Problems", Biometrika 1945.
    """
    upper = np.triu_indices(len(first), 1)
    ours, theirs = (np.sign(np.subtract.outer(values, values))[upper] for values in (first, second))
    untied = math.sqrt(np.count_nonzero(ours) * np.count_nonzero(theirs))
    return float(ours @ theirs) / untied if untied else 0.0


def _agreement(dataset: Dataset, folder: Path) -> float:
    """Kendall's tau of the nDCG@10 of four profiles, by labelled questions and by those made from the corpus."""
    settings = Settings()
    model = create_embedding(settings)
    profiles = {name: one for name, one in comparison_profiles(settings).items() if name in PROFILES}
    texts = (TextDocument(document.corpus_id, document.title, document.text) for document in dataset.documents)
    with open_store(folder / "data", for_writing=True) as store:
        ingest_texts("bench", texts, settings, model, store, SilentListener())
        with open_generation(store, "bench", model.fingerprint) as generation:
            labelled = evaluate(dataset, generation, model, profiles)
            made = measure_profiles(
                "made", evaluation_questions(generate_questions(generation, 400)), generation, model, profiles
            )
    return _kendall_tau([one.figures["ndcg@10"] for one in labelled], [one.figures["ndcg@10"] for one in made])


@pytest.mark.bench
@pytest.mark.parametrize("name", SETS)
def test_profiles_are_ranked_in_the_same_order_by_generated_and_by_labelled_questions(
    name: str, datasets: Path, tmp_path: Path
) -> None:
    assert _agreement(read_dataset(datasets / "eval" / name), tmp_path) >= 0.6
