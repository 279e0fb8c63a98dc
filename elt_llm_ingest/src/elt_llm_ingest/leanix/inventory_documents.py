"""An inventory as documents: an overview, and one part for each fact sheet."""

import re

from elt_llm_core.enterprise_model import FactSheet, FactSheetRelation, Inventory
from elt_llm_core.store.records import MetadataValue

from elt_llm_ingest.leanix.part_names import PartNames
from elt_llm_ingest.parsed_document import ParsedDocument, Part
from elt_llm_ingest.readers.document_builder import DocumentBuilder

ARTEFACT = "inventory"
FACT_SHEET = "fact-sheet"
_USUAL_STATUS = "ACTIVE"
_KIND = re.compile(r"rel[A-Za-z0-9]{0,80}?To([A-Z]\w{0,80})", re.ASCII)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def inventory_document(inventory: Inventory, title: str) -> ParsedDocument:
    """The overview as text, fact sheets as parts, the inventory as an artefact."""
    builder = DocumentBuilder()
    builder.add_heading(title, 1)
    builder.add(f"{len(inventory.fact_sheets)} fact sheets of {len(inventory.by_type)} types.")
    for kind, sheets in inventory.by_type.items():
        builder.add(f"{kind or '(no type)'}: {len(sheets)}", "list", tight=True)
    overview = builder.build(title, {}, inventory.notes)
    names = PartNames()
    parts = tuple(
        Part(names.part_name(FACT_SHEET, sheet.id), sheet.type or FACT_SHEET, _document(sheet))
        for sheet in inventory.fact_sheets
    )
    return ParsedDocument(**{**overview.__dict__, "parts": parts, "artefacts": {ARTEFACT: inventory.to_json()}})


def _document(sheet: FactSheet) -> ParsedDocument:
    title = sheet.display_name or sheet.name or "(no name)"
    builder = DocumentBuilder()
    builder.add(f"{title} is {_described(sheet)}.")
    builder.add(sheet.description)
    for number, line in enumerate(_relation_lines(sheet.relations)):
        builder.add(line, "list", tight=number > 0)
    for number, (label, value) in enumerate(sheet.fields.items()):
        builder.add(f"{label}: {value}", "list", tight=number > 0)
    given: dict[str, MetadataValue] = {
        "fact_sheet_id": sheet.fact_sheet_id,
        "fact_sheet_type": sheet.type,
        "display_name": sheet.display_name,
        "status": sheet.status,
    }
    metadata = {key: value for key, value in given.items() if value}
    return builder.build(title, metadata if sheet.level is None else {**metadata, "level": sheet.level})


def _described(sheet: FactSheet) -> str:
    described = f"a fact sheet of type {sheet.type}" if sheet.type else "a fact sheet"
    if sheet.level is not None:
        described += f" on level {sheet.level}"
    if sheet.parent:
        described += f", below {sheet.parent}"
    if sheet.status not in {"", _USUAL_STATUS}:
        described += f"; its status is {sheet.status}"
    return described


def _relation_lines(relations: tuple[FactSheetRelation, ...]) -> list[str]:
    """One line a kind of relation; what is said about a relation stands behind its name."""
    kinds: dict[str, list[str]] = {}
    for relation in relations:
        said = ", ".join(f"{_words(key)}: {value}" for key, value in relation.attributes.items())
        kinds.setdefault(relation.kind, []).append(f"{relation.name} ({said})" if said else relation.name)
    return [f"{relation_label(kind)}: {'; '.join(names)}" for kind, names in kinds.items()]


def relation_label(kind: str) -> str:
    """A relation as its reader knows it: "Business Capability" for relApplicationToBusinessCapability."""
    match = _KIND.fullmatch(kind)
    return _words(match[1]) if match else kind


def _words(key: str) -> str:
    words = _HUMP.sub(" ", key)
    return words[:1].upper() + words[1:]
