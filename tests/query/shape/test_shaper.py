"""Tests of each step of shaping over published collections, by the recorded trace."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import ChunkingSettings, EmbeddingSettings, LlmSettings, QuerySettings, Settings
from elt_llm_core.store.store import open_store
from elt_llm_ingest.pipeline import ingest
from elt_llm_ingest.sandbox.parser import DirectParser
from elt_llm_ingest.sources.request import IngestRequest
from elt_llm_query.engine import open_engine
from elt_llm_query.search import SearchPipeline, SearchResult
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from sampling import generated
from stored.folders import write_files
from stored.shelf import writing

MakeGeneration = Callable[..., Any]
Publish = Callable[[Mapping[str, Sequence[str]]], Any]
MAST = ["The mast is tall.", "The mast is painted white.", "The keel is of oak.", "The mast was made in Riga."]
QUAY = ["The mast crane stands on the quay.", "The quay is long."]
QUESTION = "mast"
SOURCES = {"mast.md": MAST, "quay.md": QUAY}
WORDS = st.lists(st.sampled_from(["mast", "keel", "oak", "sail", "white"]), min_size=1, max_size=4).map(" ".join)


def settings(max_context_tokens: int = 4000, **query: Any) -> Settings:
    return Settings(query=QuerySettings.model_validate(query), llm=LlmSettings(max_context_tokens=max_context_tokens))


def ask(generation: Any, way: Settings, question: str = QUESTION, top_k: int | None = None) -> SearchResult:
    with SearchPipeline([generation], [FakeEmbedding(256)], way) as pipeline:
        return pipeline.search(question, top_k=top_k)


def shaped(found: SearchResult) -> dict[str, Any]:
    return found.stages[-1].details


def texts(found: SearchResult) -> list[str]:
    return [chunk.text for chunk in found.chunks]


def test_with_default_settings_chunks_are_left_out_only_because_of_their_rank(publish_generation: Publish) -> None:
    found = ask(publish_generation(SOURCES), settings())
    assert set(texts(found)) == {*MAST, *QUAY}
    assert shaped(found).keys() == {
        "top_k",
        "min_relevance_score",
        "below min_relevance_score",
        "same text as another",
        "ranking",
    }
    assert found.notes == ()


def test_touching_chunks_are_merged_into_the_exact_text_of_the_document(publish_generation: Publish) -> None:
    generation = publish_generation(SOURCES)
    found = ask(generation, settings(merge_adjacent=True))
    assert sorted(texts(found)) == sorted(["\n".join(MAST), "\n".join(QUAY)])
    for chunk in found.chunks:
        assert generation.document(chunk.source_id).text[slice(*chunk.span)] == chunk.text
    merged = shaped(found)["merged with one it touches"]
    assert merged.keys() | {chunk.node_id for chunk in found.chunks} == set(generation.ids)
    assert sum(len(chunk.metadata["matches"]) for chunk in found.chunks) == 6


def test_the_sentences_around_a_chunk_are_read_together_with_the_chunk(publish_generation: Publish) -> None:
    generation = publish_generation(SOURCES)
    found = ask(generation, settings(widen_sentences=1, reranker_top_k=1), "keel oak")
    assert texts(found) == ["\n".join(MAST[1:])]
    [match] = found.chunks[0].metadata["matches"]
    document = generation.document(found.chunks[0].source_id).text
    assert document[slice(*match["span"])] == MAST[2]
    assert shaped(found)["read wider"] == {match["node_id"]: list(found.chunks[0].span)}


def test_max_per_source_limits_the_chunks_of_each_document(publish_generation: Publish) -> None:
    found = ask(publish_generation(SOURCES), settings(max_per_source=1))
    assert sorted(chunk.source for chunk in found.chunks) == ["mast.md", "quay.md"]
    assert len(shaped(found)["beyond max_per_source"]) == 4


def test_top_k_is_filled_with_lower_ranked_chunks_of_other_documents(publish_generation: Publish) -> None:
    many = {"mast.md": [f"The mast has number {number}." for number in range(20)], "quay.md": QUAY}
    found = ask(publish_generation(many), settings(max_per_source=1, reranker_top_k=2))
    assert sorted(chunk.source for chunk in found.chunks) == ["mast.md", "quay.md"]


def test_near_duplicate_chunks_are_read_once_without_computing_embeddings(make_generation: MakeGeneration) -> None:
    model = FakeEmbedding(256)
    generation = make_generation({"a": "the mast is tall", "b": "The mast is tall!", "c": "oak keel"}, "ship", model)
    embedded = model.texts_embedded
    with SearchPipeline([generation], [model], settings(near_duplicate_cosine=0.95)) as pipeline:
        found = pipeline.search(QUESTION)
    assert [chunk.node_id for chunk in found.chunks] == ["a", "c"]
    assert shaped(found)["nearly the same as another"] == {"b": "a"}
    assert model.texts_embedded == embedded
    assert len(ask(generation, settings()).chunks) == 3


def test_a_small_collection_is_read_whole_in_the_order_of_its_documents(publish_generation: Publish) -> None:
    generation = publish_generation(SOURCES)
    found = ask(generation, settings(full_context_max_chunks=6, reranker_top_k=1, retriever_top_k=1))
    assert texts(found) == [*MAST, *QUAY]
    assert shaped(found)["read whole"] == ["handbook"]
    assert len(ask(generation, settings(full_context_max_chunks=5, reranker_top_k=1)).chunks) == 1


def test_an_explicit_top_k_limits_small_collections_too(publish_generation: Publish) -> None:
    way = settings(full_context_max_chunks=6, max_context_tokens=100)
    assert len(ask(publish_generation(SOURCES), way, top_k=2).chunks) == 2


def test_all_chunks_of_a_small_collection_follow_the_best_chunks_of_a_large_collection(
    make_generation: MakeGeneration,
) -> None:
    small = make_generation({"s1": "The keel is of oak.", "s2": "The sail is white."}, "small")
    large = make_generation({f"l{number}": f"mast number {number}" for number in range(5)}, "large")
    way = settings(full_context_max_chunks=2, reranker_top_k=2)
    with SearchPipeline([small, large], [FakeEmbedding(256)], way) as pipeline:
        found = pipeline.search(QUESTION)
    assert [chunk.collection for chunk in found.chunks] == ["large", "large", "small", "small"]
    assert [chunk.node_id for chunk in found.chunks[2:]] == ["s1", "s2"]


def test_half_the_minimum_relevance_is_used_with_a_note_if_no_chunk_reaches_the_minimum(
    make_generation: MakeGeneration,
) -> None:
    generation = make_generation({"a": "the mast is tall", "b": "oak keel"})
    way: dict[str, Any] = {"use_reranker": False, "strategy": "dense"}
    scores = [chunk.score for chunk in ask(generation, settings(**way)).chunks]
    minimum = (scores[0] + 1) / 2
    lowered = ask(generation, settings(**way, min_relevance_score=minimum))
    assert [chunk.score for chunk in lowered.chunks] == [score for score in scores if score >= minimum / 2]
    assert any(f"{minimum / 2:g} or more were used" in note for note in lowered.notes)
    assert shaped(lowered)["lowered min_relevance_score"] == minimum / 2


def test_a_note_reports_that_no_chunk_reaches_half_the_minimum_relevance(make_generation: MakeGeneration) -> None:
    generation = make_generation({"a": "oak keel", "b": "white sail"})
    found = ask(generation, settings(use_reranker=False, strategy="dense", min_relevance_score=1.0), "zebra")
    assert found.chunks == ()
    assert any("or half of it" in note for note in found.notes)
    assert set(shaped(found)["below min_relevance_score"]) == {"a", "b"}


def test_chunks_beyond_the_token_budget_are_left_out_completely_and_recorded(make_generation: MakeGeneration) -> None:
    generation = make_generation({f"n{number}": "mast " * (40 - number) for number in range(5)})
    found = ask(generation, settings(max_context_tokens=100))
    assert [chunk.text for chunk in found.chunks] == [generation.stored[chunk.node_id].text for chunk in found.chunks]
    left_out = shaped(found)["beyond llm.max_context_tokens"]
    assert {chunk.node_id for chunk in found.chunks} | set(left_out) == set(generation.ids)
    assert len(found.chunks) == 2
    assert any(f"{len(left_out)} of 5 chunks were left out" in note for note in found.notes)


def test_the_parent_section_of_a_chunk_is_read_and_the_chunk_is_recorded_as_the_match(tmp_path: Path) -> None:
    body = " ".join(f"The mast has part {number} of oak." for number in range(12))
    folder = write_files(
        tmp_path / "in", {"mast.md": f"# Mast\n\n{body}\n", "quay.md": "# Quay\n\nThe quay is long.\n"}
    )
    model = FakeEmbedding(256)
    chunking = ChunkingSettings(strategy="parent_child", chunk_size=24, chunk_overlap=0, parent_size=400)
    configured = Settings(embedding=EmbeddingSettings(provider="fake"), chunking=chunking)
    with writing(tmp_path / "data", None) as store:
        ingest(IngestRequest("ship", (folder,)), configured, model, store, SilentListener(), DirectParser(), None)
    with open_store(tmp_path / "data") as store, open_generation(store, "ship", model.fingerprint) as generation:
        found = ask(generation, settings())
        children = ask(generation, settings(read_parents=False), top_k=50)
        with SearchPipeline([generation], [model], settings(reranker_top_k=50)) as pipeline:
            filtered = pipeline.search(QUESTION, where=["section=Mast"])
        document = generation.document("mast.md").text
    parent, *others = [chunk for chunk in found.chunks if chunk.source == "mast.md"]
    assert not others
    assert parent.text == document[slice(*parent.span)]
    assert body in parent.text
    matched = [document[slice(*match["span"])] for match in parent.metadata["matches"]]
    assert sorted(matched) == sorted(chunk.text for chunk in children.chunks if chunk.source == "mast.md")
    assert len(shaped(found)["same parent as another"]) == len(matched) - 1
    # A filter of chunks excludes their parents, so that no child may replace another.
    assert sorted(texts(filtered)) == sorted(matched)


def test_answers_from_widened_chunks_cite_exact_quotes(tmp_path: Path) -> None:
    lines = "\n\n".join(f"## Part {number}\n\nPart {number} is {number + 10} metres long." for number in range(9))
    folder = write_files(tmp_path / "in", {"parts.md": f"# Parts\n\n{lines}\n"})
    model = FakeEmbedding()
    configured = Settings(
        embedding=EmbeddingSettings(provider="fake"), chunking=ChunkingSettings(chunk_size=24, chunk_overlap=0)
    )
    with writing(tmp_path / "data", None) as store:
        ingest(IngestRequest("ship", (folder,)), configured, model, store, SilentListener(), DirectParser(), None)
    text = (folder / "parts.md").read_text(encoding="utf-8")
    for way in ({"merge_adjacent": True}, {"widen_sentences": 2}, {"full_context_max_chunks": 99}):
        changed = configured.model_copy(update={"query": QuerySettings.model_validate(way)})
        with open_engine(changed, tmp_path / "data", ["ship"], embedding=model) as engine:
            result = engine.ask("How long is part 7?")
        assert "17 metres" in result.answer, way
        assert result.citations[0].section == "Parts > Part 7"
        assert all(text[slice(*one.span)] == one.excerpt for one in result.citations)


@examples(max_examples=generated(15), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=10), st.booleans(), st.booleans(), st.integers(0, 1), st.integers(1, 4))
def test_every_chunk_is_read_or_recorded_as_left_out(
    make_generation: MakeGeneration, found_texts: list[str], near: bool, varied: bool, most: int, top_k: int
) -> None:
    generation = make_generation({f"n{number:02}": text for number, text in enumerate(found_texts)})
    way: dict[str, Any] = {"near_duplicate_cosine": 0.95 if near else 1.0, "use_mmr": varied, "max_per_source": most}
    found = ask(generation, settings(**way, reranker_top_k=top_k, min_relevance_score=0.2))
    assert len(found.chunks) <= top_k
    reasons = {key: value for key, value in shaped(found).items() if isinstance(value, list | dict)}
    del reasons["ranking"]
    named = [node_id for value in reasons.values() for node_id in value]
    kept = [chunk.node_id for chunk in found.chunks]
    assert sorted([*kept, *named]) == sorted(node_id for node_id, _ in found.stages[-2].details["ranking"])
