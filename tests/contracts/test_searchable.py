"""The contract of every index that searches can use: its results equal those of plain Python over all chunks."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from elt_llm_core.collection.lifecycle import generation_opener, open_generation
from elt_llm_core.errors import CorruptIndex
from elt_llm_core.index.searchable import (
    AllowedChunks,
    KeywordQuery,
    NamedInQuery,
    OtherName,
    Ranking,
    Searchable,
    ValueFilter,
)
from elt_llm_core.index.vector_index import VectorIndexPool
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.store import open_store
from optional import needs
from stored.points import PGVECTOR, QDRANT_FOLDER
from stored.shelf import COLLECTION, put, some_documents, writing

if TYPE_CHECKING:
    from stored.postgres import PostgresServer

DATABASES = {"qdrant": QDRANT_FOLDER, "pgvector": PGVECTOR}

DOCUMENTS = {**some_documents(12), "same-1.md": ["The tide is the same."], "same-2.md": ["The tide is the same."]}
MODEL = FakeEmbedding(64)
QUESTION = "Which vessel is at the quay at ebb, and which quay has a mast?"


@contextmanager
def published(place: Path | Workspace, documents: Mapping[str, Sequence[str]], kind: str) -> Iterator[Searchable]:
    """Publish documents and open their index with one of five implementations, such as "exact" or "qdrant"."""
    with writing(place) as store:
        put(store, documents, MODEL, index=DATABASES.get(kind))
    with ExitStack() as opened:
        store = opened.enter_context(open_store(place))
        if kind == "exact":  # small collections are searched exactly in an engine
            yield opened.enter_context(opened.enter_context(generation_opener(store))(COLLECTION))
        elif kind == "pooled":
            pool = opened.enter_context(VectorIndexPool(exact_below=0))
            yield opened.enter_context(open_generation(store, COLLECTION, indexes=pool))
        else:
            yield opened.enter_context(open_generation(store, COLLECTION))


@pytest.fixture(scope="module", params=["chroma", "exact", "pooled", "qdrant", "pgvector"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searchable]:
    if request.param == "qdrant":
        needs("qdrant_client")
    place: Path | Workspace = tmp_path_factory.mktemp("contract")
    if request.param == "pgvector":
        server: PostgresServer = request.getfixturevalue("postgres")
        place = server.workspace(tmp_path_factory.mktemp("shared"))
    with published(place, DOCUMENTS, request.param) as opened:
        assert opened.notes == ()
        yield opened


def every_id(index: Searchable) -> list[str]:
    return list(index.every_id())


def stems_of(index: Searchable) -> dict[str, list[str]]:
    ids = every_id(index)
    return dict(zip(ids, index.stems(ids), strict=True))


def allowed_files(index: Searchable, *paths: str) -> tuple[AllowedChunks, set[str]]:
    """The chunks of these files: as a selection to which the index limits a search, and as a set of ids."""
    field = index.field("source")
    assert field is not None
    codes = [field.codes[list(field.values).index(path)] for path in paths]
    nodes = index.nodes(every_id(index))
    return index.allow([ValueFilter(codes)]), {node.node_id for node in nodes if node.source in paths}


def cosines_of(index: Searchable, question: str = QUESTION) -> dict[str, float]:
    ids = every_id(index)
    return dict(zip(ids, (index.vectors(ids) @ MODEL.embed_question(question)).tolist(), strict=True))


def bm25_of(index: Searchable, stems: Sequence[str], factors: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return the BM25 score of every chunk, by the formula of Lucene."""
    chunks = {node_id: Counter(own) for node_id, own in stems_of(index).items()}
    mean = sum(own.total() for own in chunks.values()) / len(chunks)
    found = dict.fromkeys(chunks, 0.0)
    for stem in stems:
        frequency = sum(1 for own in chunks.values() if own[stem])
        rarity = math.log(1 + (len(chunks) - frequency + 0.5) / (frequency + 0.5))
        for node_id, own in chunks.items():
            norm = 1.5 * (0.25 + 0.75 * own.total() / mean)
            found[node_id] += (factors or {}).get(stem, 1.0) * rarity * own[stem] / (own[stem] + norm)
    return found


def assert_best(ranking: Ranking, scores: Mapping[str, float], top_k: int) -> None:
    """Check that a ranking has the best scores in order, and that equal scores are ordered by id."""
    assert ranking == sorted(ranking, key=lambda hit: (-hit[1], hit[0]))
    assert [score for _, score in ranking] == pytest.approx(sorted(scores.values(), reverse=True)[:top_k], abs=1e-5)
    assert [score for _, score in ranking] == pytest.approx([scores[node_id] for node_id, _ in ranking], abs=1e-5)
    assert len(dict(ranking)) == len(ranking)


def test_every_chunk_id_is_yielded_once_in_ascending_order(index: Searchable) -> None:
    ids = every_id(index)
    assert ids == sorted(set(ids))
    assert len(ids) == index.size == sum(map(len, DOCUMENTS.values())) - 1  # identical documents are indexed once
    assert [node.node_id for node in index.nodes(ids[::-1])] == ids[::-1]


def test_chunk_vectors_equal_the_embeddings_of_the_chunk_texts_in_the_requested_order(index: Searchable) -> None:
    ids = every_id(index)[::-3]
    texts = [node.text for node in index.nodes(ids)]
    assert index.vectors(ids) == pytest.approx(MODEL.embed_texts(texts), abs=1e-6)


@pytest.mark.parametrize("top_k", [0, 1, 7, 500])
def test_the_nearest_chunks_are_those_with_the_greatest_cosines(index: Searchable, top_k: int) -> None:
    assert_best(index.nearest(MODEL.embed_question(QUESTION), top_k), cosines_of(index), top_k)


@pytest.mark.parametrize("top_k", [0, 1, 7, 500])
def test_the_matching_chunks_are_those_with_the_greatest_bm25_scores_above_0(index: Searchable, top_k: int) -> None:
    stems = tuple(index.tokeniser.stems(QUESTION))
    assert len(set(stems)) < len(stems)  # a repeated stem counts as often as it occurs
    scores = {node_id: score for node_id, score in bm25_of(index, stems).items() if score}
    assert 7 < len(scores) < index.size
    assert_best(index.matching(KeywordQuery(stems), top_k), scores, top_k)


def test_the_factor_of_a_stem_in_a_query_multiplies_the_keyword_scores_of_the_stem(index: Searchable) -> None:
    stems, factors = ("quay", "tide", "ebb"), {"tide": 2.5, "ebb": 0.25}
    scores = {node_id: score for node_id, score in bm25_of(index, stems, factors).items() if score}
    query = KeywordQuery(stems, factors)
    assert_best(index.matching(query, 9), scores, 9)
    ids = list(scores)
    assert index.completed(ids, None, query).keyword == pytest.approx(list(scores.values()), abs=1e-5)


def test_a_chunk_with_every_word_of_an_alias_gets_the_higher_score_of_name_and_alias(index: Searchable) -> None:
    other = OtherName((("moor",), ("jetti",)), 0.8)
    query = KeywordQuery(("pier",), names=(NamedInQuery(("pier",), (other,)),))
    name, one, two = (bm25_of(index, [stem]) for stem in ("pier", "moor", "jetti"))
    expected = {
        node_id: own + max(0.0, 0.8 * (one[node_id] + two[node_id]) * bool(one[node_id] and two[node_id]) - own)
        for node_id, own in name.items()
    }
    gained = {node_id for node_id, score in expected.items() if score > name[node_id]}
    assert gained
    assert any(score for node_id, score in name.items() if node_id not in gained)
    assert index.completed(list(expected), None, query).keyword == pytest.approx(list(expected.values()), abs=1e-5)
    assert_best(index.matching(query, 500), {node_id: score for node_id, score in expected.items() if score}, 500)


def test_scores_computed_for_given_chunks_equal_those_of_full_rankings_in_the_given_order(index: Searchable) -> None:
    query, vector = KeywordQuery(tuple(index.tokeniser.stems(QUESTION))), MODEL.embed_question(QUESTION)
    ids = every_id(index)[::-2]
    found = index.completed(ids, vector, query)
    nearest, matching = dict(index.nearest(vector, 500)), dict(index.matching(query, 500))
    assert found.cosines == pytest.approx([nearest[node_id] for node_id in ids], abs=1e-5)
    assert found.keyword == pytest.approx([matching.get(node_id, 0.0) for node_id in ids], abs=1e-6)
    assert index.completed(ids, None, query).cosines is None
    assert index.completed(ids, vector, None).keyword is None


def test_a_search_returns_the_best_allowed_chunks_and_no_others(index: Searchable) -> None:
    allowed, ids = allowed_files(index, "page-003.md", "page-007.md", "same-1.md")
    assert allowed.count == len(ids) == 9
    assert index.allowed_among(every_id(index), allowed) == ids
    stems = tuple(index.tokeniser.stems(QUESTION))
    cosines = {node_id: score for node_id, score in cosines_of(index).items() if node_id in ids}
    scores = {node_id: score for node_id, score in bm25_of(index, stems).items() if score and node_id in ids}
    for top_k in (2, 500):
        assert_best(index.nearest(MODEL.embed_question(QUESTION), top_k, allowed), cosines, top_k)
        assert_best(index.matching(KeywordQuery(stems), top_k, allowed), scores, top_k)


def test_a_filter_admits_or_excludes_the_chunks_that_have_one_of_its_field_values(index: Searchable) -> None:
    for name in index.field_names:
        field = index.field(name)
        assert field is not None
        assert list(field.values) == sorted(set(field.values))
        assert len(field.codes) == len(field.values)
        all_of_them = index.allow([ValueFilter(field.codes)])
        assert all_of_them.count + index.allow([ValueFilter(field.codes, denies=True)]).count == index.size
    few, ids = allowed_files(index, "page-001.md", "page-002.md")
    source = index.field("source")
    assert source is not None
    codes = dict(zip(source.values, source.codes, strict=True))
    both = [ValueFilter([codes["page-001.md"], codes["page-002.md"]]), ValueFilter([codes["page-002.md"]], denies=True)]
    _, first = allowed_files(index, "page-001.md")
    assert index.allowed_among(sorted(ids), index.allow(both)) == first
    assert few.count == 2 * index.allow(both).count


def test_an_admitting_filter_without_codes_admits_nothing_and_an_excluding_one_excludes_nothing(
    index: Searchable,
) -> None:
    assert index.allow([ValueFilter(())]).count == 0
    assert index.allow([ValueFilter((), denies=True)]).count == index.allow([]).count == index.size
    assert index.nearest(MODEL.embed_question(QUESTION), 5, index.allow([ValueFilter(())])) == []


def test_the_values_of_two_filter_fields_never_have_the_same_code(index: Searchable) -> None:
    fields = [field for name in index.field_names if (field := index.field(name))]
    codes = [code for field in fields for code in field.codes]
    assert len(set(codes)) == len(codes)
    assert index.field("no such field") is None


def test_the_frequency_of_a_stem_is_the_number_of_chunks_that_contain_the_stem(index: Searchable) -> None:
    chunks = stems_of(index)
    stems = ["quay", "tide", "no such stem"]
    expected = {stem: sum(stem in own for own in chunks.values()) for stem in stems}
    assert dict(index.frequencies(stems)) == expected
    allowed, ids = allowed_files(index, "page-003.md", "page-007.md")
    expected = {stem: sum(stem in chunks[node_id] for node_id in ids) for stem in stems}
    assert dict(index.frequencies(stems, allowed)) == expected
    assert index.has_keywords


def test_the_first_chunks_that_contain_all_stems_are_returned_in_the_order_of_their_ids(index: Searchable) -> None:
    chunks = stems_of(index)
    having = [node_id for node_id, own in chunks.items() if {"entri", "quay"} <= set(own)]
    assert len(having) > 3
    assert index.having(["entri", "quay"], 500) == having
    assert index.having(["entri", "quay"], 2) == having[:2]
    assert index.having(["entri", "no such stem"], 5) == index.having([], 5) == []
    allowed, ids = allowed_files(index, "page-003.md", "page-007.md")
    assert index.having(["entri"], 500, allowed) == sorted(ids)


def test_the_stems_with_a_given_prefix_are_returned_in_order(index: Searchable) -> None:
    stems = {stem for own in stems_of(index).values() for stem in own}
    for prefix in ("q", "est", "estuari", "zz", ""):
        assert list(index.stems_beginning(prefix)) == sorted(stem for stem in stems if stem.startswith(prefix))


def test_unknown_chunk_ids_are_refused_or_give_empty_results(index: Searchable) -> None:
    with pytest.raises(CorruptIndex):
        index.vectors(["no such node"])
    with pytest.raises(CorruptIndex):
        index.completed(["no such node"], None, KeywordQuery(("tide",)))
    with pytest.raises(CorruptIndex):
        index.nodes(["no such node"])
    assert index.stems(["no such node"]) == [[]]
    assert (index.texts(["no such document"]), index.outlines(["no such document"])) == ({}, {})
    assert index.outdated(["no such document"]) == {}


def test_every_search_method_works_on_an_index_without_chunks(tmp_path: Path) -> None:
    with published(tmp_path, {"empty.md": []}, "chroma") as empty:
        assert (empty.size, every_id(empty), empty.has_keywords) == (0, [], False)
        assert empty.nearest(MODEL.embed_question(QUESTION), 5) == []
        assert empty.matching(KeywordQuery(("tide",)), 5) == []
        assert empty.having(["tide"], 5) == []
        assert empty.frequencies(["tide"]) == {"tide": 0}
        assert list(empty.stems_beginning("")) == []
        assert empty.allow([]).count == 0
        assert [document.source for document in empty.documents()] == ["empty.md"]


def test_many_threads_get_the_same_results_as_a_single_thread(index: Searchable) -> None:
    questions = [" ".join(texts).split(": ")[1] for texts in DOCUMENTS.values() if len(texts) > 1]

    def ask(question: str) -> tuple[Ranking, Ranking]:
        query = KeywordQuery(tuple(index.tokeniser.stems(question)))
        return index.nearest(MODEL.embed_question(question), 9), index.matching(query, 9)

    expected = [ask(question) for question in questions]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, questions * 5)) == expected * 5


def test_a_selection_of_allowed_chunks_that_another_index_made_is_refused(index: Searchable, tmp_path: Path) -> None:
    with published(tmp_path, some_documents(1), "chroma") as other, pytest.raises(TypeError, match="another index"):
        index.nearest(MODEL.embed_question(QUESTION), 5, other.allow([]))


def test_the_values_of_a_field_can_be_limited_to_those_of_allowed_chunks(index: Searchable) -> None:
    allowed, ids = allowed_files(index, "same-1.md")
    for name in index.field_names:
        every, own = index.field(name), index.field(name, allowed)
        assert every is not None
        assert own is not None
        assert (own.name, own.type, own.of_documents) == (every.name, every.type, every.of_documents)
        code_of = dict(zip(every.codes, every.values, strict=True))
        expected = [code for code in every.codes if index.allowed_among(list(ids), index.allow([ValueFilter([code])]))]
        assert list(own.codes) == expected
        assert list(own.values) == [code_of[code] for code in expected]
