"""Both retrievers with a filter return the same chunks as an oracle that checks every chunk."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from elt_llm_core.index.fields import FilterFields, many_valued, single_valued
from elt_llm_core.index.searchable import FieldValue
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import QuerySettings, Settings
from elt_llm_query.retrieve.filters import FilteredQueryBundle, filter_limits, parse_conditions
from elt_llm_query.retrieve.retrievers import DenseRetriever, KeywordRetriever
from elt_llm_query.search import SearchPipeline
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

MakeGeneration = Callable[..., Any]
Row = dict[str, list[FieldValue]]
WORDS = ["card", "leave", "quay", "mast"]
QUESTION = "card and quay"
DATES = ["2023", "2023-12", "2023-12-31", "2024-01", "2024-01-01", "2024-01-15", "2024-02", "2024-02-29"]
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "text": st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
            "kind": st.lists(st.sampled_from(["table", "text", "list"]), max_size=1),
            "topics": st.lists(st.sampled_from(["a", "b", "c"]), max_size=3, unique=True),
            "page": st.lists(st.integers(1, 6), max_size=1),
            "dates": st.lists(st.sampled_from(DATES), max_size=2, unique=True),
        }
    ),
    min_size=1,
    max_size=25,
)
CONDITIONS = st.one_of(
    st.tuples(st.just("kind"), st.sampled_from(["=", "!="]), st.sampled_from(["table", "list", "none"])),
    st.tuples(st.just("topics"), st.sampled_from([" in ", " not in ", "="]), st.sampled_from(["a", "b,c", "a,b,z"])),
    st.tuples(st.just("page"), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), st.integers(0, 7).map(str)),
    st.tuples(st.just("page"), st.sampled_from(["=", "!="]), st.sampled_from(["2..4", "5..1", "3..3"])),
    st.tuples(st.just("dates"), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), st.sampled_from(DATES)),
    st.tuples(st.just("dates"), st.just("="), st.tuples(*[st.sampled_from(DATES)] * 2).map("..".join)),
)
patient = hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def _days(date: str) -> tuple[str, str]:
    last = {"2024-01": "-31", "2024-02": "-29", "2023-12": "-31"}.get(date, "-12-31"[len(date) - 4 :])
    return date + "-01-01"[len(date) - 4 :], date + last


def _holds(value: FieldValue, operator: str, operand: str) -> bool:
    """Return whether a value fulfils the condition; `!=` counts as `=` and `not in` as `in`."""
    first, _, last = operand.partition("..")
    last = last or first
    if not isinstance(value, str):
        start, end, low, high = value, value, int(first), int(last)
        return _within(start, end, operator, (low, low), (high, high))
    if value[:2] == "20":
        begin_day, end_day = _days(value)
        return _within(begin_day, end_day, operator, _days(first), _days(last))
    return value in (operand.split(",") if "in" in operator else [operand])


def _within(start: Any, end: Any, operator: str, first: tuple[Any, Any], last: tuple[Any, Any]) -> bool:
    match operator:
        case "<":
            return bool(end < first[0])
        case "<=":
            return bool(end <= first[1])
        case ">":
            return bool(start > first[1])
        case ">=":
            return bool(start >= first[0])
        case _:
            return bool(first[0] <= start and end <= last[1])


def _allowed(row: Row, conditions: Sequence[tuple[str, str, str]]) -> bool:
    return all(
        any(_holds(value, operator, operand) for value in row[name]) is (operator not in ("!=", " not in "))
        for name, operator, operand in conditions
    )


def _fields(rows: Sequence[Any]) -> FilterFields:
    of_type = {"kind": "text", "topics": "text", "page": "number", "dates": "date"}
    made = [many_valued(name, kind, [row[name] for row in rows]) for name, kind in of_type.items()]  # type: ignore[arg-type]
    return FilterFields({field.name: lambda field=field: field for field in made})  # type: ignore[misc]


def _generation(make: MakeGeneration, rows: Sequence[Any], collection: str = "handbook") -> Any:
    made = make({f"n{place:02}": row["text"] for place, row in enumerate(rows)}, collection)
    return replace(made, filter_fields=_fields(rows))


def _where(conditions: Sequence[tuple[str, str, str]]) -> list[str]:
    return ["".join(condition) for condition in conditions]


def _best(scores: np.ndarray, allowed: Sequence[bool], top_k: int) -> list[float]:
    return sorted((float(score) for score, one in zip(scores, allowed, strict=True) if one), reverse=True)[:top_k]


@patient
@given(ROWS, st.lists(CONDITIONS, max_size=3), st.integers(1, 30))
def test_each_retriever_returns_the_best_nodes_that_fulfil_the_filter(
    make_generation: MakeGeneration,
    embedding: FakeEmbedding,
    rows: list[Any],
    conditions: list[tuple[str, str, str]],
    top_k: int,
) -> None:
    generation = _generation(make_generation, rows)
    allowed = [_allowed(row, conditions) for row in rows]
    [admitted] = filter_limits(parse_conditions(_where(conditions)), [generation]).allowed
    among = generation.allowed_among(generation.ids, admitted)
    assert [node_id in among for node_id in generation.ids] == allowed
    bundle = FilteredQueryBundle(QUESTION, allowed=admitted)
    cosines = generation.vectors(generation.ids) @ embedding.embed_question(QUESTION)
    keyword_scores = generation.keyword.scores(QUESTION)
    matching = [one and bool(score > 0) for one, score in zip(allowed, keyword_scores, strict=True)]
    for retriever, scores, wanted in (
        (DenseRetriever(generation, embedding, top_k), cosines, allowed),
        (KeywordRetriever(generation, top_k), keyword_scores, matching),
    ):
        hits = retriever.retrieve(bundle)
        places = [generation.ids.index(hit.node.node_id) for hit in hits]
        assert all(wanted[place] for place in places)
        assert len(set(places)) == len(places)
        assert [hit.score for hit in hits] == pytest.approx(_best(scores, wanted, top_k), abs=1e-5)


@patient
@given(ROWS, ROWS, st.lists(CONDITIONS, min_size=1, max_size=2))
def test_chunks_that_a_filter_excludes_are_not_returned_from_any_collection(
    make_generation: MakeGeneration,
    embedding: FakeEmbedding,
    rows: list[Any],
    others: list[Any],
    conditions: list[tuple[str, str, str]],
) -> None:
    generations = [_generation(make_generation, rows), _generation(make_generation, others, "other")]
    allowed = {
        (name, f"n{place:02}")
        for name, its in (("handbook", rows), ("other", others))
        for place, row in enumerate(its)
        if _allowed(row, conditions)
    }
    whole = Settings(query=QuerySettings(full_context_max_chunks=50))
    with SearchPipeline(generations, [embedding], whole) as pipeline:
        found = pipeline.search(QUESTION, where=_where(conditions))
    shown = {(chunk.collection, chunk.node_id) for chunk in found.chunks}
    shown |= {
        (one["collection"], one["node_id"]) for chunk in found.chunks for one in chunk.metadata.get("alternates", [])
    }
    assert shown <= allowed
    [stage] = [stage for stage in found.stages if stage.name == "filter"]
    assert stage.kept == len(allowed)
    assert stage.details["of"] == {"handbook": len(rows), "other": len(others)}
    assert bool(shown) == bool(allowed)
    assert any("No chunk matches the filter" in note for note in found.notes) == (not allowed)


class FilterlessRetriever(DenseRetriever):
    """A retriever that ignores filters."""

    def _retrieve(self, query_bundle: Any) -> Any:
        return super()._retrieve(FilteredQueryBundle(query_bundle.query_str, embedding=query_bundle.embedding))


def test_chunks_that_a_retriever_returns_despite_the_filter_are_removed(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    rows = [{"text": "card", "kind": ["table"], "topics": [], "page": [], "dates": []} for _ in range(3)]
    rows[1]["kind"] = ["text"]
    generation = _generation(make_generation, rows)
    with SearchPipeline([generation], [embedding], Settings()) as pipeline:
        pipeline.collections[0].retriever.dense = FilterlessRetriever(generation, embedding, 50)
        found = pipeline.search("card", where=["kind=text"])
    assert [chunk.node_id for chunk in found.chunks] == ["n01"]


def test_a_filter_can_choose_collections_by_name(make_generation: MakeGeneration, embedding: FakeEmbedding) -> None:
    row = {"text": "card", "kind": [], "topics": [], "page": [], "dates": []}
    generations = [_generation(make_generation, [row], name) for name in ("rules", "leave")]
    with SearchPipeline(generations, [embedding], Settings()) as pipeline:
        found = pipeline.search("card", where=["collection=leave"])
    assert [chunk.collection for chunk in found.chunks] == ["leave"]


def test_different_filters_give_different_results(make_generation: MakeGeneration, embedding: FakeEmbedding) -> None:
    rows = [{"text": f"card {n}", "kind": [], "topics": [], "page": [n], "dates": []} for n in (1, 2)]
    with SearchPipeline([_generation(make_generation, rows)], [embedding], Settings()) as pipeline:
        pages = [pipeline.search("card", where=where).chunks for where in ([], ["page=1"], ["page=2"], ["page=1"])]
    assert [[chunk.node_id for chunk in sorted(chunks, key=lambda c: c.node_id)] for chunks in pages] == [
        ["n00", "n01"],
        ["n00"],
        ["n01"],
        ["n00"],
    ]


def test_a_filter_that_allows_one_node_returns_only_this_node(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    generation = make_generation({f"n{place:03}": f"card {place}" for place in range(200)})
    pages = single_valued("page", "number", range(200))
    generation = replace(generation, filter_fields=FilterFields({"page": lambda: pages}))
    [allowed] = filter_limits(parse_conditions(["page=150"]), [generation]).allowed
    hits = DenseRetriever(generation, embedding, 50).retrieve(FilteredQueryBundle("card 3", allowed=allowed))
    assert [hit.node.node_id for hit in hits] == ["n150"]
    assert single_valued("x", "text", [None]).having(np.zeros(0, dtype=bool)).tolist() == [False]
