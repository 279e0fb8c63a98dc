from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from elt_llm_core.errors import FingerprintMismatch
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import QuerySettings, Settings
from elt_llm_query.rerank import create_reranker
from elt_llm_query.rerank.reranker import Reranker, blend_matches, divide_by_maximum, min_max
from elt_llm_query.search import SearchPipeline, SearchResult
from numpy.typing import NDArray
from pydantic import Field
from retrieval.searching import search_once

MakeGeneration = Callable[..., Any]
TEXTS = {
    "n1": "The referee shows a yellow card for unsporting behaviour.",
    "n2": "A yellow card is recorded by the secretary of the club.",
    "n3": "Annual leave is approved by the line manager.",
    "n4": "Fixtures are published in August by the secretary.",
    "n5": "Goalkeepers wear colours that differ from other players.",
}
QUESTION = "Who records a yellow card?"


class CountingEmbedding(FakeEmbedding):
    """An embedding model that counts its questions."""

    questions: list[str] = Field(default_factory=list)

    def __init__(self) -> None:
        super().__init__(256)

    def embed_question(self, text: str) -> NDArray[np.float32]:
        self.questions.append(text)
        return super().embed_question(text)


def settings(**query: Any) -> Settings:
    return Settings(query=QuerySettings.model_validate(query))


def ids(found: SearchResult) -> list[str]:
    return [chunk.node_id for chunk in found.chunks]


def test_the_chunk_with_the_answer_ranks_first(make_generation: MakeGeneration, embedding: FakeEmbedding) -> None:
    found = search_once(QUESTION, [make_generation(TEXTS)], embedding, settings())
    assert found.chunks[0].node_id == "n2"
    assert found.chunks[0].text == TEXTS["n2"]
    assert found.chunks[0].span == (0, len(TEXTS["n2"]))
    assert found.chunks[0].source == "n2.md"
    assert found.notes == ()


def test_scores_are_within_0_and_1_and_descend(make_generation: MakeGeneration, embedding: FakeEmbedding) -> None:
    for query in ({}, {"use_reranker": False}, {"strategy": "dense"}, {"strategy": "sparse", "use_reranker": False}):
        found = search_once(QUESTION, [make_generation(TEXTS)], embedding, settings(**query))
        scores = [chunk.score for chunk in found.chunks]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)


def test_every_stage_is_timed_and_traced_in_order(make_generation: MakeGeneration, embedding: FakeEmbedding) -> None:
    found = search_once(QUESTION, [make_generation(TEXTS)], embedding, settings())
    assert [stage.name for stage in found.stages] == ["understand", "embed", "retrieve", "fuse", "rerank", "shape"]
    assert all(stage.took_ms >= 0 for stage in found.stages)
    assert {node_id for node_id, _ in found.stages[2].details["collections"]["handbook"]["keyword"]} == {"n1", "n2"}


def test_the_final_order_of_chunks_follows_from_the_scores_in_the_trace(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    found = search_once(QUESTION, [make_generation(TEXTS)], embedding, settings(reranker_top_k=50))
    by_id = sorted(found.chunks, key=lambda chunk: chunk.node_id)
    keywords = divide_by_maximum([(chunk.keyword_score or 0) * (chunk.coverage or 0) for chunk in by_id])
    order = np.array([chunk.order or 0 for chunk in by_id])
    weight = next(stage.details["weight"] for stage in found.stages if stage.name == "rerank")
    scores = blend_matches(min_max([chunk.cosine or 0 for chunk in by_id]), keywords, order, weight)
    derived = [by_id[place].node_id for place in np.argsort(-scores, kind="stable")]
    assert derived == ids(found)
    assert {chunk.node_id: chunk.score for chunk in by_id} == pytest.approx(
        dict(zip([chunk.node_id for chunk in by_id], scores.tolist(), strict=True))
    )


def test_texts_are_fetched_for_at_most_a_few_chunks_beyond_the_returned_chunks(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    generation = make_generation({f"n{number}": f"yellow card number {number}" for number in range(40)})
    search_once("yellow card", [generation], embedding, settings(reranker_top_k=3))
    assert len(generation.fetched) == 6


def test_further_searches_build_no_reranker_and_embed_no_chunks(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    built: list[Reranker] = []

    def make_reranker(query: QuerySettings) -> Reranker:
        built.append(create_reranker(query))
        return built[-1]

    with SearchPipeline(
        [make_generation(TEXTS)], [embedding], settings(cache_size=0), make_reranker=make_reranker
    ) as pipeline:
        calls = embedding.calls
        first = pipeline.search(QUESTION)
        assert ids(pipeline.search(QUESTION)) == ids(first)
    assert len(built) == 1
    assert embedding.calls == calls


def test_many_threads_get_the_same_results_as_one(make_generation: MakeGeneration, embedding: FakeEmbedding) -> None:
    questions = [QUESTION, "annual leave", "fixtures in August", "colours of goalkeepers"] * 25
    with SearchPipeline([make_generation(TEXTS)], [embedding], settings(cache_size=0)) as pipeline:
        alone = [pipeline.search(question).chunks for question in questions]
        with ThreadPoolExecutor(4) as pool:
            together = [found.chunks for found in pool.map(pipeline.search, questions)]
    assert alone == together


def test_a_search_without_reranker_keeps_the_fused_order(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    found = search_once(QUESTION, [make_generation(TEXTS)], embedding, settings(use_reranker=False))
    fused = [chunk.fused_score or 0 for chunk in found.chunks]
    assert fused == sorted(fused, reverse=True)
    assert any("No reranker" in note for note in found.notes)


def test_a_search_with_hybrid_search_off_ignores_keywords(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    found = search_once(QUESTION, [make_generation(TEXTS)], embedding, settings(use_hybrid_search=False))
    cosines = [chunk.cosine or 0 for chunk in found.chunks]
    assert cosines == sorted(cosines, reverse=True)
    assert all(chunk.keyword_score is None for chunk in found.chunks)


def test_top_k_chunks_are_returned(make_generation: MakeGeneration, embedding: FakeEmbedding) -> None:
    generation = make_generation(TEXTS)
    assert len(search_once(QUESTION, [generation], embedding, settings(reranker_top_k=2)).chunks) == 2
    without = settings(use_reranker=False, similarity_top_k=3)
    assert len(search_once(QUESTION, [generation], embedding, without).chunks) == 3
    with SearchPipeline([generation], [embedding], settings()) as pipeline:
        assert len(pipeline.search(QUESTION, top_k=1).chunks) == 1


def test_chunks_below_the_minimum_relevance_are_dropped_and_recorded(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    found = search_once(QUESTION, [make_generation(TEXTS)], embedding, settings(min_relevance_score=0.5))
    assert all(chunk.score >= 0.5 for chunk in found.chunks)
    assert set(ids(found)) | set(found.stages[-1].details["below min_relevance_score"]) == set(TEXTS)


def test_chunks_with_equal_texts_are_returned_once_with_their_alternates(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    found = search_once(QUESTION, [make_generation(TEXTS | {"copy": TEXTS["n2"]})], embedding, settings())
    first = found.chunks[0]
    assert first.node_id == "copy"
    assert [place["source"] for place in first.metadata["alternates"]] == ["n2.md"]
    assert ids(found).count("n2") == 0
    assert found.stages[-1].details["same text as another"] == {"n2": "copy"}


def test_mmr_prefers_a_dissimilar_chunk_to_a_near_duplicate(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    texts = {"a": "yellow card shown", "b": "yellow card shown again", "c": "card index of the library"}
    plain = search_once("yellow card", [make_generation(texts)], embedding, settings(reranker_top_k=2))
    varied = settings(reranker_top_k=2, use_mmr=True, mmr_threshold=0.2)
    assert ids(plain) == ["a", "b"]
    assert ids(search_once("yellow card", [make_generation(texts)], embedding, varied)) == ["a", "c"]


def test_collections_are_merged_into_one_ranking(make_generation: MakeGeneration, embedding: FakeEmbedding) -> None:
    rules = make_generation({key: TEXTS[key] for key in ("n1", "n2")}, "rules")
    office = make_generation({key: TEXTS[key] for key in ("n3", "n4", "n5")}, "office")
    found = search_once(QUESTION, [office, rules], embedding, settings())
    assert ids(found)[0] == "n2"
    assert [chunk.collection for chunk in found.chunks[:2]] == ["rules", "rules"]
    assert [c.score for c in found.chunks] == sorted((c.score for c in found.chunks), reverse=True)


def test_a_question_is_embedded_once_for_all_collections_with_the_same_embedding_model(
    make_generation: MakeGeneration,
) -> None:
    model = CountingEmbedding()
    generations = [make_generation(TEXTS, name, model) for name in ("a", "b", "c")]
    search_once(QUESTION, generations, model, settings())
    assert model.questions == [QUESTION]


def test_collections_with_different_embedding_models_can_be_searched_together(make_generation: MakeGeneration) -> None:
    models = FakeEmbedding(256), FakeEmbedding(128, version="2")
    generations = [
        make_generation({f"{name}{key}": text for key, text in TEXTS.items()}, name, model)
        for name, model in zip("ab", models, strict=True)
    ]
    with SearchPipeline(generations, models, settings()) as pipeline:
        found = pipeline.search(QUESTION, top_k=2)
    assert ids(found) == ["an2", "an1"]
    assert found.chunks[0].metadata["alternates"][0]["node_id"] == "bn2"


def test_a_collection_without_its_embedding_model_is_refused(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    other = make_generation(TEXTS, "old", FakeEmbedding(64, version="7"))
    with pytest.raises(FingerprintMismatch, match="'old'"):
        search_once(QUESTION, [other], embedding, settings())


def test_a_search_result_includes_the_notes_of_its_generation(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    generation = make_generation(TEXTS)
    generation.notes = ("The vectors were searched exactly.",)
    assert "The vectors were searched exactly." in search_once(QUESTION, [generation], embedding, settings()).notes


def test_a_published_generation_is_searched_like_one_in_memory(
    publish_generation: Callable[[dict[str, Sequence[str]]], Any],
    make_generation: MakeGeneration,
    embedding: FakeEmbedding,
) -> None:
    published = publish_generation({"rules.md": [TEXTS["n1"], TEXTS["n2"]], "office.md": [TEXTS["n3"], TEXTS["n4"]]})
    held = make_generation({key: TEXTS[key] for key in ("n1", "n2", "n3", "n4")})
    on_disk = search_once(QUESTION, [published], embedding, settings())
    in_memory = search_once(QUESTION, [held], embedding, settings())
    assert [chunk.text for chunk in on_disk.chunks[:2]] == [chunk.text for chunk in in_memory.chunks[:2]]
    assert [c.score for c in on_disk.chunks] == pytest.approx([c.score for c in in_memory.chunks], abs=1e-5)
    assert on_disk.chunks[0].source == "rules.md"
    assert on_disk.notes == ()
