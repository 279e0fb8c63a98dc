"""Terms that a document's markup emphasises or defines are spans of its text; other spans are dropped."""

import pytest
from elt_llm_core.text.outline import MarkedTerms
from hypothesis import given
from hypothesis import strategies as st

JSON = st.recursive(st.none() | st.booleans() | st.integers(-5, 40) | st.text(max_size=3), st.lists, max_leaves=12)


def test_terms_marked_by_markup_are_read_back_from_json_unchanged() -> None:
    marked = MarkedTerms(((0, 4, 5, 9), (10, 12, 14, 20)), ((6, 8),), ((10, 12),))
    assert MarkedTerms.from_json(marked.to_json(), 20) == marked


@pytest.mark.parametrize("pair", [[0, 4, 5, 21], [-1, 4, 5, 9], [4, 0, 5, 9], [0, 0, 5, 9], [0, 4, 5], [0, 4, 5, True]])
def test_spans_of_marked_terms_outside_the_text_are_dropped(pair: list[int]) -> None:
    kept = [10, 12, 14, 20]
    assert MarkedTerms.from_json({"definitions": [pair, kept]}, 20).definitions == ((10, 12, 14, 20),)


@given(st.dictionaries(st.sampled_from(("definitions", "terms", "leading")), JSON) | JSON, st.integers(0, 30))
def test_spans_of_marked_terms_read_from_any_json_lie_within_the_text(value: object, length: int) -> None:
    marked = MarkedTerms.from_json(value, length)
    for span in (*marked.definitions, *marked.terms, *marked.leading):
        assert 0 <= span[0] < span[1] <= length
        assert list(span) == sorted(span)
    assert MarkedTerms.from_json(marked.to_json(), length) == marked


def test_cutting_a_text_keeps_the_marked_terms_within_the_remaining_span() -> None:
    marked = MarkedTerms(((0, 4, 5, 9), (10, 12, 14, 20)), ((6, 8), (11, 16)), ((10, 12),))
    assert marked.cut(10, 20) == MarkedTerms(((0, 2, 4, 10),), ((1, 6),), ((0, 2),))
    assert not marked.cut(12, 19)
