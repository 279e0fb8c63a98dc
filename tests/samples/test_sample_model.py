"""The sample model and inventory match their sources, and are read as exactly what was drawn and exported."""

import base64
import re
import zlib
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import unquote

import pytest
from corpora.sample_model import ENTERPRISE, SAMPLES, expected, inventory_of, model_of, read, script, without_notes
from elt_llm_core.enterprise import ModelGraph
from elt_llm_ingest.leanix.model_check import check_model
from elt_llm_ingest.parsing.workbook import open_workbook

MODEL = ENTERPRISE / "model.drawio"
INVENTORY = ENTERPRISE / "inventory.xlsx"
EXPECTED_MODEL = expected("expected_model.json")
# Terms of the handbook that are not in the diagram, and the other names under which some terms are drawn.
NOT_DRAWN = ("Council", "Averell Cup", "Technical Area", "Goodwill Payment", "Working Day")
OTHERWISE = {"Temporary Dismissal": "Sin Bin", "Match Official": "Referee", "Vetting Certificate": "Background Check"}


def _plan() -> Any:
    rendering = script("render_model")
    return rendering.plan_model(rendering.read_source("model"))


def _unpacked(text: str) -> str:
    """The file with its diagram decompressed, because versions of zlib compress differently."""
    packed = re.search(r">([A-Za-z0-9+/=]{1000,})</diagram>", text)
    assert packed is not None
    return text.replace(packed[1], unquote(zlib.decompress(base64.b64decode(packed[1]), -15).decode()))


def _exported() -> Any:
    rendering = script("render_model")
    return script("exporting").fact_sheets(
        rendering.read_source("inventory"), rendering.read_source("model"), rendering.fact_sheet_id
    )


def test_the_sample_diagram_equals_the_output_of_its_drawing_script() -> None:
    assert _unpacked(MODEL.read_text(encoding="utf-8")) == _unpacked(script("drawing").draw(_plan()))
    assert script("expected").expected_model(_plan(), script("drawing").draw_page) == EXPECTED_MODEL


def test_the_sample_inventory_equals_the_output_of_its_export_script(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl", reason="openpyxl is installed by the dependency group 'samples' only")
    script("exporting").write_workbook(tmp_path / "new.xlsx", _exported(), "2026-09-14 08_30")
    assert open_workbook(tmp_path / "new.xlsx").sheets == open_workbook(INVENTORY).sheets
    assert script("exporting").expected_inventory(_exported()) == expected("expected_inventory.json")


def test_reading_the_sample_diagram_gives_exactly_the_drawn_model() -> None:
    assert without_notes(read(MODEL).artefacts["enterprise_model"]) == EXPECTED_MODEL
    assert without_notes(read(MODEL, "leanix_model").artefacts["enterprise_model"]) == EXPECTED_MODEL


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_xml_attributes_does_not_change_the_sample_model(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "model.drawio"
    chance = Random(seed)  # noqa: S311
    path.write_text(script("drawing").draw(_plan(), chance), encoding="utf-8")
    assert path.read_bytes() != MODEL.read_bytes()
    assert without_notes(read(path).artefacts["enterprise_model"]) == EXPECTED_MODEL


@pytest.mark.parametrize("deflated", [(), (1,), (1, 2)])
def test_compressed_and_plain_sample_diagrams_give_the_same_model(tmp_path: Path, deflated: tuple[int, ...]) -> None:
    path = tmp_path / "model.xml"
    path.write_text(script("drawing").draw(replace(_plan(), deflated=frozenset(deflated))), encoding="utf-8")
    assert without_notes(read(path).artefacts["enterprise_model"]) == EXPECTED_MODEL


def test_a_file_with_a_single_diagram_is_read_as_a_model(tmp_path: Path) -> None:
    plan = _plan()
    text = script("drawing").draw(replace(plan, deflated=frozenset()))
    found = re.search(r"<mxGraphModel.*?</mxGraphModel>", text, re.DOTALL)
    assert found is not None
    path = tmp_path / "one.xml"
    path.write_text(found.group(), encoding="utf-8")
    wanted = [shape.name for shape in plan.shapes if shape.page == 1]
    assert sorted(entity.name for entity in model_of(read(path)).entities) == sorted(wanted)


def test_the_notes_of_the_reader_name_the_gaps_that_were_put_into_the_sample_model() -> None:
    assert read(MODEL).notes == (
        "96 entities in 9 domains, 127 relationships",
        "fact sheets without an id: 3 (Club Data Contact, Travel Claim, Newsletter Subscription)",
        "relations with an end without an entity: 1 (Club Portal - ?)",
    )


@pytest.mark.parametrize("reader", ["auto", "leanix_inventory"])
def test_reading_the_sample_inventory_gives_exactly_the_exported_fact_sheets(reader: str) -> None:
    document = read(INVENTORY, reader)
    assert without_notes(document.artefacts["inventory"]) == expected("expected_inventory.json")
    assert document.notes == (
        "fact sheets without an id: 1 (Equipment Loan)",
        "relations to a fact sheet that is not in the file: 2 (Newsletter Subscription (relApplicationToDataObject), "
        "Paper Archive (relApplicationToITComponent))",
    )


def test_the_sample_model_and_inventory_differ_only_as_their_source_files_list() -> None:
    report = check_model(model_of(read(MODEL)), inventory_of(read(INVENTORY)))
    source = script("render_model").read_source("model")
    assert [each.name for each in report.absent_from_inventory] == sorted(source["unknown_to_inventory"])
    assert [each.name for each in report.under_other_ids] == source["under_another_id"]
    assert sorted(report.without_id) == sorted(source["without_id"])
    undrawn = script("render_model").read_source("inventory")["undrawn_data_objects"]
    assert {each.name for each in report.absent_from_model} >= set(undrawn)
    assert len(report.domains) == len(source["domains"]) + 1


def test_the_sample_diagram_uses_other_words_than_the_handbook() -> None:
    handbook = (SAMPLES / "source" / "handbook.md").read_text(encoding="utf-8")
    names = {entity["name"] for entity in EXPECTED_MODEL["entities"]}
    assert all(term in handbook and term not in names for term in (*NOT_DRAWN, *OTHERWISE))
    assert names >= set(OTHERWISE.values())


def test_neighbours_and_paths_of_the_sample_model_are_found() -> None:
    graph = ModelGraph(model_of(read(MODEL)))
    ids = {entity["name"]: entity["id"] for entity in EXPECTED_MODEL["entities"]}
    names = {identifier: name for name, identifier in ids.items()}
    feed = graph.neighbours(ids["INT001 Eligibility feed"])
    assert {names[each] for each in feed} == {"Player Register", "Matchday App"}
    ways = graph.paths(ids["Sponsor"], ids["Ground Grade"], 2)
    assert [names[each] for each in ways[0]] == ["Sponsor", "Member Club", "Ground", "Ground Grade"]
    around = graph.ego_graph(ids["Ground Grade"], 2)
    assert {entity.name for entity in around.entities} >= {"Ground Grade", "Ground", "Pitch", "Member Club"}
    assert len(around.relationships) >= len(around.entities) - 1
