"""The enterprise model with its entities and relationships, its graph, and the inventory of fact sheets."""

import heapq
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from operator import attrgetter
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from elt_llm_core.errors import UsageError
from elt_llm_core.utilities import nearest_names

Cardinality = Literal["", "1", "0..1", "*", "0..*", "1..*"]

CARDINALITY_LABELS: Mapping[Cardinality, str] = {
    "1": "one",
    "0..1": "zero or one",
    "*": "many",
    "0..*": "zero or many",
    "1..*": "one or many",
}


class EnterpriseRecord(BaseModel):
    """The base class of immutable records, which refuse unknown fields. Equal records have equal JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_json(self) -> dict[str, Any]:
        """Return the record as a dict of JSON values. `from_json` reads it."""
        return self.model_dump(mode="json")

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Build a record from a dict that `to_json` returned. Raises pydantic's ValidationError for other dicts."""
        return cls.model_validate(value)


class Entity(EnterpriseRecord):
    """An entity in a diagram. `domain` is its outermost container, and `subgroup` its container within the domain."""

    id: str = Field(description="Unique in its model: the fact sheet id if it has one, else the id of its shape.")
    name: str
    type: str = Field("", description="Type of the fact sheet, such as DataObject.")
    fact_sheet_id: str = Field("", description="The label of the shape; empty if it has none.")
    cell_id: str = Field("", description="Id of the first shape of the entity.")
    domain: str = ""
    subgroup: str = ""
    container: bool = Field(False, description="Whether the entity contains other entities.")
    page: int = Field(1, ge=1, description="Number of the diagram in the file, from 1.")
    diagram: str = Field("", description="Name of that diagram.")


class RelationshipEnd(EnterpriseRecord):
    """One end of a relationship. The id is empty if no entity is attached."""

    entity_id: str = ""
    name: str = ""
    cardinality: Cardinality = Field("", description="How many entities of this end belong to one of the other end.")


class Relationship(EnterpriseRecord):
    """A relationship between two entities, drawn from source to target."""

    id: str = Field(description="Unique in its model: the relation's id if it has one, else the id of its line.")
    source: RelationshipEnd
    target: RelationshipEnd
    name: str = ""
    kind: str = Field("", description="Type of the relation, such as relApplicationToInterface.")
    cell_id: str = ""
    page: int = Field(1, ge=1)
    diagram: str = ""

    @property
    def cardinality(self) -> str:
        """The cardinality of both ends in words, such as "one to many", or empty if neither end has one."""
        ends = [(CARDINALITY_LABELS.get(end.cardinality, ""), end.name) for end in (self.source, self.target)]
        if all(words for words, _ in ends):
            return " to ".join(words for words, _ in ends)
        return "".join(f"{words} at {name}" for words, name in ends if words)

    @property
    def sentence(self) -> str:
        """The relationship as a sentence, such as 'Member holds Membership (one to many).'."""
        cardinality = f" ({self.cardinality})" if self.cardinality else ""
        return f"{self.source.name} {self.name or 'is related to'} {self.target.name}{cardinality}."


class EnterpriseModel(EnterpriseRecord):
    """The entities and relationships in a file. `in_order` sorts them, so that equal models have equal JSON."""

    entities: tuple[Entity, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    incomplete: tuple[Relationship, ...] = Field((), description="Relationships with an unattached end.")
    diagrams: tuple[str, ...] = Field((), description="Names of the diagrams, in order.")
    texts: tuple[str, ...] = Field((), description="Other text in the diagrams.")
    notes: tuple[str, ...] = Field((), description="Problems found in the file.")

    def in_order(self) -> "EnterpriseModel":
        """Return the model with its entities sorted by domain, and its relationships by the names of their ends."""
        by_ends = attrgetter("source.name", "target.name", "name", "id")
        return self.model_copy(
            update={
                "entities": tuple(sorted(self.entities, key=attrgetter("domain", "subgroup", "type", "name", "id"))),
                "relationships": tuple(sorted(self.relationships, key=by_ends)),
                "incomplete": tuple(sorted(self.incomplete, key=by_ends)),
            }
        )


class FactSheetRelation(EnterpriseRecord):
    """A relation from one fact sheet to another. `kind` is the export's column, such as relProjectToApplication."""

    kind: str
    name: str = Field(description="Display name of the other fact sheet.")
    target_id: str = Field("", description="`FactSheet.id` of the other fact sheet; empty if not in the file.")
    attributes: dict[str, str] = Field(default_factory=dict)


class FactSheet(EnterpriseRecord):
    """A fact sheet: one row of an inventory, which describes one entity, such as an application."""

    id: str = Field(description="Unique in its inventory: the exported id, or the row number without one.")
    fact_sheet_id: str = Field("", description="The exported id; empty for a fact sheet still to be created.")
    type: str = ""
    name: str = ""
    display_name: str = Field("", description="The name with the names of its ancestors, joined by ' / '.")
    parent: str = Field("", description="Display name of the parent.")
    description: str = ""
    level: int | None = Field(None, description="Depth in the hierarchy, from 1.")
    status: str = ""
    quality: str = Field("", description="State of the quality seal.")
    row: int = Field(0, description="Row of the sheet, from 1.")
    relations: tuple[FactSheetRelation, ...] = ()
    fields: dict[str, str] = Field(default_factory=dict, description="Further columns by their label.")


class Inventory(EnterpriseRecord):
    """The fact sheets (descriptions of entities) in an exported spreadsheet, sorted by type and display name."""

    fact_sheets: tuple[FactSheet, ...] = ()
    notes: tuple[str, ...] = Field((), description="Problems found in the file.")

    @property
    def by_type(self) -> dict[str, list[FactSheet]]:
        """The fact sheets by type. The types are in alphabetical order."""
        kind = attrgetter("type")
        return {name: list(sheets) for name, sheets in groupby(sorted(self.fact_sheets, key=kind), key=kind)}

    def to_json(self) -> dict[str, Any]:
        """Return `{"fact_sheets": {id: {...}}, "notes": [...]}`."""
        sheets = {sheet.id: sheet.model_dump(mode="json", exclude={"id"}) for sheet in self.fact_sheets}
        return {"fact_sheets": sheets, "notes": list(self.notes)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Inventory":
        """Build an inventory from a dict that `to_json` returned. The dict may list the fact sheets in any order."""
        sheets = [FactSheet.model_validate({"id": key, **sheet}) for key, sheet in value["fact_sheets"].items()]
        return cls(fact_sheets=tuple(sorted(sheets, key=fact_sheet_order)), notes=tuple(value.get("notes", ())))


def fact_sheet_order(sheet: FactSheet) -> tuple[str, str, str]:
    """Return a fact sheet's sort key: type, display name and id."""
    return sheet.type, sheet.display_name, sheet.id


_Links = dict[str, tuple[str, ...]]


class ModelGraph:
    """A graph with entities as nodes and relationships as edges.

    With `directed`, edges are followed only from source to target. Results are sorted by id. Unknown ids raise
    UsageError.
    """

    def __init__(self, model: EnterpriseModel) -> None:
        self._model = model
        ends = {(line.source.entity_id, line.target.entity_id) for line in model.relationships}
        reverse = {(target, source) for source, target in ends}
        self._forwards = _build_links(model, ends)
        self._backwards = _build_links(model, reverse)
        self._around = _build_links(model, ends | reverse)

    def neighbours(self, entity_id: str, *, directed: bool = False) -> tuple[str, ...]:
        """Return the ids of the entities that are one relationship away."""
        return self._links(entity_id, directed=directed)[entity_id]

    def paths(
        self, start: str, end: str, most: int = 10, *, longest: int = 6, directed: bool = False
    ) -> list[tuple[str, ...]]:
        """Return at most `most` simple paths from `start` to `end` with at most `longest` relationships.

        A path is a tuple of the ids from start to end. Shorter paths come first, and ties are sorted by id.
        """
        links = self._links(start, end, directed=directed)
        away = _distances(self._backwards if directed else self._around, end, longest)
        return list(islice(_simple_paths(links, start, away, longest), most))

    def ego_graph(self, entity_id: str, radius: int = 1, *, directed: bool = False) -> EnterpriseModel:
        """Return the entities at most `radius` relationships away from an entity, with the relationships among them."""
        near = _distances(self._links(entity_id, directed=directed), entity_id, radius)
        return EnterpriseModel(
            entities=tuple(entity for entity in self._model.entities if entity.id in near),
            relationships=tuple(
                relationship
                for relationship in self._model.relationships
                if relationship.source.entity_id in near and relationship.target.entity_id in near
            ),
            diagrams=self._model.diagrams,
        )

    def _links(self, *known: str, directed: bool) -> _Links:
        """Return every entity's neighbours, by its id. Raises UsageError if the model lacks one of the ids `known`."""
        for entity_id in known:
            if entity_id not in self._around:
                hint = nearest_names(entity_id, sorted(self._around))
                raise UsageError(f"The model has no entity with the id '{entity_id}'.", hint=hint)
        return self._forwards if directed else self._around


def _build_links(model: EnterpriseModel, ends: set[tuple[str, str]]) -> _Links:
    links: dict[str, list[str]] = {entity.id: [] for entity in model.entities}
    for here, there in sorted(ends):
        if here != there and here in links and there in links:
            links[here].append(there)
    return {key: tuple(others) for key, others in links.items()}


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
    """Yield the simple paths from `start`, shortest first. `away` has each entity's distance to the end (0 at it)."""
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
