"""What `--where` may say, and what is told when it says something else."""

from dataclasses import dataclass
from typing import cast

import pytest
from elt_llm_core.errors import UsageError
from elt_llm_core.index.fields import Fields, single_valued
from elt_llm_query.filters import MOST_CONDITIONS, Condition, chosen_values, parse_conditions
from elt_llm_query.retrieve.masks import masks_of
from elt_llm_query.retrieve.searchable import Searchable
from hypothesis import given
from hypothesis import strategies as st

SECTIONS = single_valued("section", "path", ["Rules", "Rules > Cards", "Rules > Cards > Red", "Rules, old", None])
YEARS = single_valued("year", "number", [1999, 2020, 2020.5, 2021, None])
MOMENTS = single_valued("modified_at", "date", ["2024-03-01", "2024-03-01T10:30:00", "2024-03-02", "2024-04", None])


@dataclass
class Filterable:
    """As much of a generation as filters look at."""

    filter_fields: Fields
    collection: str = "handbook"
    ids: tuple[str, ...] = ("n1", "n2", "n3", "n4", "n5")


def _generation(*, complete: bool = True) -> Searchable:
    made = {field.name: (lambda field=field: field) for field in (SECTIONS, YEARS, MOMENTS)}
    kind = single_valued("kind", "text", ["table", "text", "text", None, None])
    fields = Fields({**made, "kind": lambda: kind} if complete else {"page": lambda: YEARS}, complete=complete)
    return cast(Searchable, Filterable(fields))


def _left(*where: str) -> list[str]:
    generation = _generation()
    [mask] = masks_of(parse_conditions(where), [generation]).masks
    return [node_id for node_id, kept in zip(generation.ids, mask.tolist(), strict=True) if kept]


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
def test_a_filter_is_a_field_an_operator_and_operands(text: str, condition: Condition) -> None:
    assert parse_conditions([text]) == (condition,)


@pytest.mark.parametrize(
    "text", ["", "year", "=2020", "year=", "topics in a,,b", 'topics in "a,b', "in", "x" * 3000 + "=1"]
)
def test_what_is_no_filter_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_conditions([text])
    assert "field=value" in caught.value.hint


def test_a_flood_of_filters_is_refused() -> None:
    with pytest.raises(UsageError, match="is the most"):
        parse_conditions(["year=2020"] * (MOST_CONDITIONS + 1))


@given(st.text(max_size=60))
def test_any_text_is_understood_or_refused(text: str) -> None:
    try:
        [condition] = parse_conditions([text])
        for field in (SECTIONS, YEARS, MOMENTS):
            chosen_values(field, condition)
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
def test_every_condition_has_to_hold(where: list[str], left: list[str]) -> None:
    assert _left(*where) == left


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("kind>=table", "'kind' is text, which does not compare"),
        ("year=many", "'year' is a number, and 'many' is none"),
        ("modified_at=yesterday", "'modified_at' is a date, and 'yesterday' is none"),
        ("modified_at=2024-02-31", "'2024-02-31' is none"),
        ("year>=2019..2021", "A range does not compare"),
    ],
)
def test_what_does_not_fit_the_type_of_a_field_is_refused(where: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        _left(where)


def test_a_field_that_is_not_there_is_refused_with_its_nearest() -> None:
    with pytest.raises(UsageError, match="There is no field 'yaer'") as caught:
        _left("yaer=2020")
    assert caught.value.hint.startswith("Nearest: year")


def test_a_generation_from_before_fields_says_how_to_rebuild_it() -> None:
    with pytest.raises(UsageError, match="published by an earlier version") as caught:
        masks_of(parse_conditions(["kind=table"]), [_generation(complete=False)])
    assert caught.value.hint == "Run: elt-llm ingest -c handbook --rebuild"
    assert masks_of(parse_conditions(["page=2020"]), [_generation(complete=False)]).masks[0].sum() == 1


def test_a_value_that_no_passage_has_is_told_with_the_nearest() -> None:
    limits = masks_of(parse_conditions(["kind=tables"]), [_generation()])
    assert limits.notes == (
        "No passage has a value that this names: kind = tables. Nearest: table.",
        "The filter leaves no passage: kind = tables.",
    )


def test_each_value_of_a_list_that_no_passage_has_is_told() -> None:
    limits = masks_of(parse_conditions(["kind in table,texts"]), [_generation()])
    assert limits.notes == ("No passage has a value that this names: kind in texts. Nearest: text.",)
    assert masks_of(parse_conditions(["kind in table,text"]), [_generation()]).notes == ()
