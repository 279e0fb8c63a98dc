import json
from pathlib import Path

import jsonschema
import pytest
from elt_llm_consumer.evidence import JobResult, Row
from elt_llm_consumer.export.json import job_result_schema, result_json, write_json

from tests.consumer.export.sample_results import catalog_result, glossary_result


def test_every_row_can_be_read_back_from_the_json_file(tmp_path: Path) -> None:
    result = glossary_result()
    [path] = write_json(result, tmp_path / "words.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    assert [Row.model_validate(row) for row in content["tables"]["terms"]["rows"]] == list(result.table("terms").rows)
    assert (content["job"], content["kind"], content["figures"], content["notes"]) == (
        "words",
        "glossary",
        {"terms": 4},
        ["A note."],
    )


def test_entities_are_nested_by_domain_and_subgroup(tmp_path: Path) -> None:
    [domain, without] = result_json(catalog_result())["tables"]["entities"]["domains"]
    assert domain["name"] == "People_and Places"
    assert [(it["name"], len(it["entities"])) for it in domain["subgroups"]] == [("Clubs", 2), ("", 1)]
    assert without["name"] == ""


def test_relationships_are_written_to_their_own_file(tmp_path: Path) -> None:
    paths = write_json(catalog_result(), tmp_path / "things.json")
    assert [path.name for path in paths] == ["things.json", "things.relationships.json"]
    alone = json.loads(paths[1].read_text(encoding="utf-8"))
    assert list(alone["tables"]) == ["relationships"]


@pytest.mark.parametrize("result", [glossary_result(), catalog_result()], ids=["glossary", "catalog"])
def test_the_json_output_matches_the_schema(result: JobResult) -> None:
    jsonschema.Draft202012Validator.check_schema(job_result_schema())
    jsonschema.validate(result_json(result), job_result_schema())


def test_the_json_schema_rejects_invalid_structures() -> None:
    content = result_json(glossary_result())
    content["tables"]["terms"]["rows"][0]["cells"]["definition"]["verdict"] = "probably"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, job_result_schema())


def test_the_documented_json_schema_equals_the_schema_in_use() -> None:
    written = (Path(__file__).parents[3] / "docs" / "schemas" / "job_result.schema.json").read_text(encoding="utf-8")
    assert json.loads(written) == job_result_schema()
