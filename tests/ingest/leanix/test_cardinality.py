"""Cardinalities are read from arrows and from labels."""

import pytest
from elt_llm_ingest.leanix.model import arrow_cardinality, cardinality_pair, label_cardinality
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("arrow", "cardinality"),
    [
        ("ERone", "1"),
        ("ERmandOne", "1"),
        ("ERmany", "*"),
        ("ERoneToMany", "1..*"),
        ("ERzeroToMany", "0..*"),
        ("ERzeroToOne", "0..1"),
        ("classic", ""),
        ("none", ""),
        ("", ""),
    ],
)
def test_each_arrow_style_is_read_as_its_cardinality(arrow: str, cardinality: str) -> None:
    assert arrow_cardinality(arrow) == cardinality


@pytest.mark.parametrize(
    ("label", "cardinality"),
    [
        ("1", "1"),
        ("1..1", "1"),
        ("(0..1)", "0..1"),
        ("0...1", "0..1"),
        ("[1..*]", "1..*"),
        ("1 .. n", "1..*"),
        ("N", "*"),
        ("*", "*"),
        ("0..n", "0..*"),
        ("0-n", "0..*"),
        ("Zero or many", "0..*"),
        ("holds", ""),
        ("2", ""),
        ("1:n", ""),
        ("", ""),
    ],
)
def test_each_cardinality_label_is_read_as_its_cardinality(label: str, cardinality: str) -> None:
    assert label_cardinality(label) == cardinality


@pytest.mark.parametrize(
    ("label", "pair"),
    [
        ("1:n", ("1", "*")),
        ("1 : 0..n", ("1", "0..*")),
        ("n:m", ("*", "*")),
        ("0..1:1..*", ("0..1", "1..*")),
        ("1-n", ("1", "*")),
        ("1\u2013n", ("1", "*")),
        ("one to many", ("1", "*")),
        ("one to one or many", ("1", "1..*")),
        ("leads to", None),
        ("1:2", None),
        ("10:30", None),
        ("n", None),
    ],
)
def test_one_label_may_contain_the_cardinalities_of_both_ends_of_a_line(
    label: str, pair: tuple[str, str] | None
) -> None:
    assert cardinality_pair(label) == pair


@given(st.text(alphabet="01nm*.:- to", max_size=40))
def test_no_label_is_read_both_as_one_cardinality_and_as_a_pair_of_cardinalities(label: str) -> None:
    assert not (label_cardinality(label) and cardinality_pair(label))
