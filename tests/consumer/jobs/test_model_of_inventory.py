"""An inventory or a data dictionary serves as the model of a catalog, with evidence in its own entries."""

from pathlib import Path

from elt_llm_consumer.evidence import JobResult
from elt_llm_consumer.jobs.corpus import model_of_inventory
from elt_llm_consumer.jobs.job_file import load_job
from elt_llm_consumer.runner.run import JobRequest, run_job
from elt_llm_core.enterprise import FactSheet, FactSheetRelation, Inventory
from elt_llm_core.models.fakes import FakeEmbedding
from stored.job_project import JobProject

DICTIONARY = (
    '"Element Name","Definition","Domain"\n'
    '"Berth Fee","The price of a berth for one season.","Harbour"\n'
    '"Keel Number","The number on the keel.","Ships"\n'
)
HANDBOOK = "# Fees\n\nBerth Fee means the price that a ship pays. The berth fee must be paid by the owner in May.\n"


def test_the_ancestors_of_fact_sheets_become_domains_and_their_relations_become_relationships() -> None:
    relation = FactSheetRelation(kind="relApplicationToDataObject", name="Berth", target_id="b")
    lost = FactSheetRelation(kind="relApplicationToDataObject", name="Gone")
    model = model_of_inventory(
        Inventory(
            fact_sheets=(
                FactSheet(id="a", type="Application", name="Billing", relations=(relation, lost)),
                FactSheet(id="h", type="DataObject", name="Harbour", display_name="Harbour"),
                FactSheet(
                    id="b",
                    type="DataObject",
                    name="Berth",
                    display_name="Harbour / Quay / Berth",
                    parent="Harbour / Quay",
                ),
            )
        )
    )
    by_id = {entity.id: entity for entity in model.entities}
    assert (by_id["b"].domain, by_id["b"].subgroup) == ("Harbour", "Quay")
    assert (by_id["a"].domain, by_id["a"].type) == ("Application", "Application")
    assert [(one.source.name, one.target.name) for one in model.relationships] == [("Billing", "Berth")]


def test_a_catalog_can_be_made_from_a_data_dictionary_and_a_handbook(tmp_path: Path) -> None:
    project = JobProject(tmp_path)
    project.write({"elements.csv": DICTIONARY, "handbook.md": HANDBOOK})
    columns = "{entity: Element Name, definition: Definition, domain: Domain}"
    project.job("elements", f"collection: elements\npaths: [elements.csv]\ncolumns: {columns}\n")
    project.job("handbook", "collection: handbook\npaths: [handbook.md]\n")
    project.run("elements")
    project.run("handbook")
    project.write(
        {"config/consumer/all.yaml": "sources: {handbook: [handbook], model: elements}\nrunning: {use_model: never}\n"}
    )
    loaded = project.loaded
    file = load_job(loaded.config_dir / "consumer" / "all.yaml", loaded)
    results: list[JobResult] = []
    request = JobRequest("catalog", file, embedding=FakeEmbedding(), on_result=lambda result, _: results.append(result))
    assert run_job(request, loaded) is not None
    rows = {row.name: row.cells for row in results[0].table("entities").rows}
    assert set(rows) == {"Berth Fee", "Keel Number"}
    assert rows["Berth Fee"]["domain"].value == "Harbour"
    assert rows["Berth Fee"]["domain"].evidence[0].quote.count("Harbour") == 1
    assert rows["Berth Fee"]["inventory_description"].value == "The price of a berth for one season."
    assert "must be paid by the owner" in str(rows["Berth Fee"]["governance_rules"].value)
