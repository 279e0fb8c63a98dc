"""A model diagram and the handbook about its entities: a catalog of both, and questions across both."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from processes.command_line import PROJECT
from served.project import Asker, Project

pytestmark = [pytest.mark.network, pytest.mark.halved]
BOTH = ["handbook", "model"]
ROWS = "/v1/rows/catalog/catalog"
ACROSS = "What is the Disciplinary Panel connected to, and who sits on it?"


@pytest.fixture(scope="module")
def asker(new_project: Callable[..., Project], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    documents = PROJECT / "samples" / "documents"
    project = new_project(tmp_path_factory.mktemp("model"), {"ingest": {"roots": [str(documents)]}})
    project.write({"config/consumer/catalog.yaml": "sources: {handbook: [handbook], model: model}\n"})
    project.run("ingest", documents / "handbook.pdf", "-c", "handbook", "--json")
    project.run("ingest", PROJECT / "samples" / "enterprise" / "model.drawio", "-c", "model", "--json")
    with project.served() as asker:
        yield asker


@pytest.fixture(scope="module")
def rows(asker: Asker) -> list[dict[str, Any]]:
    """The first rows of the catalog, made over HTTP."""
    report = asker.done("/v1/batch-jobs/catalog", {"job": "catalog", "limit": 12})
    assert (report["made"], report["failures"]) == (12, [])
    listed: list[dict[str, Any]] = asker.get(ROWS, table="entities", limit=500)["rows"]
    return listed


def test_the_catalog_combines_facts_of_the_diagram_and_the_handbook(asker: Asker, rows: list[dict[str, Any]]) -> None:
    told = {"fact_sheet_id", "relationships", "governance_rules"}
    [row, *_] = [it for it in rows if told <= {name for name, cell in it["cells"].items() if cell["evidence"]}]
    shown = asker.get(f"{ROWS}/row", table=row["table"], key=row["key"])
    assert {quote["evidence"]["collection"] for quote in shown["quotes"]} == set(BOTH)
    assert all(quote["found"] for quote in shown["quotes"])


def test_a_reviewed_row_stays_reviewed_when_the_job_runs_again(asker: Asker, rows: list[dict[str, Any]]) -> None:
    place = {"table": rows[0]["table"], "key": rows[0]["key"]}
    asker.post(f"{ROWS}/review", {**place, "status": "APPROVED", "reviewer": "the Registrar"})
    assert asker.done("/v1/batch-jobs/catalog", {"job": "catalog", "limit": 12})["kept"] == 12, "the next are made"
    assert asker.get(f"{ROWS}/row", **place)["row"]["review"]["status"] == "APPROVED"


def test_a_question_about_both_sources_is_answered_from_the_diagram_and_the_handbook(asker: Asker) -> None:
    answer = asker.ask(ACROSS, collections=BOTH)
    assert answer["answered"]
    cited = {citation["collection"]: citation for citation in answer["citations"]}
    assert set(cited) == set(BOTH)
    assert cited["handbook"]["page"] > 1
    assert "Hearing" in cited["model"]["excerpt"] + answer["answer"]


def test_a_question_to_all_collections_about_rules_is_answered_from_the_handbook(asker: Asker) -> None:
    answer = asker.ask("How many days does a club have to lodge an appeal, and what does it cost?")
    assert {citation["collection"] for citation in answer["citations"]} == {"handbook"}
    assert "fourteen days" in answer["answer"]
    assert "£120" in answer["answer"]
    assert "Enterprise models and inventories were not searched: model." in " ".join(answer["notes"])


@pytest.mark.parametrize("question", ["What is Hearing related to?", "What does the model state about Hearing?"])
def test_a_question_to_all_collections_about_relations_or_the_model_searches_the_enterprise_model(
    asker: Asker, question: str
) -> None:
    answer = asker.ask(question)
    assert "model" in {citation["collection"] for citation in answer["citations"]}
    assert "not searched" not in " ".join(answer["notes"])


def test_a_cited_page_can_be_displayed(asker: Asker) -> None:
    citation = asker.ask(ACROSS, collections=["handbook"])["citations"][0]
    picture = asker.server.client.get(f"/v1/documents/handbook/{citation['source_id']}/page/{citation['page']}.png")
    assert picture.content.startswith(b"\x89PNG")


def test_catalog_exports_are_listed_and_a_row_has_records_of_the_runs_that_wrote_it(
    asker: Asker, rows: list[dict[str, Any]]
) -> None:
    listed = {one["file"] for one in asker.get(f"{ROWS}/files")["files"]}
    assert {"catalog.xlsx", "catalog.entities.csv"} <= listed
    shown = asker.get(f"{ROWS}/row", table=rows[0]["table"], key=rows[0]["key"])
    assert shown["receipts"]
