"""The keyword index has the scores of bm25s and of LlamaIndex's retriever on the same tokens."""

import math
from pathlib import Path

import bm25s
import numpy as np
import pytest
from elt_llm_core.errors import CorruptIndex
from elt_llm_core.index.keyword_index import (
    KeywordIndex,
    TermCounts,
    build_keyword_index,
    keyword_index_of,
    read_keyword_index,
    read_term_counts,
    write_keyword_index,
)
from elt_llm_core.index.searchable import KeywordQuery
from elt_llm_core.text.stems import KeywordTokeniser
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.schema import BaseNode, TextNode
from llama_index.retrievers.bm25 import BM25Retriever
from sampling import generated
from stored.shelf import sentence

TOKENISER = KeywordTokeniser()
TEXTS = [sentence(number) for number in range(40)]
STEMS = [TOKENISER.stems(text) for text in TEXTS]


@pytest.mark.parametrize("question", ["anchor in the basin", "tide", "entry 7", "ferry ferry reef", "unheard words"])
def test_keyword_scores_equal_those_of_bm25s_for_the_same_tokens(question: str) -> None:
    reference = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    reference.index(STEMS, show_progress=False)
    stems = TOKENISER.stems(question)
    expected = reference.get_scores(stems) if any(stem in reference.vocab_dict for stem in stems) else np.zeros(40)
    assert np.allclose(build_keyword_index(STEMS, TOKENISER).scores(question), expected, atol=1e-6)


def test_the_keyword_ranking_equals_that_of_the_llama_index_bm25_retriever() -> None:
    index = build_keyword_index(STEMS, TOKENISER)
    nodes: list[BaseNode] = [TextNode(id_=str(number), text=" ".join(stems)) for number, stems in enumerate(STEMS)]
    retriever = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=5, skip_stemming=True, token_pattern=r"\S+")
    for question in ("anchor basin canal", "harbour island"):
        found = retriever.retrieve(" ".join(TOKENISER.stems(question)))
        scores = index.scores(question)
        assert np.allclose([float(item.score or 0) for item in found], np.sort(scores)[::-1][:5], atol=1e-5)
        assert np.allclose(
            [scores[int(item.node.node_id)] for item in found], [float(item.score or 0) for item in found], atol=1e-5
        )


class UnstemmedWords(KeywordTokeniser):
    """A tokeniser that uses every word as its own stem."""

    def stems(self, text: str) -> list[str]:
        """Return the words of the text as its stems."""
        return text.split()


WORDS = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=8), min_size=1, max_size=12)


@settings(max_examples=generated(20))
@given(WORDS, st.lists(st.sampled_from("abcdefgh"), max_size=4), st.data())
def test_the_keyword_scores_of_selected_nodes_equal_their_scores_among_all_nodes(
    nodes: list[list[str]], asked: list[str], data: st.DataObject
) -> None:
    index = build_keyword_index(nodes, UnstemmedWords())
    positions = np.array(data.draw(st.lists(st.integers(0, len(nodes) - 1), max_size=20)), dtype=np.int64)
    query = KeywordQuery(tuple(asked))
    assert index.scores_of(query, positions).tolist() == index.scores_of(query)[positions].tolist()


@settings(max_examples=generated(20))
@given(WORDS, st.sampled_from("abcdefgh"))
def test_keyword_scores_follow_the_published_bm25_formula(nodes: list[list[str]], word: str) -> None:
    index = build_keyword_index(nodes, TOKENISER)
    frequency = sum(word in node for node in nodes)
    average = sum(map(len, nodes)) / len(nodes)
    assert index.document_frequency(word) == frequency
    token_ids = index._token_ids([word])
    actual = index.bm25.get_scores_from_ids(token_ids) if index.bm25 and token_ids else np.zeros(len(nodes))
    for node, score in zip(nodes, actual, strict=True):
        rarity = math.log(1 + (len(nodes) - frequency + 0.5) / (frequency + 0.5))
        count = node.count(word)
        expected = rarity * count / (count + 1.5 * (0.25 + 0.75 * len(node) / average)) if count else 0.0
        assert score == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("stems", [[], [[]], [[], [], []]])
def test_a_keyword_index_without_words_gives_zero_scores_and_writes_no_files(
    tmp_path: Path, stems: list[list[str]]
) -> None:
    counts = TermCounts.of_stems(stems)
    write_keyword_index(tmp_path, keyword_index_of(counts, TOKENISER), counts)
    assert list(tmp_path.iterdir()) == []
    back = read_keyword_index(tmp_path, TOKENISER, len(stems))
    assert back.bm25 is None
    assert back.scores("anchor").tolist() == [0.0] * len(stems)
    assert back.document_frequency("anchor") == 0


def test_a_node_without_words_has_a_keyword_score_of_zero() -> None:
    index = build_keyword_index([["anchor"], [], ["reef"]], TOKENISER)
    assert index.scores("anchor")[0] > 0
    assert index.scores("anchor")[1:].tolist() == [0.0, 0.0]


def _scores(index: KeywordIndex) -> list[list[float]]:
    return [index.scores(question).tolist() for question in ("anchor", "tide reef", "nothing known", "entry 12")]


def test_a_keyword_index_gives_the_same_scores_on_disk_and_in_memory(tmp_path: Path) -> None:
    counts = TermCounts.of_stems(STEMS)
    index = keyword_index_of(counts, TOKENISER)
    write_keyword_index(tmp_path, index, counts)
    assert _scores(read_keyword_index(tmp_path, TOKENISER, 40)) == _scores(index)


def test_a_keyword_index_with_an_unexpected_number_of_nodes_is_refused(tmp_path: Path) -> None:
    counts = TermCounts.of_stems(STEMS)
    write_keyword_index(tmp_path, keyword_index_of(counts, TOKENISER), counts)
    with pytest.raises(CorruptIndex, match="40 nodes, but 41 were expected"):
        read_keyword_index(tmp_path, TOKENISER, 41)


def _arrays(counts: TermCounts) -> list[object]:
    arrays = (counts.starts, counts.nodes, counts.counts)
    return [list(counts.vocabulary), counts.size, *((array.dtype, array.tolist()) for array in arrays)]


@settings(max_examples=80)
@given(WORDS, st.data())
def test_updated_term_counts_equal_those_of_a_fresh_count(nodes: list[list[str]], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.booleans(), min_size=len(nodes), max_size=len(nodes)))
    left = [node for node, stays in zip(nodes, kept, strict=True) if stays]
    more = data.draw(st.lists(st.lists(st.sampled_from("abcdefgxyz"), max_size=300), max_size=4))
    places = sorted(data.draw(st.permutations(range(len(left) + len(more))))[: len(more)])
    added = dict(zip(places, more, strict=True))
    rest = iter(left)
    after = [added[place] if place in added else next(rest) for place in range(len(left) + len(more))]
    free = iter(sorted(set(range(len(after))) - set(places)))
    moved = np.array([next(free) if stays else -1 for stays in kept])
    changed = TermCounts.of_stems(nodes).with_changes(moved, added, len(after))
    assert _arrays(changed) == _arrays(TermCounts.of_stems(after))


@settings(max_examples=40)
@given(st.lists(st.lists(st.sampled_from("abcdefg"), max_size=40), min_size=1, max_size=12).filter(any))
def test_the_term_weights_of_the_keyword_index_equal_those_of_bm25s_bit_for_bit(nodes: list[list[str]]) -> None:
    counts = TermCounts.of_stems(nodes)
    reference = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    numbers = {stem: number for number, stem in enumerate(counts.vocabulary)}
    token_ids = [[numbers[stem] for stem in node] for node in nodes]
    reference.index((token_ids, numbers), create_empty_token=False, show_progress=False)
    for name, values in (("data", counts.weights()), ("indices", counts.nodes), ("indptr", counts.starts)):
        assert values.tobytes() == reference.scores[name].tobytes()


def test_term_counts_are_read_back_unchanged(tmp_path: Path) -> None:
    counts = TermCounts.of_stems([["reef"] * 300, ["anchor", "reef"], []])
    write_keyword_index(tmp_path, keyword_index_of(counts, TOKENISER), counts)
    back = read_term_counts(tmp_path, 3)
    assert back is not None
    assert _arrays(back) == _arrays(counts)
