"""An ingest reports the counts of an enterprise model and its differences from an inventory."""

from pathlib import Path

import pytest
from stored.folders import run_ingest

SAMPLES = Path(__file__).parents[2] / "samples" / "enterprise"


@pytest.mark.sampled(1, "inventory")
def test_an_ingest_compares_an_enterprise_model_with_the_inventory_in_the_same_collection(tmp_path: Path) -> None:
    report = run_ingest(tmp_path / "data", SAMPLES / "model.drawio", SAMPLES / "inventory.xlsx")
    notes = "\n".join(report.notes)
    assert "96 entities and 127 relationships." in notes
    assert "In the model, not in the inventory" in notes
    assert "In the inventory, not in the model" in notes
    assert report.model is not None
    assert len(report.model["absent_from_model"]) == 12


@pytest.mark.sampled(1, "inventory")
def test_an_ingest_compares_an_enterprise_model_with_the_inventory_of_another_collection(tmp_path: Path) -> None:
    alone = run_ingest(tmp_path / "data", SAMPLES / "model.drawio", collection="model")
    assert "not in the inventory" not in "\n".join(alone.notes)
    run_ingest(tmp_path / "data", SAMPLES / "inventory.xlsx", collection="inventory")
    report = run_ingest(tmp_path / "data", SAMPLES / "model.drawio", collection="model", check_against="inventory")
    assert "In the model, not in the inventory" in "\n".join(report.notes)


def test_a_missing_inventory_collection_is_reported_as_a_note(tmp_path: Path) -> None:
    report = run_ingest(tmp_path / "data", SAMPLES / "model.drawio", collection="model", check_against="nowhere")
    assert report.notes[0].startswith("The model was not checked against 'nowhere': ")
    assert (report.published, report.exit_code) == (True, 0)


def test_a_collection_without_an_enterprise_model_has_no_model_report(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nA reef.\n")
    assert run_ingest(tmp_path / "data", tmp_path / "a.md").notes == ()
