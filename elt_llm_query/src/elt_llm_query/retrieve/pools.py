"""Open collections, retrieve from them, and pool the candidates for one query variant.

Several collections are searched concurrently, with one question vector per embedding model. Which scores may be
compared across collections:

- Cosines of one embedding fingerprint may be compared. They are scaled together, by min-max over the candidates of all
  collections.
- Cosines of different embedding models may not be compared. The candidates of each model are scaled separately.
- BM25 scores may not be compared, because the weight of a word depends on its index. Each score is divided by the
  greatest score that the question could attain in the collection: the sum of the weights of its words. A word that the
  collection lacks has the greatest weight. So a chunk with one of ten words has a low share, even if it is
  the best chunk of its collection. The greatest share is then scaled to 1; for one collection this equals BM25 divided
  by the greatest BM25.
- Fused ranks are compared without scaling: the first chunks of two collections count as equally good.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from elt_llm_core.errors import FingerprintMismatch, RetrievalError
from elt_llm_core.index.searchable import AllowedChunks, Ranking, Searchable
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.settings.tree import QuerySettings
from elt_llm_core.store.records import StoredNode
from numpy.typing import NDArray

from elt_llm_query.retrieve.filters import FilteredQueryBundle
from elt_llm_query.retrieve.fusion import HybridRetriever, NodeKey, RetrieverResults, SearchCandidate
from elt_llm_query.retrieve.query_variant import BOTH_RETRIEVERS, QueryVariant, RetrieverChoice, term_weights
from elt_llm_query.retrieve.retrievers import DenseRetriever, KeywordRetriever

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class OpenCollection:
    """A collection that is open for searches: its published generation (build), embedding model and retrievers."""

    generation: Searchable
    embedding: EmbeddingModel
    retriever: HybridRetriever

    @cached_property
    def name(self) -> str:
        """The name of the collection."""
        return self.generation.collection

    @cached_property
    def space(self) -> bytes:
        """A key for the embedding model. Cosines may be compared between collections whose keys are equal."""
        return self.embedding.fingerprint.key

    def is_foreign(self, language: str) -> bool:
        """Whether questions in `language` share almost no words with the texts, so that only meaning can match.

        False if the language is unknown ("").
        """
        return self.embedding.multilingual and language not in {"", self.generation.tokeniser.language}

    @property
    def only_english(self) -> bool:
        """Whether the texts are in English and the embedding model is not multilingual."""
        return not self.embedding.multilingual and self.generation.tokeniser.language in {"", "en"}

    @property
    def has_child_chunks(self) -> bool:
        """Whether small chunks are searched and the larger ones around them are read (`chunking.strategy`)."""
        return self.generation.passport.chunker.startswith("parent_child")

    @property
    def keywords_missing(self) -> bool:
        """Whether the collection has nodes but no keyword index."""
        return not self.generation.has_keywords and self.generation.size > 0


@dataclass(frozen=True)
class Pool:
    """The candidates of one collection, with the inputs from which a reranker computes missing scores.

    `vector` is the embedding of the question, or None if embedding failed.
    """

    collection: OpenCollection
    candidates: tuple[SearchCandidate, ...]
    vector: Vector | None
    variant: QueryVariant
    retrievers: RetrieverChoice = BOTH_RETRIEVERS

    @cached_property
    def uses_keywords(self) -> bool:
        """Whether keyword scores count: the strategy uses keywords, and the collection has a keyword index."""
        return self.retrievers.keyword and not self.collection.keywords_missing

    @cached_property
    def stems(self) -> list[str]:
        """The stems of the keywords in the language of the collection, repeated ones included."""
        return self.collection.generation.tokeniser.stems(self.variant.keywords)

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weight of each distinct stem of the keywords."""
        return term_weights(self.stems, self.collection.generation)

    @cached_property
    def attainable(self) -> float:
        """The greatest keyword score that the query could have in this collection, 0 or more."""
        return math.fsum(self.weights[stem] for stem in self.stems)


@dataclass(frozen=True)
class CollectionResults:
    """The hits in one collection and notes on failures. `worked` is true if at least one retriever succeeded."""

    collection: OpenCollection
    hits: RetrieverResults
    notes: tuple[str, ...]
    worked: bool


def open_collections(
    generations: Sequence[Searchable], embeddings: Sequence[EmbeddingModel], query: QuerySettings, executor: Executor
) -> tuple[OpenCollection, ...]:
    """Open every generation with its retrievers. Raises FingerprintMismatch if its embedding model is missing."""
    by_key = {model.fingerprint.key: model for model in embeddings}
    opened = []
    for generation in generations:
        fingerprint = generation.passport.fingerprint
        embedding = by_key.get(fingerprint.key)
        if embedding is None:
            in_use = ", ".join(str(model.fingerprint) for model in by_key.values()) or "none"
            raise FingerprintMismatch(
                f"Collection '{generation.collection}' was built with {fingerprint}; the embedding in use is {in_use}.",
                hint=f"Ingest collection '{generation.collection}' again with --rebuild, or set its embedding.",
            )
        retriever = HybridRetriever(
            generation.collection,
            DenseRetriever(generation, embedding, query.retriever_top_k),
            KeywordRetriever(generation, query.retriever_top_k),
            executor=executor,
            fusion=query.fusion,
            dense_weight=query.dense_weight,
        )
        opened.append(OpenCollection(generation, embedding, retriever))
    return tuple(opened)


def stored_nodes(
    candidates: Iterable[SearchCandidate], generations: Mapping[str, Searchable]
) -> dict[NodeKey, StoredNode]:
    """Return the stored node of each candidate, keyed by collection and node id. Each collection is queried once."""
    by_collection: dict[str, list[str]] = defaultdict(list)
    for one in candidates:
        by_collection[one.collection].append(one.node_id)
    return {
        (name, node.node_id): node
        for name, node_ids in by_collection.items()
        for node in generations[name].nodes(node_ids)
    }


def retrieve_from_collections(
    variant: QueryVariant,
    retrievers: RetrieverChoice,
    collections: Sequence[OpenCollection],
    vectors: Mapping[bytes, Vector],
    allowed: Sequence[AllowedChunks] | None = None,
    limits: Sequence[int] | None = None,
) -> list[CollectionResults]:
    """Search every collection with the chosen retrievers.

    Other threads search the large collections, while this thread searches the small collections one after the other.
    `allowed` lists the allowed chunks of each collection; by default, all are allowed. `limits` lists, per collection,
    the greatest number of hits from each retriever; by default, the retriever's own limit applies.
    Raises RetrievalError if every retriever of every collection failed.
    """
    pending = []
    for index, collection in enumerate(collections):
        vector = vectors.get(collection.space)
        bundle = FilteredQueryBundle(
            variant.keywords,
            names=variant.names,
            vector=vector,
            allowed=allowed[index] if allowed else None,
            limit=limits[index] if limits else None,
        )
        usable = RetrieverChoice(dense=retrievers.dense and vector is not None, keyword=retrievers.keyword)
        pending.append(collection.retriever.start(bundle, usable, in_thread=not collection.generation.answers_at_once))
    results = [
        _collection_results(collection, retrievers, started(), collection.space in vectors)
        for collection, started in zip(collections, pending, strict=True)
    ]
    if allowed:
        results = [_allowed_results(one, own) for one, own in zip(results, allowed, strict=True)]
    if results and not any(one.worked for one in results):
        raise RetrievalError(
            " ".join(note for one in results for note in one.notes),
            hint="Run: elt-llm verify, which names the damaged files and rebuilds them.",
        )
    return results


def _collection_results(
    collection: OpenCollection, chosen: RetrieverChoice, hits: RetrieverResults, embedded: bool
) -> CollectionResults:
    broken = {name: str(failure) for name, failure in hits.failures}
    if chosen.dense and not embedded:
        broken["dense"] = "the question could not be embedded"
    if chosen.keyword and collection.keywords_missing:
        broken["keyword"] = "it has no keyword index"
    used = {name for name, is_used in (("dense", chosen.dense), ("keyword", chosen.keyword)) if is_used}
    worked = bool(used - broken.keys())
    words = {"dense": ("Vector", "keywords"), "keyword": ("Keyword", "vectors")}
    notes = tuple(
        f"{words[name][0]} search of collection '{collection.name}' did not work ({reason})"
        + (f"; it was searched by {words[name][1]} only." if worked else ".")
        for name, reason in broken.items()
    )
    return CollectionResults(collection, hits, notes, worked)


def _allowed_results(results: CollectionResults, allowed: AllowedChunks) -> CollectionResults:
    """Remove the hits that the filter excludes, in case a retriever ignores the filter."""
    hits = results.hits
    found = [node_id for node_id, _ in (*hits.dense, *hits.keyword)]
    kept = results.collection.generation.allowed_among(found, allowed)

    def of_kept(ranking: Ranking) -> Ranking:
        return [hit for hit in ranking if hit[0] in kept]

    return replace(results, hits=replace(hits, dense=of_kept(hits.dense), keyword=of_kept(hits.keyword)))


def fuse_collections(
    variant: QueryVariant,
    retrievers: RetrieverChoice,
    results: Sequence[CollectionResults],
    vectors: Mapping[bytes, Vector],
) -> list[Pool]:
    """Fuse the hits of each collection into a pool. `retrievers` are those that the strategy uses."""
    return [
        Pool(
            one.collection,
            tuple(one.collection.retriever.fuse(one.hits, retrievers, variant.likeness)),
            vectors.get(one.collection.space),
            variant,
            retrievers,
        )
        for one in results
    ]


FEWEST_CANDIDATES = 8  # per retriever and collection: as many as the chunks in an answer prompt


def equal_shares(total: int, wanted: Sequence[int], least: int = 1, most: int | None = None) -> list[int]:
    """Divide `total` into one share for each number in `wanted`.

    No share exceeds the wanted number or `most`. No share is below `least`, unless less is wanted; `least` takes
    precedence over `total`. Unused amounts go to the other shares, and the first shares get the remainder.
    """
    limits = [count if most is None else min(count, max(least, most)) for count in wanted]
    shares = [min(limit, least) for limit in limits]
    left = total - sum(shares)
    hungry = [index for index, limit in enumerate(limits) if shares[index] < limit]
    while left > 0 and hungry:
        each = max(1, left // len(hungry))
        for index in hungry:
            added = min(each, left, limits[index] - shares[index])
            shares[index] += added
            left -= added
        hungry = [index for index in hungry if shares[index] < limits[index]]
    return shares


def retriever_budgets(findable: Sequence[int], query: QuerySettings) -> list[int]:
    """Return, for each collection, how many candidates each of its retrievers may return.

    `findable` has the number of allowed nodes in each collection.
    """
    most = query.retriever_top_k
    if len(findable) < 2:
        return [most] * len(findable)
    total = max(query.all_retrievers_top_k, most)
    return equal_shares(total, [min(one, most) for one in findable], least=FEWEST_CANDIDATES, most=most)


def cut_to_budget(pools: Sequence[Pool], query: QuerySettings) -> list[Pool]:
    """Keep only the best fused candidates of each pool, so that a reranker that calls a model is fast enough."""
    if len(pools) < 2:
        shares = [query.reranker_retrieve_k] * len(pools)
    else:
        sizes = [len(pool.candidates) for pool in pools]
        shares = equal_shares(
            query.reranker_retrieve_k, sizes, query.collection_budget_min, query.collection_budget_max
        )
    return [replace(pool, candidates=pool.candidates[:share]) for pool, share in zip(pools, shares, strict=True)]
