from pathlib import Path
from statistics import fmean

import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.models.factory import create_embedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.store import open_store
from elt_llm_ingest.pipeline import ingest
from elt_llm_ingest.sandbox.parser import DirectParser
from elt_llm_ingest.sources.request import IngestRequest
from elt_llm_query.evaluate.datasets import Dataset, read_dataset
from elt_llm_query.evaluate.runner import comparison_profiles, evaluate

SETS = ("xquad-en", "xquad-de", "hotpotqa-100")


def _measured(dataset: Dataset, folder: Path) -> dict[str, float]:
    """Ingest a dataset with the shipped embedding model, and return nDCG@10 of each profile."""
    settings = Settings()
    model = create_embedding(settings)
    documents = folder / "documents"
    documents.mkdir(parents=True)
    corpus_ids = {}
    for number, document in enumerate(dataset.documents):
        title = f"# {document.title}\n\n" if document.title else ""
        (documents / f"{number}.md").write_text(title + document.text, encoding="utf-8")
        corpus_ids[f"{number}.md"] = document.corpus_id
    with open_store(folder / "data", for_writing=True) as store:
        ingest(IngestRequest("bench", (documents,)), settings, model, store, SilentListener(), DirectParser())
        with open_generation(store, "bench", model.fingerprint) as generation:
            reports = evaluate(dataset, generation, model, comparison_profiles(settings), corpus_ids)
    return {report.profile: report.figures["ndcg@10"] for report in reports}


@pytest.mark.bench
def test_the_default_profile_is_as_good_as_either_single_retriever_and_better_than_plain_fusion(
    datasets: Path, tmp_path: Path
) -> None:
    figures = {name: _measured(read_dataset(datasets / "eval" / name), tmp_path / name) for name in SETS}
    for name, ndcg in figures.items():
        assert ndcg["default"] >= max(ndcg["bm25"], ndcg["dense"]) - 0.003, (name, ndcg)
    means = {profile: fmean(ndcg[profile] for ndcg in figures.values()) for profile in figures[SETS[0]]}
    assert means["default"] > means["fusion"] > means["classic"], means
