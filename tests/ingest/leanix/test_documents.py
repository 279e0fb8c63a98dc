"""Enterprise models and inventories become documents that can be searched and shown."""

from pathlib import Path

import pytest
from corpora.sample_model import ENTERPRISE, read
from elt_llm_core.enterprise import EnterpriseModel, Entity, FactSheet, FactSheetRelation, Inventory
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.leanix.documents import inventory_document, model_document, relation_label
from elt_llm_ingest.parsing.document_builder import PartNames
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from file_formats.diagrams import edge, fact_sheet, model, model_xml, shape
from file_formats.workbooks import ods, xlsx
from hypothesis import given
from hypothesis import strategies as st

ODS_CELL = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
ARROWS = "startArrow=ERone;endArrow=ERmany"
MODEL = model(
    shape("d", "People"),
    fact_sheet("a", "Member", "m", "d"),
    fact_sheet("b", "Membership", "s"),
    edge("e", "a", "b", value="holds", style=ARROWS),
    shape("t", "Draft"),
)


def _part(document: ParsedDocument, name: str) -> ParsedDocument:
    [found] = [part.document for part in document.parts if part.name == name]
    return found


def test_an_enterprise_model_is_read_as_an_overview_and_one_document_per_entity_and_relationship() -> None:
    document = model_document(MODEL, "Members")
    assert [(part.name, part.group) for part in document.parts] == [
        ("entity/s", "DataObject"),
        ("entity/m", "DataObject"),
        ("relationship/e", "relationship"),
    ]
    assert document.text.startswith("Members\n\n2 entities and 1 relationships.")
    assert document.text.endswith("Draft")
    assert EnterpriseModel.from_json(document.artefacts["enterprise_model"]) == MODEL


def test_an_entity_document_has_its_domain_and_relationships() -> None:
    entity = _part(model_document(MODEL, "Members"), "entity/m")
    assert entity.title == "Member"
    assert entity.text == (
        "Member is a fact sheet of type DataObject in the domain People.\n\nMember holds Membership (one to many)."
    )
    assert entity.metadata == {
        "fact_sheet_id": "m",
        "fact_sheet_type": "DataObject",
        "domain": "People",
        "diagram": "One",
    }


def test_a_relationship_document_names_both_entities_with_their_domains() -> None:
    relationship = _part(model_document(MODEL, "Members"), "relationship/e")
    assert relationship.title == "Member holds Membership"
    assert relationship.text == (
        "Member holds Membership (one to many).\n\nMember: DataObject in People\nMembership: DataObject"
    )
    assert relationship.metadata["domain"] == "People"


def test_a_fact_sheet_document_has_a_description_relations_and_fields() -> None:
    sheet = FactSheet(
        id="u",
        fact_sheet_id="u",
        type="Project",
        name="Vault",
        display_name="Safety / Vault",
        parent="Safety",
        description="Two keys.",
        level=2,
        status="ACTIVE",
        relations=(
            FactSheetRelation(kind="relProjectToITComponent", name="Disk", attributes={"numberOfUsers": "5"}),
            FactSheetRelation(kind="relProjectToITComponent", name="Tape"),
        ),
        fields={"Alias": "Safe"},
    )
    [part] = inventory_document(Inventory(fact_sheets=(sheet,)), "Export").parts
    assert (part.name, part.group, part.document.title) == ("fact-sheet/u", "Project", "Safety / Vault")
    assert part.document.text == (
        "Safety / Vault is a fact sheet of type Project on level 2, below Safety.\n\nTwo keys.\n\n"
        "IT Component: Disk (Number Of Users: 5); Tape\n\nAlias: Safe"
    )
    assert part.document.metadata == {
        "fact_sheet_id": "u",
        "fact_sheet_type": "Project",
        "display_name": "Safety / Vault",
        "status": "ACTIVE",
        "level": 2,
    }


@pytest.mark.parametrize("file", ["model.drawio", "inventory.xlsx"])
def test_every_document_within_a_model_file_has_a_name_a_group_a_title_and_a_valid_structure(file: str) -> None:
    document = read(ENTERPRISE / file)
    assert len({part.name for part in document.parts}) == len(document.parts) > 100
    for part in document.parts:
        assert part.group
        assert part.document.title
        assert all(part.document.text[block.start : block.end].strip() for block in part.document.blocks)
        assert all(isinstance(value, str | int) for value in part.document.metadata.values())


def test_a_reader_that_is_chosen_by_name_refuses_files_of_other_formats(tmp_path: Path) -> None:
    path = tmp_path / "plain.drawio"
    path.write_text(model_xml(shape("a", "Box")), encoding="utf-8")
    with pytest.raises(UnreadableDocument, match="holds no fact sheets"):
        read(path, "leanix_model")
    assert read(path).text == "Diagram 1\n\nBox"
    with pytest.raises(UnreadableDocument, match="workbook"):
        read(path, "leanix_inventory")


def test_relation_keys_of_fact_sheets_are_displayed_as_words() -> None:
    assert relation_label("relApplicationToBusinessCapability") == "Business Capability"
    assert relation_label("relToParent") == "Parent"
    assert relation_label("related") == "related"


@given(st.lists(st.text(max_size=200), max_size=6))
def test_the_names_of_documents_within_a_file_are_unique_and_contain_no_paths(ids: list[str]) -> None:
    names = PartNames()
    given_names = [names.part_name("entity", each) for each in ids]
    assert len(set(given_names)) == len(ids)
    for name in given_names:
        assert name.startswith("entity/")
        assert name.isascii()
        assert name.isprintable()
        assert len(name) < 120
        assert not {"", ".", ".."} & set(name.split("/"))


def test_entities_with_similar_ids_are_separate_documents() -> None:
    model_ = EnterpriseModel(entities=(Entity(id="a b", name="One"), Entity(id="a?b", name="Two")))
    assert [part.name for part in model_document(model_, "M").parts] == ["entity/a-b", "entity/a-b~2"]


def test_an_inventory_gives_the_same_document_in_every_workbook_format(tmp_path: Path) -> None:
    rows = [["id", "type", "name", "displayName"], ["ID", "Type", "Name", "Display Name"], ["u", "Project", "P", "P"]]
    written = "".join(
        f"<table:table-row>{''.join(ODS_CELL.format(value) for value in row)}</table:table-row>" for row in rows
    )
    (tmp_path / "export.ods").write_bytes(ods({"Export": written}))
    (tmp_path / "export.xlsx").write_bytes(xlsx({"Export": rows, "ReadMe": [["Words."]]}))
    one, other = read(tmp_path / "export.ods"), read(tmp_path / "export.xlsx")
    assert [part.name for part in one.parts] == ["fact-sheet/u"]
    assert one == other
