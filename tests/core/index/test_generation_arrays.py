"""Exact search gives the results of a simple implementation that sorts all cosines."""

from pathlib import Path

import numpy as np
import pytest
from elt_llm_core.errors import CorruptIndex
from elt_llm_core.index.contents import (
    GenerationArrays,
    GenerationChange,
    GenerationContents,
    read_arrays,
    recall,
    top_positions,
    write_arrays,
)
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

SCORES = npst.arrays(np.float32, st.integers(0, 40), elements=st.sampled_from([0.0, -1.0, 0.5, 0.25, 1.0, 3.0]))


def _arrays(count: int, dimension: int = 8, seed: int = 0) -> GenerationArrays:
    vectors = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    ids = np.array([f"{number:036d}".encode() for number in range(count)], dtype="S36")
    return GenerationArrays(ids, vectors, {"page": np.arange(count, dtype=np.int64)})


@given(SCORES, st.integers(-1, 50))
def test_the_positions_of_the_highest_scores_equal_those_of_a_stable_sort(scores: np.ndarray, top_k: int) -> None:
    expected = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[: max(top_k, 0)]
    assert top_positions(scores, top_k).tolist() == expected


@given(st.integers(1, 20), st.data())
def test_each_missed_neighbour_lowers_the_recall_by_the_same_amount_whatever_its_rank(
    count: int, data: st.DataObject
) -> None:
    cosines = np.linspace(1, 0, count + 20, dtype=np.float32)
    missed = data.draw(st.sets(st.integers(0, count - 1)))
    found = np.delete(cosines[: count + len(missed)], sorted(missed))
    assert recall(found[::-1], cosines[:count]) == pytest.approx(1 - len(missed) / count)


def test_a_result_tied_with_the_last_nearest_neighbour_counts_as_found() -> None:
    assert recall(np.array([0.9, 0.5], dtype=np.float32), np.array([0.9, 0.5], dtype=np.float32)) == 1
    assert recall(np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.float32)) == 1


@given(st.integers(0, 60), st.integers(0, 70), st.integers(0, 1000))
def test_exact_search_gives_the_same_order_as_sorting_all_cosines(count: int, top_k: int, seed: int) -> None:
    arrays = _arrays(count, seed=seed)
    question = np.random.default_rng(seed + 1).normal(size=8).astype(np.float32)
    cosines = arrays.vectors @ question
    expected = sorted(range(count), key=lambda place: (-cosines[place], place))[:top_k]
    places, found = arrays.exact_search(question, top_k)
    assert places.tolist() == expected
    assert np.allclose(found, cosines[expected])


@given(st.integers(1, 50), st.data())
def test_looking_up_the_ids_at_positions_and_then_the_positions_of_these_ids_gives_the_same_positions(
    count: int, data: st.DataObject
) -> None:
    arrays = _arrays(count)
    wanted = data.draw(st.lists(st.integers(0, count - 1)))
    assert arrays.positions(arrays.ids_at(np.array(wanted, dtype=np.int64))).tolist() == wanted


@pytest.mark.parametrize("unknown", ["0" * 35 + "x", "", "z" * 36, "0" * 36 + "more", "é"])
def test_the_position_of_an_unknown_id_raises_corrupt_index(unknown: str) -> None:
    with pytest.raises(CorruptIndex):
        _arrays(3).positions([unknown])
    with pytest.raises(CorruptIndex):
        _arrays(0).positions([unknown])


def test_generation_arrays_are_read_back_unchanged_and_vectors_are_memory_mapped(tmp_path: Path) -> None:
    arrays = _arrays(20)
    write_arrays(tmp_path, arrays)
    back = read_arrays(tmp_path)
    assert np.array_equal(back.ids, arrays.ids)
    assert np.array_equal(back.vectors, arrays.vectors)
    assert np.array_equal(back.fields["page"], arrays.fields["page"])
    assert isinstance(back.vectors, np.ndarray)
    assert isinstance(back.vectors.base, np.memmap)


def test_empty_generation_arrays_are_read_back_unchanged(tmp_path: Path) -> None:
    write_arrays(tmp_path, _arrays(0))
    back = read_arrays(tmp_path)
    assert back.vectors.shape == (0, 8)
    assert back.exact_search(np.ones(8, dtype=np.float32), 5)[0].tolist() == []


def test_generation_arrays_of_different_lengths_are_refused(tmp_path: Path) -> None:
    write_arrays(tmp_path, _arrays(20))
    (tmp_path / "vectors.npy").unlink()
    np.save(tmp_path / "vectors.npy", _arrays(19).vectors)
    with pytest.raises(CorruptIndex, match="different lengths"):
        read_arrays(tmp_path)


def test_pickled_arrays_are_never_loaded(tmp_path: Path) -> None:
    write_arrays(tmp_path, _arrays(2))
    np.save(tmp_path / "ids.npy", np.array([{"an": "object"}], dtype=object), allow_pickle=True)
    with pytest.raises(CorruptIndex, match=r"ids\.npy"):
        read_arrays(tmp_path)


def test_applying_a_change_that_removes_the_first_node_keeps_the_other_nodes_in_order() -> None:
    nothing = GenerationContents((), (), np.zeros((0, 1), dtype=np.float32))
    moved, none = np.array([-1, 0, 1, -1, 2]), np.zeros(0, dtype=np.int64)
    change = GenerationChange((1, 2), (2,), moved, (), nothing, none, np.array([b"b", b"c", b"e"]))
    assert change.applied(np.array([10, 11, 12, 13, 14]), none).tolist() == [11, 12, 14]
