"""A model as documents: an overview, and one part for each entity and each relationship."""

from collections.abc import Iterator

from elt_llm_core.enterprise_model import EnterpriseModel, Entity, Relationship
from elt_llm_core.store.records import MetadataValue

from elt_llm_ingest.leanix.part_names import PartNames
from elt_llm_ingest.leanix.sanity import check_model
from elt_llm_ingest.parsed_document import ParsedDocument, Part
from elt_llm_ingest.readers.document_builder import DocumentBuilder

ARTEFACT = "enterprise_model"
RELATIONSHIP = "relationship"
ENTITY = "entity"


def model_document(model: EnterpriseModel, title: str) -> ParsedDocument:
    """The overview as text, entities and relationships as parts, the model as an artefact."""
    report = check_model(model)
    builder = DocumentBuilder()
    builder.add_heading(title, 1)
    for number, line in enumerate(report.lines()):
        builder.add(line, tight=number > 0)
    if model.texts:
        builder.add_heading("Also written in the diagrams", 2)
        for text in model.texts:
            builder.add(text, "list", tight=True)
    counts = f"{report.entities} entities in {_domains(model)} domains, {report.relationships} relationships"
    overview = builder.build(title, {}, (counts, *model.notes))
    return ParsedDocument(
        **{**overview.__dict__, "parts": tuple(_parts(model)), "artefacts": {ARTEFACT: model.to_json()}}
    )


def _domains(model: EnterpriseModel) -> int:
    return len({entity.domain for entity in model.entities if entity.domain})


def _parts(model: EnterpriseModel) -> Iterator[Part]:
    names = PartNames()
    around: dict[str, list[Relationship]] = {}
    for relationship in model.relationships:
        for key in {relationship.source.entity_id: 0, relationship.target.entity_id: 0}:
            around.setdefault(key, []).append(relationship)
    for entity in model.entities:
        name = names.part_name(ENTITY, entity.id)
        yield Part(name, entity.type or ENTITY, _entity_document(entity, around.get(entity.id, [])))
    entities = {entity.id: entity for entity in model.entities}
    for relationship in model.relationships:
        name = names.part_name(RELATIONSHIP, relationship.id)
        yield Part(name, RELATIONSHIP, _relationship_document(relationship, entities))


def _entity_document(entity: Entity, relationships: list[Relationship]) -> ParsedDocument:
    builder = DocumentBuilder()
    builder.add(f"{entity.name} is {_described(entity)}.")
    for number, relationship in enumerate(relationships):
        builder.add(relationship.sentence, tight=number > 0)
    return builder.build(
        entity.name,
        _given(
            fact_sheet_id=entity.fact_sheet_id,
            fact_sheet_type=entity.type,
            domain=entity.domain,
            subgroup=entity.subgroup,
            diagram=entity.diagram,
        ),
    )


def _relationship_document(relationship: Relationship, entities: dict[str, Entity]) -> ParsedDocument:
    builder = DocumentBuilder()
    builder.add(relationship.sentence)
    ends = [entities[end.entity_id] for end in (relationship.source, relationship.target)]
    for number, entity in enumerate(dict.fromkeys(ends)):
        builder.add(f"{entity.name}: {_place(entity)}", "list", tight=number > 0)
    verb = relationship.name or "is related to"
    return builder.build(
        f"{relationship.source.name} {verb} {relationship.target.name}",
        _given(
            relation_id=relationship.id,
            fact_sheet_type=RELATIONSHIP,
            domain=ends[0].domain,
            subgroup=ends[0].subgroup,
            diagram=relationship.diagram,
        ),
    )


def _described(entity: Entity) -> str:
    """Such as "a fact sheet of type DataObject in the domain Members, subgroup Clubs"."""
    described = f"a fact sheet of type {entity.type}" if entity.type else "a fact sheet"
    if entity.container:
        described += " that holds others"
    if entity.domain:
        described += f" in the domain {entity.domain}"
    if entity.subgroup:
        described += f", subgroup {entity.subgroup}"
    return described


def _place(entity: Entity) -> str:
    """Such as "DataObject in Members, Clubs"."""
    where = ", ".join(filter(None, (entity.domain, entity.subgroup)))
    kind = entity.type or "fact sheet"
    return f"{kind} in {where}" if where else kind


def _given(**values: str) -> dict[str, MetadataValue]:
    return {key: value for key, value in values.items() if value}
