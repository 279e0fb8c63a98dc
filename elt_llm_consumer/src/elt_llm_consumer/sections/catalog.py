"""What a catalog job may be told: which entities and fields it has, and what tells a field in a text."""

from collections.abc import Mapping
from typing import Literal

from elt_llm_core.settings_section import Section
from pydantic import Field, field_validator

from elt_llm_consumer.sections.catalog_fields import RULE_WORDS, SHIPPED_FIELDS

FieldKind = Literal["model", "inventory", "definition", "text"]


class CatalogField(Section):
    """One field of every entity: where its value comes from, and what tells it in a text."""

    kind: FieldKind = Field(
        "text",
        description="model: drawn in the model; inventory: a column of the inventory; definition: what a text says "
        "that it means; text: sentences and table cells about the entity.",
    )
    column: str = Field(
        "",
        description="Of kind model: id, name, type, domain, subgroup, diagram. Of kind inventory: description, status, "
        "quality, level, parent, or the label of a column.",
    )
    question: str = Field(
        "", max_length=500, description="What is searched for; {entity} stands for its name. Empty: nothing is."
    )
    headers: tuple[str, ...] = Field((), description="Headings of table columns whose cells are the value.")
    listed_under: tuple[str, ...] = Field(
        (), description="Headings of table columns that list what the row's subject answers for, such as Duties."
    )
    definitions: bool = Field(False, description="Whether a definition counts as a sentence of this field as well.")
    cues: tuple[str, ...] = Field(
        (),
        description="Words of which a sentence must hold one; * at the end stands for any ending, ... between two for "
        "up to six words, # for a number, #### for a year. Small letters are met in any case, a capital only as one.",
    )
    answers: tuple[str, ...] = Field(
        (), description="Words between someone and what he or she answers for: who it is, is the value."
    )
    states: bool = Field(
        False,
        description="Whether the words must be said of the entity itself, as of the subject of their clause, and an "
        'enumeration of its states ("is ordered, in use or scrapped") counts without any.',
    )
    rule: bool = Field(False, description="Whether a sentence must demand, allow, forbid or limit: a figure does too.")
    at_most: int = Field(3, ge=1, le=50, description="Sentences taken, best first.")
    least_score: float = Field(0.6, ge=0, le=1, description="How surely a sentence must speak of the entity.")
    top_k: int = Field(8, ge=1, le=100, description="Passages searched for.")
    profile: str = Field("", description="Profile whose retrieval settings hold for its search; empty: the job's.")
    prompt: str = Field(
        "", max_length=4000, description="What a language model is asked to write; {entity} stands for its name."
    )


class CatalogSection(Section):
    """Settings of a catalog job."""

    fields: Mapping[str, CatalogField | None] = Field(
        {},
        description="Fields that are added to the shipped ones; one of the same name changes what it says and keeps "
        "the rest; null leaves a shipped one out.",
    )
    entity_types: tuple[str, ...] = Field((), description="Types of entities to take, such as DataObject; none: all.")
    skip: tuple[str, ...] = Field((), description="Names of entities and terms to leave out.")
    deeper: tuple[str, ...] = Field((), description="Names of entities for which twice as much is looked for.")
    least_likeness: float = Field(
        0.85, ge=0.5, le=1, description="From where two different names count as the same; 1: never."
    )
    handbook_only: bool = Field(True, description="Whether terms that the texts define and nobody drew are rows.")
    record_words: tuple[str, ...] = Field(
        ("record", "file", "data", "details", "information", "entry", "document", "list"),
        description='Words that make of an entity what is kept about it: "Case File" is told of a case.',
    )
    rule_words: tuple[str, ...] = Field(RULE_WORDS, description="Words of sentences that demand, allow or forbid.")
    relationship_sentences: int = Field(2, ge=0, le=20, description="Sentences quoted for one relationship.")

    @field_validator("fields")
    @classmethod
    def _are_whole(cls, given: Mapping[str, CatalogField | None]) -> Mapping[str, CatalogField | None]:
        for name, field in given.items():
            if name not in SHIPPED_FIELDS and field is None:
                raise ValueError(f"there is no shipped field {name!r} to leave out")
            if name not in SHIPPED_FIELDS and field and field.kind in {"model", "inventory"} and not field.column:
                raise ValueError(f"field {name!r} of kind {field.kind} names no column")
        return given

    def all_fields(self) -> dict[str, CatalogField]:
        """The shipped fields as they were changed, in their order, then those that were added."""
        found: dict[str, CatalogField] = {}
        for name in (*SHIPPED_FIELDS, *(name for name in self.fields if name not in SHIPPED_FIELDS)):
            given = self.fields.get(name)
            if name in self.fields and given is None:
                continue
            changes = {key: getattr(given, key) for key in given.model_fields_set} if given else {}
            found[name] = CatalogField.model_validate({**SHIPPED_FIELDS.get(name, {}), **changes})
        return found
