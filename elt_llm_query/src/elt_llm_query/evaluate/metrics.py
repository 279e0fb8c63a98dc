"""Ranking metrics between 0 and 1, as trec_eval computes them.

`ranked` lists distinct document ids, best first. `grades` maps each relevant document to its grade, 1 or more.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial


def ndcg(ranked: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Discounted cumulative gain of the first `depth` ranks, divided by the gain of the ideal ranking.

    Gain is the grade itself (not 2^grade - 1), the discount log2(rank + 1); trec_eval's `ndcg_cut`.
    Source: Jarvelin and Kekalainen, "Cumulated Gain-Based Evaluation of IR Techniques", ACM TOIS 2002.
    """
    gained = _discounted([grades.get(document, 0) for document in ranked[:depth]])
    attainable = _discounted(sorted(grades.values(), reverse=True)[:depth])
    return gained / attainable if attainable > 0 else 0.0


def recall(ranked: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """The share of the relevant documents that are among the first `depth`; trec_eval's `recall`."""
    return len(grades.keys() & set(ranked[:depth])) / len(grades) if grades else 0.0


def reciprocal_rank(ranked: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """1 / rank of the first relevant document, or 0 if it is beyond `depth`; trec_eval's `recip_rank`, cut off."""
    return next((1.0 / rank for rank, document in enumerate(ranked[:depth], 1) if document in grades), 0.0)


def precision(ranked: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """Number of relevant documents among the first `depth`, divided by `depth`; trec_eval's `P`."""
    return len(grades.keys() & set(ranked[:depth])) / depth


def hit(ranked: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """1 if a relevant document is among the first `depth`, else 0; trec_eval's `success`."""
    return float(any(document in grades for document in ranked[:depth]))


def all_found(ranked: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Return 1 if every relevant document is among the first `depth`, else 0. An answer may need all of them."""
    return float(bool(grades) and grades.keys() <= set(ranked[:depth]))


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest of the values that is at least as large as `share` (0 to 1) of them (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


Measure = Callable[[Sequence[str], Mapping[str, int]], float]
MEASURES: Mapping[str, Measure] = {
    "ndcg@10": partial(ndcg, depth=10),
    "recall@10": partial(recall, depth=10),
    "recall@100": partial(recall, depth=100),
    "precision@1": partial(precision, depth=1),
    "precision@5": partial(precision, depth=5),
    "mrr@10": partial(reciprocal_rank, depth=10),
    "hit@10": partial(hit, depth=10),
    "all@10": partial(all_found, depth=10),
}


def measure_ranking(ranked: Sequence[str], grades: Mapping[str, int]) -> dict[str, float]:
    """Compute every metric for one ranking. The keys are the metrics' names in reports, such as `ndcg@10`."""
    return {name: measure(ranked, grades) for name, measure in MEASURES.items()}
