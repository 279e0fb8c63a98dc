"""Recompute the ranking from a printed trace by the formulas of docs/explain.md."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

Key = tuple[str, str]
Scores = dict[Key, float]
Trace = Mapping[str, Any]
RANK_CONSTANT = 60
ORDER_SHARE, CURVE = 0.8, 0.7


def stage(printed: Trace, name: str) -> dict[str, Any]:
    """Return the details of the only stage of that name."""
    [found] = [one["details"] for one in printed["trace"]["stages"] if one["name"] == name]
    return dict(found)


def best_first(scores: Scores) -> list[Key]:
    """Return the ids sorted by score, then by node id."""
    return sorted(scores, key=lambda key: (-scores[key], key[1]))


def reranked_scores(printed: Trace) -> Scores:
    """Return ((w C + (1 - w)(K + .8 O)) / (w + (1 - w) 1.8)) ^ .7 for every candidate, from its traced parts."""
    details = stage(printed, "rerank")
    parts = {(one["collection"], node_id): one for node_id, one in details["parts"]}
    collections = details["collections"]
    cosines, keywords = _stretched(parts, collections), _keyword_shares(parts, collections)
    scores = {}
    for key, one in parts.items():
        scale = collections[key[0]]
        own = scale.get("weight", details["weight"])
        weight = 0.0 if scale["embedding"] is None else 1.0 if scale["attainable"] is None else own
        words = keywords[key] + ORDER_SHARE * (one["order"] or 0.0)
        whole = weight + (1 - weight) * (1 + ORDER_SHARE)
        scores[key] = ((weight * cosines[key] + (1 - weight) * words) / whole) ** CURVE
    return scores


def _stretched(parts: Mapping[Key, Any], collections: Mapping[str, Any]) -> Scores:
    """Scale the cosines of one embedding model to 0..1; equal cosines become 1, missing cosines 0."""
    together: dict[str, list[Key]] = defaultdict(list)
    for key, one in parts.items():
        if one["cosine"] is not None:
            together[collections[key[0]]["embedding"]].append(key)
    stretched = dict.fromkeys(parts, 0.0)
    for keys in together.values():
        low, high = (extreme(parts[key]["cosine"] for key in keys) for extreme in (min, max))
        for key in keys:
            stretched[key] = (parts[key]["cosine"] - low) / (high - low) if high > low else 1.0
    return stretched


def _keyword_shares(parts: Mapping[Key, Any], collections: Mapping[str, Any]) -> Scores:
    """Return BM25 x coverage, divided by the largest; for several collections relative to the possible BM25."""
    several = len({collection for collection, _ in parts}) > 1
    shares = {}
    for key, one in parts.items():
        attainable = (collections[key[0]]["attainable"] or 1.0) if several else 1.0
        shares[key] = (one["keyword_score"] or 0.0) * (one["coverage"] or 0.0) / attainable
    greatest = max(shares.values(), default=0.0)
    return {key: share / greatest if greatest else 0.0 for key, share in shares.items()}


def fused_scores(printed: Trace) -> tuple[Scores, Scores]:
    """Return the sum of weight / (60 + rank) of every candidate, and its share of the highest possible sum."""
    legs = stage(printed, "retrieve")["collections"]
    weights = stage(printed, "fuse")["weights"] or {"dense": 1.0, "keyword": 1.0}
    fused: Scores = defaultdict(float)
    shares: Scores = {}
    for collection, rankings in legs.items():
        for name, ranking in rankings.items():
            for rank, (node_id, _) in enumerate(ranking, start=1):
                fused[collection, node_id] += weights[name] / (RANK_CONSTANT + rank)
        best = sum(weight for name, weight in weights.items() if rankings[name]) / (RANK_CONSTANT + 1)
        shares |= {key: min(1.0, score / best) for key, score in fused.items() if key[0] == collection}
    return dict(fused), shares


def selected_chunks(printed: Trace, scores: Scores) -> list[Key]:
    """Return the chunks to select: relevant, unique, at most top_k. Check the traced reasons for all others."""
    shape = stage(printed, "shape")
    ranking = best_first(scores)
    below = [key for key in ranking if scores[key] < shape["min_relevance_score"]]
    doubles: Mapping[str, str] = shape["same text as another"]
    left = [key for key in ranking if key not in below and key[1] not in _later(doubles, ranking)]
    assert [node_id for _, node_id in below] == shape["below min_relevance_score"]
    assert [node_id for _, node_id in left[shape["top_k"] :]] == shape.get("beyond top_k", [])
    return left[: shape["top_k"]]


def _later(doubles: Mapping[str, str], ranking: Sequence[Key]) -> set[str]:
    """Return the duplicates, and check that each ranks below the chunk that replaced it."""
    places = {node_id: place for place, (_, node_id) in enumerate(ranking)}
    assert all(places[one] > places[better] for one, better in doubles.items())
    return set(doubles)
