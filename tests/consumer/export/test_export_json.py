import json
from pathlib import Path

import jsonschema
import pytest
from elt_llm_consumer.export.json import document, write_json
from elt_llm_consumer.export.schema import job_result_schema
from elt_llm_consumer.rows import JobResult, Row

from tests.consumer.export.sample_results import catalog_result, glossary_result


def test_every_row_comes_back_from_the_file(tmp_path: Path) -> None:
    result = glossary_result()
    [path] = write_json(result, tmp_path / "words.json")
    told = json.loads(path.read_text(encoding="utf-8"))
    assert [Row.model_validate(row) for row in told["tables"]["terms"]["rows"]] == list(result.table("terms").rows)
    assert (told["job"], told["kind"], told["figures"], told["notes"]) == (
        "words",
        "glossary",
        {"terms": 4},
        ["A note."],
    )


def test_entities_are_nested_by_domain_and_subgroup(tmp_path: Path) -> None:
    [domain, without] = document(catalog_result())["tables"]["entities"]["domains"]
    assert domain["name"] == "People_and Places"
    assert [(it["name"], len(it["entities"])) for it in domain["subgroups"]] == [("Clubs", 2), ("", 1)]
    assert without["name"] == ""


def test_relationships_have_a_file_of_their_own(tmp_path: Path) -> None:
    paths = write_json(catalog_result(), tmp_path / "things.json")
    assert [path.name for path in paths] == ["things.json", "things.relationships.json"]
    alone = json.loads(paths[1].read_text(encoding="utf-8"))
    assert list(alone["tables"]) == ["relationships"]


@pytest.mark.parametrize("result", [glossary_result(), catalog_result()], ids=["glossary", "catalog"])
def test_what_is_written_fulfils_the_schema(result: JobResult) -> None:
    jsonschema.Draft202012Validator.check_schema(job_result_schema())
    jsonschema.validate(document(result), job_result_schema())


def test_the_schema_refuses_another_shape() -> None:
    told = document(glossary_result())
    told["tables"]["terms"]["rows"][0]["cells"]["definition"]["verdict"] = "probably"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(told, job_result_schema())


def test_the_schema_in_the_documentation_is_the_one_in_use() -> None:
    written = (Path(__file__).parents[3] / "docs" / "schemas" / "job_result.schema.json").read_text(encoding="utf-8")
    assert json.loads(written) == job_result_schema()
