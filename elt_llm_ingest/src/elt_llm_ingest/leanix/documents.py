"""Build the parsed document of an enterprise model or an inventory: an overview, and one part for each entry."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from elt_llm_core.enterprise import EnterpriseModel, Entity, FactSheet, FactSheetRelation, Inventory, Relationship

from elt_llm_ingest.leanix.model_check import check_model
from elt_llm_ingest.parsing.document_builder import DocumentBuilder, PartNames
from elt_llm_ingest.parsing.parsed_document import ParsedDocument, Part, known_values

MODEL_ARTEFACT = "enterprise_model"
RELATIONSHIP = "relationship"
ENTITY = "entity"


def model_document(model: EnterpriseModel, title: str) -> ParsedDocument:
    """Return an overview as a document. Its parts are entities and relationships; its artefact (JSON) is the model."""
    report = check_model(model)
    builder = DocumentBuilder()
    builder.add_heading(title, 1)
    builder.add_lines(report.lines())
    if model.texts:
        builder.add_heading("Also written in the diagrams", 2)
        for text in model.texts:
            builder.add(text, "list", tight=True)
    domains = len({entity.domain for entity in model.entities if entity.domain})
    counts = f"{report.entities} entities in {domains} domains, {report.relationships} relationships"
    overview = builder.build(title, {}, (counts, *model.notes))
    return replace(overview, parts=tuple(_model_parts(model)), artefacts={MODEL_ARTEFACT: model.to_json()})


def _model_parts(model: EnterpriseModel) -> Iterator[Part]:
    names = PartNames()
    relationships: dict[str, list[Relationship]] = defaultdict(list)
    for relationship in model.relationships:
        for entity_id in {relationship.source.entity_id, relationship.target.entity_id}:
            relationships[entity_id].append(relationship)
    for entity in model.entities:
        name = names.part_name(ENTITY, entity.id)
        yield Part(name, entity.type or ENTITY, _entity_document(entity, relationships[entity.id]))
    entities = {entity.id: entity for entity in model.entities}
    for relationship in model.relationships:
        name = names.part_name(RELATIONSHIP, relationship.id)
        yield Part(name, RELATIONSHIP, _relationship_document(relationship, entities))


def _entity_document(entity: Entity, relationships: list[Relationship]) -> ParsedDocument:
    builder = DocumentBuilder()
    builder.add(f"{entity.name} is {_describe_entity(entity)}.")
    builder.add_lines(relationship.sentence for relationship in relationships)
    return builder.build(
        entity.name,
        known_values(
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
    builder.add_lines((f"{entity.name}: {_locate_entity(entity)}" for entity in dict.fromkeys(ends)), "list")
    verb = relationship.name or "is related to"
    return builder.build(
        f"{relationship.source.name} {verb} {relationship.target.name}",
        known_values(
            relation_id=relationship.id,
            fact_sheet_type=RELATIONSHIP,
            domain=ends[0].domain,
            subgroup=ends[0].subgroup,
            diagram=relationship.diagram,
        ),
    )


def _describe_entity(entity: Entity) -> str:
    """Describe an entity, as in "a fact sheet of type DataObject in the domain Members, subgroup Clubs"."""
    described = f"a fact sheet of type {entity.type}" if entity.type else "a fact sheet"
    if entity.container:
        described += " that holds others"
    if entity.domain:
        described += f" in the domain {entity.domain}"
    if entity.subgroup:
        described += f", subgroup {entity.subgroup}"
    return described


def _locate_entity(entity: Entity) -> str:
    """Return type and location of an entity, as in "DataObject in Members, Clubs"."""
    where = ", ".join(filter(None, (entity.domain, entity.subgroup)))
    kind = entity.type or "fact sheet"
    return f"{kind} in {where}" if where else kind


INVENTORY_ARTEFACT = "inventory"
FACT_SHEET = "fact-sheet"
_KIND = re.compile(r"rel[A-Za-z0-9]{0,80}?To([A-Z]\w{0,80})", re.ASCII)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def inventory_document(
    inventory: Inventory, title: str, addresses: Mapping[str, str] = MappingProxyType({})
) -> ParsedDocument:
    """Return an overview as a document. Its parts are the fact sheets; its artefact (JSON) is the inventory.

    `addresses` maps the ids of fact sheets to the web addresses that become metadata of their parts.
    """
    builder, types = DocumentBuilder(), len(inventory.by_type)
    builder.add_heading(title, 1)
    builder.add(f"{len(inventory.fact_sheets)} fact sheets of {types} type{'' if types == 1 else 's'}.")
    for kind, sheets in inventory.by_type.items():
        builder.add(f"{kind or '(no type)'}: {len(sheets)}", "list", tight=True)
    overview = builder.build(title, {}, inventory.notes)
    names = PartNames()
    parts = tuple(
        Part(
            names.part_name(FACT_SHEET, sheet.id),
            sheet.type or FACT_SHEET,
            _fact_sheet_document(sheet, addresses.get(sheet.id)),
        )
        for sheet in inventory.fact_sheets
    )
    return replace(overview, parts=parts, artefacts={INVENTORY_ARTEFACT: inventory.to_json()})


def _fact_sheet_document(sheet: FactSheet, address: str | None) -> ParsedDocument:
    title = sheet.display_name or sheet.name or "(no name)"
    builder = DocumentBuilder()
    builder.add(f"{title} is {_describe_fact_sheet(sheet)}.")
    builder.add(sheet.description)
    builder.add_lines(_relation_lines(sheet.relations), "list")
    builder.add_lines((f"{label}: {value}" for label, value in sheet.fields.items()), "list")
    metadata = known_values(
        fact_sheet_id=sheet.fact_sheet_id,
        fact_sheet_type=sheet.type,
        display_name=sheet.display_name,
        status=sheet.status,
        level=sheet.level,
        url=address,
    )
    return builder.build(title, metadata)


def _describe_fact_sheet(sheet: FactSheet) -> str:
    described = f"a fact sheet of type {sheet.type}" if sheet.type else "a fact sheet"
    if sheet.level is not None:
        described += f" on level {sheet.level}"
    if sheet.parent:
        described += f", below {sheet.parent}"
    if sheet.status not in {"", "ACTIVE"}:
        described += f"; its status is {sheet.status}"
    return described


def _relation_lines(relations: tuple[FactSheetRelation, ...]) -> list[str]:
    """Return one line per kind of relation, with the names of the related fact sheets and the relations' attributes."""
    kinds: dict[str, list[str]] = {}
    for relation in relations:
        attributes = ", ".join(f"{_split_words(key)}: {value}" for key, value in relation.attributes.items())
        kinds.setdefault(relation.kind, []).append(f"{relation.name} ({attributes})" if attributes else relation.name)
    return [f"{relation_label(kind)}: {'; '.join(names)}" for kind, names in kinds.items()]


def relation_label(kind: str) -> str:
    """Return the label of a kind of relation: "Business Capability" for relApplicationToBusinessCapability."""
    match = _KIND.fullmatch(kind)
    return _split_words(match[1]) if match else kind


def _split_words(key: str) -> str:
    words = _HUMP.sub(" ", key)
    return words[:1].upper() + words[1:]
