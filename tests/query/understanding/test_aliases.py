"""Aliases are searched in both directions, and an alias in a chunk counts like the typed name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.errors import SettingsError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.settings.tree import Settings
from elt_llm_query.retrieve.query_variant import AlternativeNames, keyword_query, replace_alternatives
from elt_llm_query.search import SearchPipeline, SearchResult
from elt_llm_query.understanding.aliases import EXAMPLE, Aliases, aliases_from, load_aliases
from elt_llm_query.understanding.analysis import AliasIndex

MakeGeneration = Callable[..., Any]
TEXTS = {
    "a": "Human resources approves the request.",
    "b": "The human touch matters to the committee.",
    "c": "Holidays are entered in the calendar.",
    "d": "The budget is approved in March.",
    "e": "Information technology repairs the printer.",
}
ALIASES = aliases_from({"HR": ["human resources", "personnel"], "leave": ["holiday"], "IT": ["information technology"]})


def ask(generation: Any, embedding: FakeEmbedding, question: str, aliases: Aliases = ALIASES) -> SearchResult:
    with SearchPipeline([generation], [embedding], Settings(), aliases=aliases) as pipeline:
        return pipeline.search(question)


@pytest.mark.parametrize(
    ("question", "first", "aliases"),
    [
        ("What does HR approve?", "a", {"HR": ["human resources"]}),
        ("what does hr approve?", "a", {"HR": ["human resources"]}),
        ("Where is leave noted?", "c", {"leave": ["holiday"]}),
        ("Does IT mend printing?", "e", {"IT": ["information technology"]}),
    ],
)
def test_a_name_in_a_question_is_also_searched_by_its_aliases(
    make_generation: MakeGeneration, embedding: FakeEmbedding, question: str, first: str, aliases: dict[str, list[str]]
) -> None:
    found = ask(make_generation(TEXTS), embedding, question)
    assert found.stages[0].details["aliases"] == aliases
    brought = next(stage for stage in found.stages if stage.name == "retrieve").details["collections"]["handbook"]
    assert brought["keyword"][0][0] == first


def test_a_chunk_with_an_alias_covers_the_name_in_the_question(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    found = ask(make_generation(TEXTS), embedding, "HR approves")
    coverage = {chunk.node_id: chunk.coverage for chunk in found.chunks}
    assert coverage["a"] == 1.0
    assert (coverage["b"] or 0.0) < 0.5  # half a name is none


def test_the_alias_it_for_information_technology_matches_only_in_capitals(make_generation: MakeGeneration) -> None:
    index = AliasIndex(ALIASES, [make_generation(TEXTS)])
    assert index.in_question("Is it repaired?") == ()
    assert index.in_question("Is IT repaired?")[0].others == ("information technology",)


def test_aliases_match_in_both_directions_with_and_without_diacritics(make_generation: MakeGeneration) -> None:
    generation = make_generation({"a": "The Büro is open.", "b": "Our headquarters moved."})
    index = AliasIndex(aliases_from({"Büro": ["headquarters"]}), [generation])
    assert index.in_question("where is the BURO")[0].others == ("headquarters",)
    assert index.in_question("where are headquarters")[0].others == ("Büro",)


def test_a_match_by_alias_raises_the_scores_of_chunks_with_the_alias_and_changes_no_others(
    make_generation: MakeGeneration,
) -> None:
    generation = make_generation(TEXTS | {"f": "HR moved."})
    names = [AlternativeNames("HR", ("human resources", "personnel"))]
    plain = generation.completed(generation.ids, None, keyword_query("HR approves", [], generation)).keyword
    scores = generation.completed(generation.ids, None, keyword_query("HR approves", names, generation)).keyword
    assert (scores >= plain).all()
    gained = {generation.ids[place] for place in (scores > plain).nonzero()[0]}
    assert gained == {"a"}


def test_aliases_in_a_chunk_are_replaced_by_the_name_that_the_question_uses(make_generation: MakeGeneration) -> None:
    generation = make_generation(TEXTS)
    stems = generation.stems(["a"])[0]
    assert replace_alternatives(stems, [AlternativeNames("HR", ("human resources",))], generation)[0] == "hr"


def test_results_with_different_aliases_are_cached_separately(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    generation = make_generation(TEXTS)
    with SearchPipeline([generation], [embedding], Settings()) as plain:
        caches = plain.caches
        plain.search("What does HR approve?")
        with SearchPipeline([generation], [embedding], Settings(), caches=caches, aliases=ALIASES) as pipeline:
            found = pipeline.search("What does HR approve?")
    assert found.stages[0].details["cache"]["hit"] is False
    assert found.stages[0].details["aliases"]


def written(folder: Path, text: str) -> Aliases:
    (folder / "config").mkdir()
    (folder / "config" / "rag_config.yaml").write_text("{}\n", encoding="utf-8")
    (folder / "config" / "aliases.yaml").write_text(text, encoding="utf-8")
    return load_aliases(load_settings(None, {}, folder))


def test_the_shipped_example_aliases_file_defines_no_aliases(tmp_path: Path) -> None:
    assert written(tmp_path, EXAMPLE) == Aliases()


def test_an_aliases_file_is_read_as_groups_of_names(tmp_path: Path) -> None:
    assert written(tmp_path, "aliases:\n  HR:\n    - human resources\n").groups == (("HR", "human resources"),)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("aliases:\n  HR: personnel\n", ":2:"),
        ("aliases:\n  HR:\n    - ''\n", ":3:"),
        ("aliases:\n  HR:\n    - '--'\n", ":3:"),
        ("alias: {}\n", ":1:"),
    ],
)
def test_an_invalid_aliases_file_is_refused_with_file_and_line(tmp_path: Path, text: str, line: str) -> None:
    with pytest.raises(SettingsError, match=rf"aliases\.yaml{line}"):
        written(tmp_path, text)


def test_a_single_name_in_place_of_a_list_of_aliases_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="must be a list"):
        written(tmp_path, "aliases:\n  HR: personnel\n")


def test_a_missing_aliases_file_defines_no_aliases(tmp_path: Path) -> None:
    assert load_aliases(load_settings(None, {}, tmp_path)) == Aliases()
