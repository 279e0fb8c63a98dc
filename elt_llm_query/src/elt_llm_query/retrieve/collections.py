"""Several collections asked together: their legs concurrently, one question vector per embedding model.

What may be compared across collections, and what may not:

- Cosines may, between collections of one embedding fingerprint. They are scaled together (min-max over the
  candidates of all of them), so the better passage wins whatever collection holds it.
- Cosines of different embedding models may not: each model's candidates are scaled on their own.
- BM25 scores may not: the weight of a word depends on the index it was counted in. Each is taken as a share of
  what the question could attain in its collection, the sum of its words' weights there, a word that the collection
  lacks weighing as its rarest would. So the best hit of a collection that knows one word of ten stays a weak one,
  which dividing by each collection's best score would hide. The greatest share is then set to 1, which for one
  collection is BM25 / greatest BM25.
- Fused ranks are compared as they are: the first of each collection is as good as the first of another.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from elt_llm_core.errors import EltError, FingerprintMismatch, RetrievalError
from elt_llm_core.index.vector_indexes import EXACT_BELOW
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.settings import QuerySettings
from numpy.typing import NDArray

from elt_llm_query.retrieve.candidates import Candidate, Ranking
from elt_llm_query.retrieve.dense import DenseRetriever
from elt_llm_query.retrieve.fusion import HybridRetriever, Legs
from elt_llm_query.retrieve.keyword import KeywordRetriever
from elt_llm_query.retrieve.masks import Mask, MaskedBundle
from elt_llm_query.retrieve.searchable import Searchable
from elt_llm_query.retrieve.wording import BOTH, LegChoice, OtherNames, Wording

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class OpenCollection:
    """One generation with its embedding model and its legs, built once and asked often."""

    generation: Searchable
    embedding: EmbeddingModel
    retriever: HybridRetriever

    @cached_property
    def name(self) -> str:
        """Name of the collection."""
        return self.generation.collection

    @cached_property
    def space(self) -> bytes:
        """Equal for collections whose cosines may be compared."""
        return self.embedding.fingerprint.key

    @property
    def is_small(self) -> bool:
        """Asking it takes less time than handing it to another thread."""
        return len(self.generation.ids) < EXACT_BELOW

    @property
    def keywords_missing(self) -> bool:
        """There are nodes, but no index of their words."""
        return self.generation.keyword.bm25 is None and len(self.generation.ids) > 0


@dataclass(frozen=True)
class Pool:
    """The candidates of one collection, with what a reranker needs to complete their scores.

    `vector` is that of the question, None if it could not be embedded; `keywords` is what the keyword leg was asked,
    `names` the other names of what they name.
    """

    collection: OpenCollection
    candidates: tuple[Candidate, ...]
    vector: Vector | None
    keywords: str
    legs: LegChoice = BOTH
    names: tuple[OtherNames, ...] = ()

    @property
    def weighs_keywords(self) -> bool:
        """The keyword leg was asked, so keyword scores have a say."""
        return self.legs.keyword and not self.collection.keywords_missing

    @cached_property
    def attainable(self) -> float:
        """The greatest that a keyword score of what was asked could be here; 0 or more."""
        from elt_llm_query.rerank.scaling import attainable  # which is about pools itself

        return attainable(self.keywords, self.collection.generation)


@dataclass(frozen=True)
class Answered:
    """What the legs of one collection brought, and what has to be told about it."""

    collection: OpenCollection
    legs: Legs
    notes: tuple[str, ...]
    worked: bool


def open_collections(
    generations: Sequence[Searchable],
    embeddings: Sequence[EmbeddingModel],
    query: QuerySettings,
    executor: Executor,
) -> tuple[OpenCollection, ...]:
    """Build both legs of every generation. Raises FingerprintMismatch if no model given made its vectors."""
    by_key = {model.fingerprint.key: model for model in embeddings}
    return tuple(
        _open_collection(generation, _model_of(generation, by_key), query, executor) for generation in generations
    )


def _model_of(generation: Searchable, by_key: Mapping[bytes, EmbeddingModel]) -> EmbeddingModel:
    wanted = generation.passport.fingerprint
    model = by_key.get(wanted.key)
    if model is None:
        given = ", ".join(str(other.fingerprint) for other in by_key.values()) or "none"
        raise FingerprintMismatch(
            f"Collection '{generation.collection}' was built with {wanted}; the embedding in use is {given}.",
            hint=f"Ingest collection '{generation.collection}' again with --rebuild, or set its embedding.",
        )
    return model


def _open_collection(
    generation: Searchable, embedding: EmbeddingModel, query: QuerySettings, executor: Executor
) -> OpenCollection:
    retriever = HybridRetriever(
        generation.collection,
        DenseRetriever(generation, embedding, query.leg_top_k),
        KeywordRetriever(generation, query.leg_top_k),
        executor=executor,
        fusion=query.fusion,
        dense_weight=query.dense_weight,
    )
    return OpenCollection(generation, embedding, retriever)


def _embed(embedding: EmbeddingModel, question: str) -> Vector:
    return embedding.embed_question(question)


def embed_question(
    question: str, collections: Sequence[OpenCollection], embed: Callable[[EmbeddingModel, str], Vector] = _embed
) -> tuple[dict[bytes, Vector], list[EltError]]:
    """The question's vector for each embedding model in use, asked for once; models that fail are left out."""
    vectors: dict[bytes, Vector] = {}
    failures: list[EltError] = []
    for space, embedding in {collection.space: collection.embedding for collection in collections}.items():
        try:
            vectors[space] = embed(embedding, question)
        except EltError as failure:
            failures.append(failure)
    return vectors, failures


def ask_collections(
    wording: Wording,
    legs: LegChoice,
    collections: Sequence[OpenCollection],
    vectors: Mapping[bytes, Vector],
    masks: Sequence[Mask] | None = None,
    most: Sequence[int] | None = None,
) -> list[Answered]:
    """The chosen legs of every collection. Raises RetrievalError if no leg of any worked.

    Large collections are asked at the same time, small ones meanwhile one after the other by the thread that waits for
    them: to hand one over takes longer than to ask it. `masks`, one per collection, of shape (nodes,), say which nodes
    may be found; `most`, how many hits a leg brings; unset: all, and as many as the legs are made for.
    """
    pending = []
    for place, collection in enumerate(collections):
        vector = vectors.get(collection.space)
        bundle = MaskedBundle(
            wording.keywords,
            names=wording.names,
            vector=vector,
            mask=masks[place] if masks else None,
            most=most[place] if most else None,
        )
        asked = LegChoice(dense=legs.dense and vector is not None, keyword=legs.keyword)
        pending.append(collection.retriever.ask(bundle, asked, at_once=not collection.is_small))
    answered = [
        _judge(collection, legs, collection.retriever.collect(brought), collection.space in vectors)
        for collection, brought in zip(collections, pending, strict=True)
    ]
    if masks:
        answered = [_allowed(one, mask) for one, mask in zip(answered, masks, strict=True)]
    if answered and not any(one.worked for one in answered):
        raise RetrievalError(
            " ".join(note for one in answered for note in one.notes),
            hint="Run: elt-llm verify, which names the damaged files and rebuilds them.",
        )
    return answered


def _judge(collection: OpenCollection, chosen: LegChoice, legs: Legs, embedded: bool) -> Answered:
    """Say what did not work, and what the collection was searched by instead."""
    broken = {name: str(failure) for name, failure in legs.failures}
    if chosen.dense and not embedded:
        broken["dense"] = "the question could not be embedded"
    if chosen.keyword and collection.keywords_missing:
        broken["keyword"] = "it has no keyword index"
    asked = {"dense"} if chosen.dense else set()
    asked |= {"keyword"} if chosen.keyword else set()
    worked = bool(asked - broken.keys())
    words = {"dense": ("Vector", "keywords"), "keyword": ("Keyword", "vectors")}
    notes = tuple(
        f"{words[name][0]} search of collection '{collection.name}' did not work ({reason})"
        + (f"; it was searched by {words[name][1]} only." if worked else ".")
        for name, reason in broken.items()
    )
    return Answered(collection, legs, notes, worked)


def _allowed(answered: Answered, mask: Mask) -> Answered:
    """The mask once more, so that a leg that does not heed it lets nothing through."""

    def kept(leg: Ranking) -> Ranking:
        allowed = mask[answered.collection.generation.positions([node_id for node_id, _ in leg])]
        return [hit for hit, is_allowed in zip(leg, allowed, strict=True) if is_allowed]

    legs = answered.legs
    return replace(answered, legs=replace(legs, dense=kept(legs.dense), keyword=kept(legs.keyword)))


def fuse_collections(
    wording: Wording, legs: LegChoice, answered: Sequence[Answered], vectors: Mapping[bytes, Vector]
) -> list[Pool]:
    """One pool of fused candidates per collection; `legs` are those that were to be asked."""
    return [
        Pool(
            one.collection,
            tuple(one.collection.retriever.fuse(one.legs, legs, wording.likeness)),
            vectors.get(one.collection.space),
            wording.keywords,
            legs,
            wording.names,
        )
        for one in answered
    ]
