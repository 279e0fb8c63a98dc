"""A small version of the speed benchmark without data sets: it runs completely, and no time is checked."""

from pathlib import Path

import numpy as np
import pytest
from benchmarking.corpus import Source
from benchmarking.page import page, ratios
from benchmarking.run import SpeedBench
from elt_llm_core.models.fakes import FakeEmbedding
from stored.shelf import sentence

PASSAGES = 300


def _source(model: FakeEmbedding) -> Source:
    passages = [[sentence(6 * number + place) for place in range(6)] for number in range(PASSAGES)]
    vectors = model.embed_texts([" ".join(sentences[:3]) for sentences in passages])
    questions = [f"Which {' '.join(sentence(number).split()[2:5])}?" for number in range(12)]
    return Source(passages, np.asarray(vectors), questions)


@pytest.mark.sampled(1, "small benchmarks")
def test_the_speed_benchmark_measures_every_component_and_finds_no_answer_from_mixed_generations(
    tmp_path: Path,
) -> None:
    model = FakeEmbedding()
    bench = SpeedBench(_source(model), model, tmp_path, questions=12)
    bench.one_collection(500, stock_questions=3)
    bench.threads(500)
    bench.many_collections(3, 40)
    bench.own_process(500, "fake")
    measured = bench.measured
    assert all(not one.errors and not one.mixed for one in measured.threads), measured.threads
    assert len(measured.latencies[500]["ours"].milliseconds) == 12
    assert len(measured.latencies[500]["stock 2 %"].milliseconds) == 3
    assert all(told.anonymous_mb > 0 for told in measured.cold[500].values())
    written = page(measured)
    assert all(sentence in written for sentence in ratios(measured))
    assert "stand-in" in written
