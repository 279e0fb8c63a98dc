"""The graph of an enterprise model returns neighbours, paths and surroundings of an entity."""

from collections.abc import Iterable
from itertools import pairwise

import pytest
from elt_llm_core.enterprise import EnterpriseModel, Entity, ModelGraph, Relationship, RelationshipEnd
from elt_llm_core.errors import UsageError
from hypothesis import given
from hypothesis import strategies as st

Pairs = list[tuple[str, str]]
pairs = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=12)


def model_of_pairs(lines: Iterable[tuple[str, str]], entities: str = "abcdef") -> EnterpriseModel:
    return EnterpriseModel(
        entities=tuple(Entity(id=each, name=each.upper()) for each in entities),
        relationships=tuple(
            Relationship(
                id=f"r{number}", source=RelationshipEnd(entity_id=source), target=RelationshipEnd(entity_id=target)
            )
            for number, (source, target) in enumerate(lines)
        ),
    )


CHAIN = ModelGraph(model_of_pairs([("a", "b"), ("b", "c"), ("c", "d"), ("a", "c"), ("e", "a")]))


def test_neighbours_are_entities_one_relationship_away_in_either_direction() -> None:
    assert CHAIN.neighbours("a") == ("b", "c", "e")
    assert CHAIN.neighbours("a", directed=True) == ("b", "c")
    assert CHAIN.neighbours("f") == ()


def test_paths_between_entities_are_ordered_by_length() -> None:
    assert CHAIN.paths("a", "d") == [("a", "c", "d"), ("a", "b", "c", "d")]
    assert CHAIN.paths("a", "d", 1) == [("a", "c", "d")]
    assert CHAIN.paths("a", "d", longest=1) == []
    assert CHAIN.paths("a", "a") == [("a",)]
    assert CHAIN.paths("a", "f") == []


def test_directed_paths_follow_relationships_from_source_to_target() -> None:
    assert CHAIN.paths("d", "e", directed=True) == []
    assert CHAIN.paths("e", "c", directed=True) == [("e", "a", "c"), ("e", "a", "b", "c")]


def test_an_ego_graph_has_the_entities_within_the_radius_and_their_relationships() -> None:
    near = CHAIN.ego_graph("b")
    assert [entity.id for entity in near.entities] == ["a", "b", "c"]
    assert [line.id for line in near.relationships] == ["r0", "r1", "r3"]
    assert [entity.id for entity in CHAIN.ego_graph("b", 0).entities] == ["b"]
    assert [entity.id for entity in CHAIN.ego_graph("b", 2).entities] == ["a", "b", "c", "d", "e"]


def test_an_unknown_entity_id_is_refused_with_the_nearest_ids() -> None:
    with pytest.raises(UsageError, match="no entity with the id 'zz'") as refusal:
        CHAIN.neighbours("zz")
    assert refusal.value.hint


def test_relationships_to_missing_entities_are_ignored() -> None:
    graph = ModelGraph(model_of_pairs([("a", "x"), ("", "a"), ("a", "a")], "ab"))
    assert graph.neighbours("a") == ()


@given(pairs)
def test_every_path_follows_relationships_and_visits_no_entity_twice(lines: Pairs) -> None:
    graph = ModelGraph(model_of_pairs(lines))
    paths = graph.paths("a", "f", 50)
    assert len(set(paths)) == len(paths)
    assert paths == sorted(paths, key=lambda path: (len(path), path))
    for path in paths:
        assert (path[0], path[-1]) == ("a", "f")
        assert len(set(path)) == len(path)
        assert all(there in graph.neighbours(here) for here, there in pairwise(path))


@given(pairs)
def test_paths_and_neighbours_do_not_depend_on_the_order_of_relationships(lines: Pairs) -> None:
    one, other = ModelGraph(model_of_pairs(lines)), ModelGraph(model_of_pairs(reversed(lines)))
    for directed in (False, True):
        assert one.paths("a", "f", directed=directed) == other.paths("a", "f", directed=directed)
        assert all(one.neighbours(x, directed=directed) == other.neighbours(x, directed=directed) for x in "abcdef")


def test_the_first_paths_of_a_dense_graph_are_found_without_visiting_all_paths() -> None:
    names = [chr(number) for number in range(0x4E00, 0x4E00 + 60)]
    graph = ModelGraph(model_of_pairs([(x, y) for x in names for y in names if x != y], "".join(names)))
    paths = graph.paths(names[0], names[-1], 20)
    assert [len(path) for path in paths] == [2] + [3] * 19
