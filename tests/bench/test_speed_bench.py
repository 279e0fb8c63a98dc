"""Speed at up to 100,000 chunks, compared with the raw libraries and LlamaIndex; written to docs/benchmarks.md."""

from pathlib import Path

import pytest
from benchmarking.corpus import read_source
from benchmarking.data import BENCH_SETTINGS, EACH, MANY, cache_folder
from benchmarking.page import page, ratios
from benchmarking.run import SpeedBench
from elt_llm_core.models.factory import create_embedding

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
SIZES = {5_000: 200, 20_000: 100, 100_000: 40}  # number of chunks: number of questions to LlamaIndex, which is slow
QUESTIONS = 500
LARGEST = max(SIZES)


@pytest.mark.bench
def test_retrieval_is_about_as_fast_as_its_components_and_faster_than_llama_index(datasets: Path) -> None:
    model, cache = create_embedding(BENCH_SETTINGS), cache_folder()
    bench = SpeedBench(read_source(datasets, model, cache), model, cache, questions=QUESTIONS)
    for size, stock_questions in SIZES.items():
        bench.one_collection(size, stock_questions=stock_questions)
    bench.threads(LARGEST)
    bench.many_collections(MANY, EACH)
    bench.own_process(LARGEST, "embedded")
    PAGE.write_text(page(bench.measured), encoding="utf-8")
    print("\n" + "\n".join(f"{ratio:8.2f}  {sentence}" for sentence, ratio in ratios(bench.measured).items()))  # noqa: T201
    assert all(not one.errors and not one.mixed for one in bench.measured.threads), bench.measured.threads
