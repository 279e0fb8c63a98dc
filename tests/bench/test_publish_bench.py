"""The time to publish 200 changed chunks in collections of several sizes, and how it grows with the unchanged ones."""

from pathlib import Path

import numpy as np
import pytest
from benchmarking.corpus import PASSAGES_A_FILE, read_source
from benchmarking.data import BENCH_SETTINGS, cache_folder
from benchmarking.growth import GrowingLibrary
from elt_llm_core.models.factory import create_embedding
from stored.shelf import writing

MOST_SECONDS = {5_000: 1.0, 20_000: 1.0, 100_000: 2.5}
CHANGED = 200
REPEATS = 3
MOST_CHANGED = 0.1  # share of changed chunks above which a publish builds a fresh index; a replaced chunk counts twice


@pytest.mark.bench
def test_publishing_200_changed_chunks_takes_about_as_long_in_a_large_collection_as_in_a_small_one(
    datasets: Path, tmp_path: Path
) -> None:
    model = create_embedding(BENCH_SETTINGS)
    source = read_source(datasets, model, cache_folder())
    best: dict[int, float] = {}
    for size in MOST_SECONDS:
        with writing(tmp_path / str(size)) as store:
            library = GrowingLibrary(store, "bench", source, model)
            versions = library.add(range(size // PASSAGES_A_FILE), first=0)
            published, clock = library.publish(versions)
            print(f"\n{size} chunks, all new: {clock}")  # noqa: T201
            taken = []
            for repeat in range(min(REPEATS, int(size * MOST_CHANGED / (2 * CHANGED)))):
                files = range(repeat * CHANGED // PASSAGES_A_FILE, (repeat + 1) * CHANGED // PASSAGES_A_FILE)
                changed = library.add(files, first=2_000_000 + repeat * CHANGED)
                versions[files.start : files.stop] = changed
                published, clock = library.publish(sorted(versions))
                assert (published.nodes, published.afresh) == (size, False)
                taken.append(sum(clock.wall.values()))
                print(f"{size} chunks, {CHANGED} changed: {clock}")  # noqa: T201
            best[size] = min(taken)
    sizes, seconds = np.array(list(best)), np.array(list(best.values()))
    slope, fixed = np.polyfit(sizes - CHANGED, seconds, 1)
    print(f"{fixed:.2f} s and {slope * 1e6:.1f} microseconds for each unchanged chunk")  # noqa: T201
    assert all(best[size] <= most for size, most in MOST_SECONDS.items()), best
