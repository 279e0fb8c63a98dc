"""Tests of parsing `--where` conditions, and of the errors for invalid conditions."""

from dataclasses import dataclass
from typing import cast

import numpy as np
import pytest
from elt_llm_core.errors import UsageError
from elt_llm_core.index.contents import GenerationArrays
from elt_llm_core.index.fields import FilterFields, single_valued
from elt_llm_core.index.keyword_index import KeywordIndex
from elt_llm_core.index.local_index import LocalIndex
from elt_llm_core.index.searchable import FieldValues, Searchable
from elt_llm_core.index.vector_index import ExactVectorStore
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.retrieve.filters import (
    MOST_CONDITIONS,
    Condition,
    filter_limits,
    matching_values,
    parse_conditions,
)
from hypothesis import given
from hypothesis import strategies as st

SECTIONS = single_valued("section", "path", ["Rules", "Rules > Cards", "Rules > Cards > Red", "Rules, old", None])
YEARS = single_valued("year", "number", [1999, 2020, 2020.5, 2021, None])
MOMENTS = single_valued("modified_at", "date", ["2024-03-01", "2024-03-01T10:30:00", "2024-03-02", "2024-04", None])


@dataclass(eq=False)
class FilterableIndex(LocalIndex):
    """The part of a generation that filters use."""

    collection: str = "handbook"


def _generation(*, complete: bool = True) -> Searchable:
    made = {field.name: (lambda field=field: field) for field in (SECTIONS, YEARS, MOMENTS)}
    kind = single_valued("kind", "text", ["table", "text", "text", None, None])
    fields = FilterFields({**made, "kind": lambda: kind} if complete else {"page": lambda: YEARS}, complete=complete)
    arrays = GenerationArrays(np.array([b"n1", b"n2", b"n3", b"n4", b"n5"]), np.zeros((5, 1), dtype=np.float32), {})
    index = FilterableIndex(arrays, fields, KeywordIndex(None, KeywordTokeniser(), 5), ExactVectorStore(arrays))
    return cast(Searchable, index)


def _left(*where: str) -> list[str]:
    generation = _generation()
    [allowed] = filter_limits(parse_conditions(where), [generation]).allowed
    return sorted(generation.allowed_among(list(generation.every_id()), allowed))


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("year>=2020", Condition("year", ">=", ("2020",))),
        (" year  <=  2020 ", Condition("year", "<=", ("2020",))),
        ("kind!=table", Condition("kind", "!=", ("table",))),
        ("kind==table", Condition("kind", "=", ("table",))),
        ("section=A > B = C", Condition("section", "=", ("A > B = C",))),
        ('title="in, out"', Condition("title", "=", ("in, out",))),
        ("topics in a, b,c", Condition("topics", "in", ("a", "b", "c"))),
        ("topics NOT IN (a,b)", Condition("topics", "not in", ("a", "b"))),
        ('topics in "a, b",c', Condition("topics", "in", ("a, b", "c"))),
    ],
)
def test_a_filter_is_parsed_into_a_field_an_operator_and_operands(text: str, condition: Condition) -> None:
    assert parse_conditions([text]) == (condition,)


@pytest.mark.parametrize(
    "text", ["", "year", "=2020", "year=", "topics in a,,b", 'topics in "a,b', "in", "x" * 3000 + "=1"]
)
def test_invalid_filters_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_conditions([text])
    assert "field=value" in caught.value.hint


def test_too_many_filters_are_refused() -> None:
    with pytest.raises(UsageError, match="at most 50 are supported"):
        parse_conditions(["year=2020"] * (MOST_CONDITIONS + 1))


@given(st.text(max_size=60))
def test_any_filter_text_is_parsed_or_refused(text: str) -> None:
    try:
        [condition] = parse_conditions([text])
        for field in (SECTIONS, YEARS, MOMENTS):
            values = FieldValues(field.name, field.type, field.values, range(9), of_documents=False)
            matching_values(values, condition)
    except UsageError:
        return
    assert condition.operands


@pytest.mark.parametrize(
    ("where", "left"),
    [
        (["section=Rules"], ["n1", "n2", "n3"]),
        (["section=Rules > Cards"], ["n2", "n3"]),
        (["section!=Rules > Cards"], ["n1", "n4", "n5"]),
        (['section in Rules > Cards > Red,"Rules, old"'], ["n3", "n4"]),
        (["year>2020"], ["n3", "n4"]),
        (["year=2020..2021", "kind=text"], ["n2", "n3"]),
        (["type=text"], ["n2", "n3"]),
        (["modified_at=2024-03"], ["n1", "n2", "n3"]),
        (["modified_at=2024-03-01T10"], ["n2"]),
        (["modified_at>2024-03-01"], ["n3", "n4"]),
        (["modified_at<=2024-03-01"], ["n1", "n2"]),
        (["modified_at=2024-03-02..2024-04-29"], ["n3"]),
        (["modified_at=2024-03-02..2024"], ["n3", "n4"]),
        (["collection=handbook", "year=1999"], ["n1"]),
        (["collection!=handbook"], []),
    ],
)
def test_a_chunk_is_returned_only_if_it_fulfils_every_filter_condition(where: list[str], left: list[str]) -> None:
    assert _left(*where) == left


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("kind>=table", "'kind' is text, which cannot be compared"),
        ("year=many", "'year' is a number, and 'many' is not"),
        ("modified_at=yesterday", "'modified_at' is a date, and 'yesterday' is not"),
        ("modified_at=2024-02-31", "'2024-02-31' is not"),
        ("year>=2019..2021", "A range cannot be compared"),
    ],
)
def test_filter_operands_of_the_wrong_type_are_refused(where: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        _left(where)


def test_an_unknown_filter_field_is_refused_with_the_most_similar_name() -> None:
    with pytest.raises(UsageError, match="There is no field 'yaer'") as caught:
        _left("yaer=2020")
    assert caught.value.hint.startswith("Nearest: year")


def test_filtering_a_generation_without_filter_fields_is_refused_with_the_command_that_rebuilds_it() -> None:
    with pytest.raises(UsageError, match="published by an earlier version") as caught:
        filter_limits(parse_conditions(["kind=table"]), [_generation(complete=False)])
    assert caught.value.hint == "Run: elt-llm ingest -c handbook --rebuild"
    assert filter_limits(parse_conditions(["page=2020"]), [_generation(complete=False)]).allowed[0].count == 1


def test_a_note_reports_a_filter_value_that_no_chunk_has_and_the_most_similar_value() -> None:
    limits = filter_limits(parse_conditions(["kind=tables"]), [_generation()])
    assert limits.notes == (
        "No chunk has this value: kind = tables. Nearest: table.",
        "No chunk matches the filter: kind = tables.",
    )


def test_a_note_reports_each_listed_filter_value_that_no_chunk_has() -> None:
    limits = filter_limits(parse_conditions(["kind in table,texts"]), [_generation()])
    assert limits.notes == ("No chunk has this value: kind in texts. Nearest: text.",)
    assert filter_limits(parse_conditions(["kind in table,text"]), [_generation()]).notes == ()
