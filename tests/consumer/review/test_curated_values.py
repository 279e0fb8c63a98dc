"""Values curated by reviewers are applied to their rows, with author and date, and every problem is reported."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from elt_llm_consumer.evidence import JobResult, Row, Table
from elt_llm_consumer.review.curated import CuratedValues, ValueOverride
from elt_llm_consumer.runner.plan import RowSelection
from elt_llm_core.errors import SettingsError
from elt_llm_core.settings.loader import LoadedSettings
from row_jobs.fake_jobs import load, outputs_of, project, run, some_terms

ONE = """overrides:
- {table: terms, key: Term 01, field: definition, value: Something better., by: Desk, at: 2026-01-31, reason: It is so.}
"""


def _project(folder: Path, curated: str) -> LoadedSettings:
    project(folder, {"a/one.md": some_terms(3)})
    job = folder / "config" / "consumer" / "rules.yaml"
    written = job.read_text(encoding="utf-8").replace("[library]", "[library], curated: curated.yaml")
    job.write_text(written, encoding="utf-8")
    (folder / "curated.yaml").write_text(curated, encoding="utf-8")
    return load(folder)


def _written(loaded: LoadedSettings) -> tuple[dict[str, Any], list[str]]:
    """Return the cells of each term by key, and the notes of the result."""
    value = json.loads(outputs_of(loaded)["rules-glossary.json"])
    rows = [
        row for domain in value["tables"]["terms"]["domains"] for sub in domain["subgroups"] for row in sub["entities"]
    ]
    return {row["key"]: row["cells"] for row in rows}, value["notes"]


def test_a_curated_value_replaces_the_found_value_and_a_note_reports_the_replacement(tmp_path: Path) -> None:
    loaded = _project(tmp_path, ONE)
    run(loaded)
    cells, notes = _written(loaded)
    cell = cells["Term 01"]["definition"]
    assert (cell["value"], cell["verdict"], cell["method"]) == ("Something better.", "found", "curated")
    assert cell["curation"] == {"by": "Desk", "at": "2026-01-31", "reason": "It is so."}
    assert cell["note"] == "The curated value replaces this value (found, rule): a thing of the number 1."
    assert cells["Term 00"]["definition"]["method"] == "rule"
    assert notes == []


def test_adding_or_removing_a_curated_value_does_not_rebuild_the_row(tmp_path: Path) -> None:
    loaded = _project(tmp_path, "overrides: []")
    run(loaded)
    (tmp_path / "curated.yaml").write_text(ONE, encoding="utf-8")
    assert run(loaded).made == 0
    assert _written(loaded)[0]["Term 01"]["definition"]["method"] == "curated"
    (tmp_path / "curated.yaml").write_text("overrides: []", encoding="utf-8")
    assert run(loaded).made == 0
    assert _written(loaded)[0]["Term 01"]["definition"]["method"] == "rule"


def test_quotes_of_curated_values_are_looked_up_and_missing_quotes_are_reported(tmp_path: Path) -> None:
    there, missing = "Term 02 means a thing", "Term 02 means a king"
    overrides = [
        f"- {{table: terms, name: Term 0{number}, field: definition, value: V, by: K, at: 2026-01-31, quote: {quote}}}"
        for number, quote in ((1, there), (2, missing))
    ]
    loaded = _project(tmp_path, "\n".join(["overrides:", *overrides]))
    report = run(loaded)
    cells, notes = _written(loaded)
    [evidence] = cells["Term 01"]["definition"]["evidence"]
    assert evidence["quote"] == there
    assert cells["Term 02"]["definition"]["evidence"] == []
    assert notes == ["Curated value for terms, Term 02, definition: The documents do not contain the given quote."]
    assert set(notes) <= set(report.notes)


def test_a_curated_null_marks_the_field_as_absent(tmp_path: Path) -> None:
    loaded = _project(tmp_path, ONE.replace("Something better.", "null"))
    run(loaded)
    cell = _written(loaded)[0]["Term 01"]["definition"]
    assert (cell["value"], cell["verdict"], cell["method"]) == (None, "absent", "curated")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("key: Term 01", "key: Term 77", "Curated value matches no row: terms, Term 77, definition."),
        ("table: terms", "table: words", "Curated value matches no row: words, Term 01, definition (a glossary"),
        ("field: definition", "field: colour", "Curated value for an unknown column: terms, Term 01, colour."),
    ],
)
def test_a_curated_value_without_a_row_or_field_is_reported(tmp_path: Path, before: str, after: str, told: str) -> None:
    loaded = _project(tmp_path, ONE.replace(before, after))
    run(loaded)
    [note] = _written(loaded)[1]
    assert note.startswith(told)


def test_a_curated_value_for_an_excluded_row_or_another_job_kind_is_not_an_error(tmp_path: Path) -> None:
    other = ONE.splitlines()[1].replace("table: terms", "kind: catalog, table: entities")
    loaded = _project(tmp_path, f"{ONE}{other}\n")
    run(loaded, choice=RowSelection(limit=1))
    assert _written(loaded)[1] == ["Not complete: 2 of 3 rows are missing: Term 01, Term 02."]


def test_a_row_that_is_derived_from_other_rows_can_have_a_curated_value(tmp_path: Path) -> None:
    loaded = _project(
        tmp_path, ONE.replace("table: terms, key: Term 01, field: definition", "table: folders, key: a, field: terms")
    )
    run(loaded)
    folders = json.loads(outputs_of(loaded)["rules-glossary.json"])["tables"]["folders"]["rows"]
    assert folders[0]["cells"]["terms"]["value"] == "Something better."


@pytest.mark.parametrize(("before", "after"), [("key: Term 01", "colour: red"), ("2026-01-31", "soon")])
def test_a_mistake_in_the_file_of_curated_values_is_reported_with_its_line(
    tmp_path: Path, before: str, after: str
) -> None:
    with pytest.raises(SettingsError, match=r"curated\.yaml"):
        run(_project(tmp_path, ONE.replace(before, after)))


def test_two_curated_values_for_the_same_field_are_reported(tmp_path: Path) -> None:
    second = ONE.replace("overrides:\n", "").replace("better", "else")
    loaded = _project(tmp_path, ONE + second)
    run(loaded)
    cells, notes = _written(loaded)
    assert cells["Term 01"]["definition"]["value"] == "Something else."
    assert notes == ["2 curated values for one cell; the last one applies: terms, Term 01, definition."]


def test_a_curated_value_whose_name_several_rows_have_is_reported_with_their_keys() -> None:
    override = ValueOverride(table="terms", name="Fee", field="definition", value="V", by="Desk", at=date(2026, 1, 31))
    curated = CuratedValues([override], "glossary")
    rows = [Row(key=key, name="Fee", cells={}) for key in ("b", "a")]
    table = Table(name="terms", columns=("definition",), rows=tuple(curated.row("terms", row) for row in rows))
    assert curated.problems(JobResult(job="j", kind="glossary", tables=(table,))) == [
        "Curated value for 2 rows: terms, Fee, definition. Give one key: a, b."
    ]
