"""Files for glossary tools match the documentation of these tools."""

import csv
from pathlib import Path
from typing import Any

import pytest
import yaml
from elt_llm_consumer.evidence import JobResult, Review, ReviewStatus, Row, Table, found_cell
from elt_llm_consumer.export.glossary_tools import qualified_name, write_datahub, write_openmetadata, write_purview

from tests.consumer.export.sample_results import catalog_result, evidence_of, glossary_result

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
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def test_purview_names_are_term_paths_joined_by_underscores_and_parent_terms_come_first(tmp_path: Path) -> None:
    rows = purview(catalog_result(), tmp_path)
    assert [(row["Name"], row["Nick Name"], row["Parent Term Name"]) for row in rows] == [
        ("People and Places", "People and Places", ""),
        ("People and Places_Clubs", "Clubs", "People and Places"),
        ("People and Places_Clubs_Member", "Member", "People and Places_Clubs"),
        ("People and Places_Clubs_Member (2)", "Member (2)", "People and Places_Clubs"),
        ("People and Places_Town", "Town", "People and Places"),
        ("Address", "Address", ""),
    ]


def test_purview_files_use_only_statuses_that_purview_accepts(tmp_path: Path) -> None:
    rows = purview(glossary_result(), tmp_path)
    assert {row["Status"] for row in rows} <= {"Draft", "Approved", "Alert", "Expired"}
    assert [row["Status"] for row in rows] == ["Approved", "Alert", "Expired", "Alert"]


def test_purview_lists_are_joined_by_semicolons_and_refer_to_terms_in_the_same_file(tmp_path: Path) -> None:
    rows = purview(glossary_result(), tmp_path)
    names = {row["Name"] for row in rows}
    for row in rows:
        for column in ("Related Terms", "Synonyms"):
            assert all(name in names for name in row[column].split(";") if name)
    first = rows[0]
    assert (first["Related Terms"], first["Synonyms"], first["Acronym"]) == ("Board", "Board", "MC")
    assert "Also: Affiliated Club." in first["Definition"]
    assert "Source: handbook.pdf, page 8." in first["Definition"]
    assert (rows[2]["Name"], rows[2]["Nick Name"]) == ("Rate of, Pay v1.2", "Rate of, Pay v1.2")


def test_openmetadata_files_have_a_name_per_term_and_only_openmetadata_statuses(tmp_path: Path) -> None:
    rows = openmetadata(glossary_result(), tmp_path)
    assert all(row["name*"] for row in rows)
    assert [row["glossaryStatus"] for row in rows] == ["Approved", "Draft", "Deprecated", "Draft"]
    assert all(row["parent"] == "" for row in rows)
    assert rows[0]["relatedTerms"] == "relatedTo:Our Words.Board"
    assert rows[0]["synonyms"] == "Affiliated Club;Board;MC"
    assert ";" not in rows[2]["name*"]


def test_openmetadata_parents_are_qualified_names_of_earlier_rows(tmp_path: Path) -> None:
    known = {""}
    for row in openmetadata(catalog_result(), tmp_path):
        assert row["parent"] in known
        known.add(f"{row['parent'] or 'Our Words'}.{row['name*']}")


def test_openmetadata_files_put_a_name_with_a_dot_in_quotation_marks() -> None:
    assert qualified_name("Words", ("v1.2 terms", "Fee")) == 'Words."v1.2 terms".Fee'


def test_a_datahub_file_has_one_glossary_node_that_contains_the_terms(tmp_path: Path) -> None:
    content = datahub(glossary_result(), tmp_path)
    assert list(content) == ["version", "source", "owners", "nodes"]
    assert content["owners"] == {"users": ["datahub"]}
    [node] = content["nodes"]
    assert node["name"] == "Our Words"
    first = node["terms"][0]
    assert (first["name"], first["related_terms"]) == ("Member Club", ["Our Words.Board"])
    assert first["custom_properties"]["review_status"] == "APPROVED"
    assert all(isinstance(value, str) for term in node["terms"] for value in term["custom_properties"].values())


def test_datahub_files_use_only_documented_keys(tmp_path: Path) -> None:
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


def test_a_datahub_file_nests_terms_by_domain(tmp_path: Path) -> None:
    [root] = datahub(catalog_result(), tmp_path)["nodes"]
    [domain] = root["nodes"]
    assert [term["name"] for term in root["terms"]] == ["Address"]
    assert [term["name"] for term in domain["terms"]] == ["Town"]
    assert [term["name"] for term in domain["nodes"][0]["terms"]] == ["Member", "Member (2)"]


HARD_NAMES = (
    "a_b", "a b", "a;b", "a,b", "a.b", "ab", "...", "=1+1", "-", "'Tis", "x: y", "x y", "x" * 5000, "x" * 5001, "a>b",
    "\"dq\"", "a b (2)", "Case", "CASE", " =2",
)  # fmt: skip


def hard_result() -> JobResult:
    """Nested terms with names that no tool accepts unchanged, each with a reference to the previous one."""
    pairs = zip(HARD_NAMES, (HARD_NAMES[-1], *HARD_NAMES), strict=False)
    rows = [
        Row(
            key=f"k{number}", name=name, group=group, cells={"see_also": found_cell((before,), [evidence_of("see it")])}
        )
        for number, (name, before) in enumerate(pairs)
        for group in [(), HARD_NAMES[number : number + 1]][: 1 + number % 2]
    ]
    return JobResult(
        job="hard", kind="glossary", tables=(Table(name="terms", columns=("see_also",), rows=tuple(rows)),)
    )


def test_purview_names_are_unique_and_every_reference_exists_for_any_term_names(tmp_path: Path) -> None:
    rows = purview(hard_result(), tmp_path)
    names = [row["Name"] for row in rows]
    assert len(set(names)) == len(names)
    for number, row in enumerate(rows):
        parent = row["Parent Term Name"]
        assert row["Name"] == f"{parent}_{row['Nick Name']}" if parent else row["Nick Name"]
        assert parent == "" or parent in names[:number]
        assert "_" not in row["Nick Name"]
        assert len(row["Nick Name"]) <= 256
        assert row["Related Terms"] == "" or set(row["Related Terms"].split(";")) <= set(names)
    assert sum(bool(row["Related Terms"]) for row in rows) >= len(HARD_NAMES)


def test_openmetadata_names_are_unique_and_every_reference_exists_for_any_term_names(tmp_path: Path) -> None:
    known: set[str] = set()
    rows = openmetadata(hard_result(), tmp_path)
    for row in rows:
        name = f'"{row["name*"]}"' if "." in row["name*"] else row["name*"]
        assert row["parent"] == "" or row["parent"] in known
        assert 0 < len(row["name*"]) <= 256
        full = f"{row['parent'] or 'Our Words'}.{name}"
        assert full not in known
        known.add(full)
    references = {one for row in rows for one in row["relatedTerms"].split(";") if one}
    assert references
    assert {one.removeprefix("relatedTo:") for one in references} <= known
    assert {row["displayName"] for row in rows} >= {"a_b", "a;b", "...", "x: y"}


def test_datahub_names_are_unique_for_any_term_names(tmp_path: Path) -> None:
    def names(node: dict[str, Any], path: str) -> list[str]:
        below = [name for inner in node.get("nodes", []) for name in names(inner, f"{path}.{inner['name']}")]
        return [*(f"{path}.{term['name']}" for term in node.get("terms", [])), *below]

    [root] = datahub(hard_result(), tmp_path)["nodes"]
    found_names = names(root, root["name"])
    assert len(set(found_names)) == len(found_names)
    assert all(name.rsplit(".", 1)[1] for name in found_names)
    references = {one for term in root["terms"] for one in term.get("related_terms", [])}
    assert references
    assert references <= set(found_names)


def test_a_formula_after_spaces_or_invisible_characters_is_exported_as_text(tmp_path: Path) -> None:
    hard = (" =1+1", "\u200b=1", "\ufeff@SUM(A1)", "\u00a0-1")
    rows = [
        Row(key=f"k{number}", name=f"T{number}", cells={"definition": found_cell(text, [evidence_of("q")])})
        for number, text in enumerate(hard)
    ]
    table = Table(name="terms", columns=("definition",), rows=tuple(rows))
    content = purview(JobResult(job="hard", kind="glossary", tables=(table,)), tmp_path)
    assert all(row["Definition"].startswith("'") for row in content)


@pytest.mark.parametrize(
    ("status", "stale", "expected"),
    [
        ("APPROVED", False, ("Approved", "Approved", "APPROVED", None)),
        ("APPROVED", True, ("Draft", "Draft", "PENDING", "APPROVED")),
        ("REJECTED", True, ("Draft", "Draft", "PENDING", "REJECTED")),
        ("NEEDS_CLARIFICATION", True, ("Alert", "Draft", "NEEDS_CLARIFICATION", "NEEDS_CLARIFICATION")),
    ],
)
def test_a_term_that_has_changed_since_its_approval_or_rejection_is_a_draft_in_every_tool(
    status: ReviewStatus, stale: bool, expected: tuple[str | None, ...], tmp_path: Path
) -> None:
    cells = {"definition": found_cell("30 months.", [evidence_of("30 months.")])}
    row = Row(key="w", name="Window", cells=cells, review=Review(status=status, reviewer="Ann", stale=stale))
    result = JobResult(job="j", kind="glossary", tables=(Table(name="terms", columns=("definition",), rows=(row,)),))
    properties = datahub(result, tmp_path)["nodes"][0]["terms"][0]["custom_properties"]
    assert (
        purview(result, tmp_path)[0]["Status"],
        openmetadata(result, tmp_path)[0]["glossaryStatus"],
        properties["review_status"],
        properties.get("stale_review_status"),
    ) == expected
