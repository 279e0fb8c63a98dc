"""The files that other tools import, held against what those tools document and not against readers of ours."""

import csv
from pathlib import Path
from typing import Any

import yaml
from elt_llm_consumer.export.datahub import write_datahub
from elt_llm_consumer.export.openmetadata import qualified, write_openmetadata
from elt_llm_consumer.export.purview import write_purview
from elt_llm_consumer.rows import JobResult

from tests.consumer.export.sample_results import catalog_result, glossary_result

PURVIEW_HEADER = (
    "Name,Nick Name,Status,Definition,Acronym,Resources,Related Terms,Synonyms,Stewards,Experts,Parent Term Name"
)
OPENMETADATA_HEADER = (
    "parent,name*,displayName,description,synonyms,relatedTerms,references,tags,reviewers,owner,glossaryStatus,color,"
    "iconURL,extension"
)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def purview(result: JobResult, folder: Path) -> list[dict[str, str]]:
    [path] = write_purview(result, folder / "out.csv")
    assert path.read_text(encoding="utf-8").splitlines()[0] == PURVIEW_HEADER
    return rows_of(path)


def openmetadata(result: JobResult, folder: Path) -> list[dict[str, str]]:
    [path] = write_openmetadata(result, folder / "out.csv", "Our Words")
    assert path.read_text(encoding="utf-8").splitlines()[0] == OPENMETADATA_HEADER
    return rows_of(path)


def datahub(result: JobResult, folder: Path) -> dict[str, Any]:
    [path] = write_datahub(result, folder / "out.yaml", "Our Words")
    told: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return told


def test_purview_names_are_paths_joined_by_underscores_and_parents_come_first(tmp_path: Path) -> None:
    rows = purview(catalog_result(), tmp_path)
    assert [(row["Name"], row["Nick Name"], row["Parent Term Name"]) for row in rows] == [
        ("People and Places", "People_and Places", ""),
        ("People and Places_Clubs", "Clubs", "People and Places"),
        ("People and Places_Clubs_Member", "Member", "People and Places_Clubs"),
        ("People and Places_Clubs_Member (2)", "Member (2)", "People and Places_Clubs"),
        ("People and Places_Town", "Town", "People and Places"),
        ("Address", "Address", ""),
    ]


def test_purview_knows_only_its_own_status_words(tmp_path: Path) -> None:
    rows = purview(glossary_result(), tmp_path)
    assert {row["Status"] for row in rows} <= {"Draft", "Approved", "Alert", "Expired"}
    assert [row["Status"] for row in rows] == ["Approved", "Alert", "Expired", "Alert"]


def test_purview_lists_have_semicolons_and_name_terms_of_the_file(tmp_path: Path) -> None:
    rows = purview(glossary_result(), tmp_path)
    names = {row["Name"] for row in rows}
    for row in rows:
        for column in ("Related Terms", "Synonyms"):
            assert all(name in names for name in row[column].split(";") if name)
    first = rows[0]
    assert (first["Related Terms"], first["Synonyms"], first["Acronym"]) == ("Board", "Board", "MC")
    assert "Also: Affiliated Club." in first["Definition"]
    assert "Source: handbook.pdf, page 8." in first["Definition"]
    assert rows[2]["Name"] == "Rate of; Pay v1.2"


def test_openmetadata_demands_a_name_and_knows_only_its_own_status_words(tmp_path: Path) -> None:
    rows = openmetadata(glossary_result(), tmp_path)
    assert all(row["name*"] for row in rows)
    assert [row["glossaryStatus"] for row in rows] == ["Approved", "Draft", "Deprecated", "Draft"]
    assert all(row["parent"] == "" for row in rows)
    assert rows[0]["relatedTerms"] == "relatedTo:Our Words.Board"
    assert rows[0]["synonyms"] == "Affiliated Club;Board;MC"
    assert ";" not in rows[2]["name*"]


def test_openmetadata_parents_are_qualified_names_of_rows_before(tmp_path: Path) -> None:
    known = {""}
    for row in openmetadata(catalog_result(), tmp_path):
        assert row["parent"] in known
        known.add(f"{row['parent'] or 'Our Words'}.{row['name*']}")


def test_openmetadata_quotes_a_name_with_a_dot() -> None:
    assert qualified("Words", ("v1.2 terms", "Fee")) == 'Words."v1.2 terms".Fee'


def test_datahub_has_one_node_with_terms_below_it(tmp_path: Path) -> None:
    told = datahub(glossary_result(), tmp_path)
    assert list(told) == ["version", "source", "owners", "nodes"]
    assert told["owners"] == {"users": ["datahub"]}
    [node] = told["nodes"]
    assert node["name"] == "Our Words"
    first = node["terms"][0]
    assert (first["name"], first["related_terms"]) == ("Member Club", ["Our Words.Board"])
    assert first["custom_properties"]["review_status"] == "APPROVED"
    assert all(isinstance(value, str) for term in node["terms"] for value in term["custom_properties"].values())


def test_datahub_allows_only_the_keys_it_documents(tmp_path: Path) -> None:
    node_keys = {"name", "description", "id", "owners", "knowledge_links", "nodes", "terms"}
    term_keys = {
        "name", "description", "id", "inherits", "contains", "values", "related_terms", "term_source", "source_ref",
        "source_url", "domain", "custom_properties", "owners", "knowledge_links",
    }  # fmt: skip

    def check(node: dict[str, Any]) -> None:
        assert set(node) <= node_keys
        assert node["description"]
        for term in node.get("terms", []):
            assert set(term) <= term_keys
            assert term["description"]
            assert "." not in term["name"]
        for inner in node.get("nodes", []):
            check(inner)

    for result in (glossary_result(), catalog_result()):
        for node in datahub(result, tmp_path)["nodes"]:
            check(node)


def test_datahub_nests_what_stands_in_domains(tmp_path: Path) -> None:
    [root] = datahub(catalog_result(), tmp_path)["nodes"]
    [domain] = root["nodes"]
    assert [term["name"] for term in root["terms"]] == ["Address"]
    assert [term["name"] for term in domain["terms"]] == ["Town"]
    assert [term["name"] for term in domain["nodes"][0]["terms"]] == ["Member", "Member (2)"]
