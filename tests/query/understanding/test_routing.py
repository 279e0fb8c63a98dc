"""Of many collections, the best and those that contain a name from the question are searched."""

from collections.abc import Callable
from typing import Any

import numpy as np
from elt_llm_core.index.searchable import KeywordQuery
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.results import TraceStage
from elt_llm_core.settings.tree import QuerySettings, Settings
from elt_llm_query.search import SearchPipeline, SearchResult
from elt_llm_query.understanding.routing import NO_WORD, NOTHING, OTHERS, UNSCORED

MakeGeneration = Callable[..., Any]
THINGS = ["anchor", "basin", "canal", "delta", "estuary", "ferry", "gauge", "harbour"]


def library(make: MakeGeneration, extra: dict[str, str] | None = None) -> list[Any]:
    """Make eight collections with one topic each; every collection also mentions water."""
    return [
        make(
            {
                f"{thing}-1": f"The {thing} is described in this section, and so are the parts of the {thing}.",
                f"{thing}-2": f"Everybody knows the water beside the {thing}.",
                **({f"{thing}-3": extra[thing]} if extra and thing in extra else {}),
            },
            thing,
        )
        for thing in THINGS
    ]


def search(generations: list[Any], question: str, where: tuple[str, ...] = (), **query: Any) -> SearchResult:
    settings = Settings(query=QuerySettings.model_validate({"route_above": 4, "route_to": 2, **query}))
    with SearchPipeline(generations, [FakeEmbedding(256)], settings) as pipeline:
        return pipeline.search(question, where=where)


def route_of(found: SearchResult) -> TraceStage | None:
    return next((stage for stage in found.stages if stage.name == "route"), None)


def chosen(found: SearchResult) -> set[str]:
    stage = route_of(found)
    assert stage is not None
    return {name for name, one in stage.details["collections"].items() if one["asked"]}


def test_if_there_are_many_collections_only_the_best_are_searched_and_a_note_reports_it(
    make_generation: MakeGeneration,
) -> None:
    found = search(library(make_generation), "which parts has the canal beside the ferry")
    assert chosen(found) == {"canal", "ferry"}
    assert {chunk.collection for chunk in found.chunks} <= {"canal", "ferry"}
    assert any("2 of 8 collections were searched" in note for note in found.notes)
    details = route_of(found).details["collections"]  # type: ignore[union-attr]
    assert details["canal"]["score"] > details["basin"]["score"] > 0
    assert details["basin"]["why"] == OTHERS
    retrieve = next(stage for stage in found.stages if stage.name == "retrieve")
    assert set(retrieve.details["budget"]) == {"canal", "ferry"}


def test_collections_that_contain_no_word_of_the_question_are_left_out(make_generation: MakeGeneration) -> None:
    found = search(library(make_generation), "estuary")
    assert chosen(found) == {"estuary"}
    assert route_of(found).details["collections"]["delta"]["why"] == NO_WORD  # type: ignore[union-attr]


def test_all_collections_are_searched_if_they_are_few_or_routing_is_off_or_no_word_matches(
    make_generation: MakeGeneration,
) -> None:
    generations = library(make_generation)
    for found in (
        search(generations[:4], "canal"),
        search(generations, "canal", route_above=0),
        search(generations, "zeppelin"),
    ):
        assert route_of(found) is None
        assert not any("were searched" in note for note in found.notes)


def test_a_collection_that_contains_a_name_from_the_question_is_also_searched(make_generation: MakeGeneration) -> None:
    generations = library(make_generation, {"gauge": f"{'Many other words come first. ' * 9} The Severn Board."})
    found = search(generations, "Are the canal and ferry parts described by the Severn Board?")
    assert chosen(found) == {"canal", "ferry", "gauge"}
    assert route_of(found).details["collections"]["gauge"]["why"] == "it has 'Severn Board'"  # type: ignore[union-attr]
    apart = library(make_generation, {"gauge": f"{'Many other words come first. ' * 9} The Board met the Severn."})
    assert "gauge" not in chosen(search(apart, "Are the canal and ferry parts described by the Severn Board?"))


def test_a_name_in_too_many_collections_adds_no_collection_to_the_search(make_generation: MakeGeneration) -> None:
    everywhere = dict.fromkeys(THINGS, "This is published by the Severn Board.")
    found = search(library(make_generation, everywhere), "What does the Severn Board say of canal and ferry parts?")
    assert chosen(found) == {"canal", "ferry"}
    assert "Severn Board" in route_of(found).details["names in too many"]  # type: ignore[union-attr]


def test_a_collection_whose_chunks_are_all_excluded_by_a_filter_is_not_searched(
    make_generation: MakeGeneration,
) -> None:
    where = ("collection!=canal",)
    found = search(library(make_generation), "parts of the canal and the ferry and the gauge", where)
    assert chosen(found) == {"ferry", "gauge"}
    assert route_of(found).details["collections"]["canal"]["why"] == NOTHING  # type: ignore[union-attr]


def test_an_empty_collection_is_left_out_but_a_collection_without_a_keyword_index_is_searched(
    make_generation: MakeGeneration,
) -> None:
    generations = library(make_generation)
    generations[0] = generations[0].without_keywords()
    found = search([*generations, make_generation({}, "empty")], "parts of the canal and the ferry")
    assert chosen(found) == {"anchor", "canal", "ferry"}
    details = route_of(found).details["collections"]  # type: ignore[union-attr]
    assert (details["anchor"]["why"], details["empty"]["why"]) == (UNSCORED, NOTHING)


def test_a_word_has_the_same_weight_in_every_collection(make_generation: MakeGeneration) -> None:
    """If each collection weighted words itself, one that has the word in every chunk would get the lowest score."""
    crowded = make_generation({f"c{number}": f"The canal has part {number}." for number in range(4)}, "crowded")
    found = search([*library(make_generation), crowded], "canal", route_to=1)
    details = route_of(found).details["collections"]  # type: ignore[union-attr]
    assert details["crowded"]["score"] > 0.6 * details["canal"]["score"] > 0
    assert crowded.keyword.scores("canal").max() < 0.3


def test_a_factor_for_each_stem_of_the_query_multiplies_the_keyword_scores(
    make_generation: MakeGeneration,
) -> None:
    keyword = library(make_generation)[2].keyword
    stems = tuple(keyword.tokeniser.stems("canal parts water"))
    plain = keyword.scores("canal parts water")
    assert keyword.scores_of(KeywordQuery(stems, dict.fromkeys(stems, 1.0))).tolist() == plain.tolist()
    assert np.allclose(keyword.scores_of(KeywordQuery(stems, dict.fromkeys(stems, 2.0))), 2 * plain, atol=1e-6)
