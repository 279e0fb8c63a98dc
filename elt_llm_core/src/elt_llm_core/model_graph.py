"""An enterprise model as a graph: who is next to whom, how to get from one to the other, what lies around."""

import heapq
from collections import deque
from collections.abc import Iterator

from elt_llm_core.enterprise_model import EnterpriseModel
from elt_llm_core.errors import UsageError
from elt_llm_core.nearest_names import nearest_names

_Links = dict[str, tuple[str, ...]]


class ModelGraph:
    """Entities are points, relationships are lines; `directed` follows them from source to target only.

    Every result is in order of entity ids, so that equal models give equal results. An id that no entity has is a
    UsageError.
    """

    def __init__(self, model: EnterpriseModel) -> None:
        self._model = model
        self._forwards = _links(model, backwards=False)
        self._backwards = _links(model, backwards=True)
        self._around = {key: tuple(sorted({*self._forwards[key], *self._backwards[key]})) for key in self._forwards}

    def neighbours(self, entity_id: str, *, directed: bool = False) -> tuple[str, ...]:
        """Ids one relationship away, without the entity itself."""
        self._demand(entity_id)
        return self._links(directed=directed)[entity_id]

    def paths(
        self, start: str, end: str, most: int = 10, *, longest: int = 6, directed: bool = False
    ) -> list[tuple[str, ...]]:
        """At most `most` ways from `start` to `end`, none through an entity twice or over `longest` relationships.

        Each is the ids from start to end; the shortest come first, equals in order of their ids.
        """
        self._demand(start)
        self._demand(end)
        away = _distances(self._backwards if directed else self._around, end, longest)
        found: list[tuple[str, ...]] = []
        for path in _simple_paths(self._links(directed=directed), start, away, longest):
            if len(found) >= most:
                break
            found.append(path)
        return found

    def ego_graph(self, entity_id: str, radius: int = 1, *, directed: bool = False) -> EnterpriseModel:
        """The part of the model within `radius` relationships of an entity, with all relationships among it."""
        self._demand(entity_id)
        near = _distances(self._links(directed=directed), entity_id, radius)
        return EnterpriseModel(
            entities=tuple(entity for entity in self._model.entities if entity.id in near),
            relationships=tuple(
                relationship
                for relationship in self._model.relationships
                if relationship.source.entity_id in near and relationship.target.entity_id in near
            ),
            diagrams=self._model.diagrams,
        )

    def _links(self, *, directed: bool) -> _Links:
        return self._forwards if directed else self._around

    def _demand(self, entity_id: str) -> None:
        if entity_id not in self._around:
            hint = nearest_names(entity_id, sorted(self._around))
            raise UsageError(f"The model has no entity with the id '{entity_id}'.", hint=hint)


def _links(model: EnterpriseModel, *, backwards: bool) -> _Links:
    links: dict[str, set[str]] = {entity.id: set() for entity in model.entities}
    for relationship in model.relationships:
        ends = relationship.source.entity_id, relationship.target.entity_id
        here, there = reversed(ends) if backwards else ends
        if here != there and here in links and there in links:
            links[here].add(there)
    return {key: tuple(sorted(others)) for key, others in links.items()}


def _distances(links: _Links, start: str, most: int) -> dict[str, int]:
    distances = {start: 0}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        if distances[here] >= most:
            continue
        for there in links[here]:
            if there not in distances:
                distances[there] = distances[here] + 1
                waiting.append(there)
    return distances


def _simple_paths(links: _Links, start: str, away: dict[str, int], longest: int) -> Iterator[tuple[str, ...]]:
    """Best first: a path waits under the least length it can end with, so the shortest are met first."""
    waiting: list[tuple[int, tuple[str, ...]]] = [(away[start], (start,))] if start in away else []
    while waiting:
        _, path = heapq.heappop(waiting)
        if away[path[-1]] == 0:
            yield path
            continue
        for there in links[path[-1]]:
            least = len(path) + away.get(there, longest + 1)
            if there not in path and least <= longest:
                heapq.heappush(waiting, (least, (*path, there)))
