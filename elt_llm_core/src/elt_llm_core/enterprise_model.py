"""An enterprise model as it was drawn, and an inventory as it was exported: who is what, and who is related to whom."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

Cardinality = Literal["", "1", "0..1", "*", "0..*", "1..*"]

IN_WORDS: Mapping[Cardinality, str] = {
    "1": "one",
    "0..1": "zero or one",
    "*": "many",
    "0..*": "zero or many",
    "1..*": "one or many",
}


class Record(BaseModel):
    """Immutable and closed: equal content gives equal JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` takes."""
        return self.model_dump(mode="json")

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The record that `to_json` wrote; pydantic's ValidationError if it is another's."""
        return cls.model_validate(value)


class Entity(Record):
    """Something drawn in a model. `domain` is the outermost container around it, `subgroup` the next."""

    id: str = Field(description="Unique in its model: the fact sheet id where it has one, else that of its shape.")
    name: str
    type: str = Field("", description="Type of the fact sheet, such as DataObject.")
    fact_sheet_id: str = Field("", description="As drawn; empty if the shape has none.")
    cell_id: str = Field("", description="Id of the first shape that draws it.")
    domain: str = ""
    subgroup: str = ""
    container: bool = Field(False, description="Whether other entities are drawn inside it.")
    page: int = Field(1, ge=1, description="Diagram of the file, from 1.")
    diagram: str = Field("", description="Name of that diagram.")


class End(Record):
    """One end of a relationship; the id is empty where nothing is attached."""

    entity_id: str = ""
    name: str = ""
    cardinality: Cardinality = Field("", description="How many of this end one of the other end has.")


class Relationship(Record):
    """A line between two entities, as drawn from source to target."""

    id: str = Field(description="Unique in its model: the relation's id where it has one, else that of its line.")
    source: End
    target: End
    name: str = ""
    kind: str = Field("", description="Type of the relation, such as relApplicationToInterface.")
    cell_id: str = ""
    page: int = Field(1, ge=1)
    diagram: str = ""

    @property
    def cardinality(self) -> str:
        """Both ends in words, such as "one to many"; empty if neither is drawn."""
        ends = [(IN_WORDS.get(end.cardinality, ""), end.name) for end in (self.source, self.target)]
        if all(words for words, _ in ends):
            return " to ".join(words for words, _ in ends)
        return "".join(f"{words} at {name}" for words, name in ends if words)

    @property
    def sentence(self) -> str:
        """Such as "Member holds Membership (one to many)."."""
        cardinality = f" ({self.cardinality})" if self.cardinality else ""
        return f"{self.source.name} {self.name or 'is related to'} {self.target.name}{cardinality}."


class EnterpriseModel(Record):
    """What a model file draws. Entities are in order of domain, subgroup, type, name; relationships of their ends."""

    entities: tuple[Entity, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    incomplete: tuple[Relationship, ...] = Field((), description="Relationships with an end attached to no entity.")
    diagrams: tuple[str, ...] = Field((), description="Names of the diagrams, in order.")
    texts: tuple[str, ...] = Field((), description="What else is written in the diagrams.")
    notes: tuple[str, ...] = Field((), description="What was wrong with the file.")

    def in_order(self) -> "EnterpriseModel":
        """The same model with its entities and relationships in their order."""
        return self.model_copy(
            update={
                "entities": tuple(sorted(self.entities, key=_entity_order)),
                "relationships": tuple(sorted(self.relationships, key=_relationship_order)),
                "incomplete": tuple(sorted(self.incomplete, key=_relationship_order)),
            }
        )


class FactSheetRelation(Record):
    """One value of a relation column: `kind` is the column, such as relProjectToApplication."""

    kind: str
    name: str = Field(description="Display name of the other fact sheet, as written.")
    target_id: str = Field("", description="`FactSheet.id` of the other one; empty if the file does not hold it.")
    attributes: dict[str, str] = Field(default_factory=dict)


class FactSheet(Record):
    """One row of an inventory."""

    id: str = Field(description="Unique in its inventory: the exported id, or the row where there is none.")
    fact_sheet_id: str = Field("", description="As exported; empty for one that has yet to be created.")
    type: str = ""
    name: str = ""
    display_name: str = Field("", description="With the names above it, joined by ' / '.")
    parent: str = Field("", description="Display name of the one above it.")
    description: str = ""
    level: int | None = Field(None, description="Depth in the hierarchy, from 1.")
    status: str = ""
    quality: str = Field("", description="State of the quality seal.")
    row: int = Field(0, description="Row of the sheet, from 1.")
    relations: tuple[FactSheetRelation, ...] = ()
    fields: dict[str, str] = Field(default_factory=dict, description="Further columns by their label.")


class Inventory(Record):
    """The fact sheets of an export in order of type and display name; as JSON they are keyed by their id."""

    fact_sheets: tuple[FactSheet, ...] = ()
    notes: tuple[str, ...] = Field((), description="What was wrong with the file.")

    @property
    def by_type(self) -> dict[str, list[FactSheet]]:
        """Fact sheets by their type, types in alphabetical order."""
        found: dict[str, list[FactSheet]] = {}
        for sheet in self.fact_sheets:
            found.setdefault(sheet.type, []).append(sheet)
        return dict(sorted(found.items()))

    def to_json(self) -> dict[str, Any]:
        """`{"fact_sheets": {id: {...}}, "notes": [...]}`."""
        sheets = {sheet.id: sheet.model_dump(mode="json", exclude={"id"}) for sheet in self.fact_sheets}
        return {"fact_sheets": sheets, "notes": list(self.notes)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Inventory":
        """The inventory that `to_json` wrote, whatever became of the order of its keys."""
        sheets = [FactSheet.model_validate({"id": key, **sheet}) for key, sheet in value["fact_sheets"].items()]
        return cls(fact_sheets=tuple(sorted(sheets, key=fact_sheet_order)), notes=tuple(value.get("notes", ())))


def fact_sheet_order(sheet: FactSheet) -> tuple[str, str, str]:
    """By type, display name and id."""
    return sheet.type, sheet.display_name, sheet.id


def _entity_order(entity: Entity) -> tuple[str, ...]:
    return entity.domain, entity.subgroup, entity.type, entity.name, entity.id


def _relationship_order(relationship: Relationship) -> tuple[str, ...]:
    return relationship.source.name, relationship.target.name, relationship.name, relationship.id
