"""Reviews are exported with the sheet, imported again, and kept when rows are remade."""

import csv
import json
from contextlib import closing
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from elt_llm_consumer.export.text import write_atomically
from elt_llm_consumer.review.reviews import review_history, review_overview
from elt_llm_consumer.review.sheet import ImportReport, SheetRow, import_reviews, read_sheet
from elt_llm_consumer.review.stale import read_sources, stale_rows
from elt_llm_consumer.runner.plan import RowSelection
from elt_llm_core.collection.forgetting import forget
from elt_llm_core.errors import UsageError
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobName, JobReviewTable, JobRowTable, RowId
from openpyxl import load_workbook
from row_jobs.fake_jobs import KIND, job_file, outputs_of, project, run, some_terms
from stored.folders import run_ingest
from stored.shelf import writing

pytestmark = pytest.mark.halved


NAME = JobName("rules", KIND)


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedSettings:
    """Return a project in which a glossary of four terms from two documents was written."""
    loaded = project(tmp_path, {"a/one.md": some_terms(2), "b/two.md": some_terms(2, first=2)})
    run(loaded)
    return loaded


def _line(key: str, status: str, reviewer: str = "", comment: str = "", table: str = "terms") -> SheetRow:
    return SheetRow("row 2", table, key, status, reviewer, comment)


def _import(loaded: LoadedSettings, *lines: SheetRow, replacing: bool = False) -> ImportReport:
    with closing(open_state(loaded.data_dir)) as state:
        return import_reviews(lines, state, NAME, replace=replacing)


def _reviews(loaded: LoadedSettings) -> dict[str, Any]:
    """Return the reviews in the JSON output by the key of the term."""
    terms = json.loads(outputs_of(loaded)["rules-glossary.json"])["tables"]["terms"]
    rows = [row for domain in terms["domains"] for sub in domain["subgroups"] for row in sub["entities"]]
    return {row["key"]: row["review"] for row in rows}


def _change(loaded: LoadedSettings, before: str, after: str) -> None:
    path = loaded.project / "docs" / "a" / "one.md"
    path.write_text(path.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
    run_ingest(loaded.data_dir, loaded.project / "docs")


def test_a_review_is_shown_in_the_next_outputs_and_is_kept_by_later_runs(loaded: LoadedSettings) -> None:
    report = _import(
        loaded, _line("Term 01", "APPROVED", "Registrar", "Good."), _line("a", "REJECTED", "Auditor", table="folders")
    )
    assert (report.taken, report.problems) == (2, ())
    for choice in (RowSelection(), RowSelection(anew=True), RowSelection(only=("Term 03",))):
        run(loaded, choice=choice)
        review = _reviews(loaded)["Term 01"]
        assert (review["status"], review["reviewer"], review["comment"]) == ("APPROVED", "Registrar", "Good.")
        assert not review["stale"]
        assert _reviews(loaded)["Term 00"]["status"] == "PENDING"


def test_a_review_of_a_row_that_changed_is_stale(loaded: LoadedSettings) -> None:
    _import(loaded, _line("Term 00", "APPROVED", "Registrar"), _line("Term 01", "APPROVED", "Registrar"))
    _change(loaded, "a thing of the number 0", "something else")
    run(loaded)
    assert {key: review["stale"] for key, review in _reviews(loaded).items() if review["reviewer"]} == {
        "Term 00": True,
        "Term 01": False,
    }
    assert _import(loaded, _line("Term 00", "APPROVED", "Registrar")).unchanged == 1
    assert _import(loaded, _line("Term 00", "APPROVED", "Registrar", "Read again.")).taken == 1
    run(loaded)
    assert not _reviews(loaded)["Term 00"]["stale"]


def test_an_empty_line_in_a_review_sheet_does_not_remove_a_review(loaded: LoadedSettings) -> None:
    _import(loaded, _line("Term 00", "REJECTED", "Registrar"))
    report = _import(loaded, _line("Term 00", "PENDING"), _line("Term 01", ""))
    assert (report.taken, report.without_review) == (0, 2)
    run(loaded)
    assert _reviews(loaded)["Term 00"]["status"] == "REJECTED"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (_line("Term 0", "APPROVED"), "row 2: the table 'terms' has no row 'Term 0'. "),
        (_line("Term 00", "APROVED"), "row 2: 'APROVED' is not a review status; allowed: PENDING, APPROVED"),
        (_line("Term 00", "APPROVED", table="term"), "row 2: the job has no table 'term'. "),
        (_line("", "APPROVED"), "row 2: the table 'terms' has no row ''."),
    ],
)
def test_invalid_lines_of_a_review_sheet_are_reported_and_valid_lines_are_imported(
    loaded: LoadedSettings, line: SheetRow, problem: str
) -> None:
    report = _import(loaded, line, _line("Term 01", "needs clarification", "Registrar"))
    assert report.taken == 1
    assert report.problems[0].startswith(problem)
    assert report.exit_code == 1


def test_lines_without_a_review_are_no_mistakes_if_their_rows_are_gone(loaded: LoadedSettings) -> None:
    report = _import(loaded, _line("Gone", "PENDING"), _line("Away", ""), _line("Term 01", "APPROVED"))
    assert (report.taken, report.without_review, report.problems) == (1, 2, ())


def _store_under_another_key(loaded: LoadedSettings) -> None:
    """Approve a row, and store it with its review under the key that an older version of the program gave it."""
    _import(loaded, _line("Term 00", "APPROVED", "Ann", "Fine."))
    with closing(open_state(loaded.data_dir)) as state:
        rows = [
            replace(row, place=RowId("terms", "library/750")) if place.key == "Term 00" else row
            for place, row in JobRowTable(state).shown(NAME).items()
        ]
        JobRowTable(state).show(NAME, rows)
        JobReviewTable(state).move(NAME, {RowId("terms", "Term 00"): RowId("terms", "library/750")})


def test_a_review_follows_its_row_to_another_key(loaded: LoadedSettings) -> None:
    before = _reviews(loaded)
    _store_under_another_key(loaded)
    run(loaded)
    review = _reviews(loaded)["Term 00"]
    assert (before["Term 00"]["status"], review["status"], review["stale"]) == ("PENDING", "APPROVED", False)
    with closing(open_state(loaded.data_dir)) as state:
        assert [it.comment for it in review_history(state, NAME, "Term 00")] == ["Fine."]
        assert [it.state for it in review_overview(state, NAME).reviews] == ["fresh"]


def test_a_review_does_not_follow_to_a_row_with_other_content(loaded: LoadedSettings) -> None:
    _store_under_another_key(loaded)
    _change(loaded, "a thing of the number 0", "something else")
    run(loaded)
    assert _reviews(loaded)["Term 00"]["status"] == "PENDING"
    with closing(open_state(loaded.data_dir)) as state:
        assert [it.state for it in review_overview(state, NAME).reviews] == ["without a row"]


def test_a_line_of_a_sheet_follows_its_row_to_another_key(loaded: LoadedSettings) -> None:
    lines = read_sheet(loaded.project / "out" / "rules-glossary.terms.csv")
    older = [replace(line, key=f"old/{line.key}", status="APPROVED", reviewer="Ann") for line in lines[:1]]
    report = _import(loaded, *older, *lines[1:])
    assert (report.taken, report.problems, report.notes) == (1, (), ())
    run(loaded)
    assert _reviews(loaded)["Term 00"]["status"] == "APPROVED"


def test_a_row_that_occurs_twice_in_a_review_sheet_is_reported(loaded: LoadedSettings) -> None:
    report = _import(loaded, _line("Term 01", "APPROVED", "Registrar"), _line("Term 01", "REJECTED", "Registrar"))
    assert report.problems == ("row 2: 'Term 01' is already reviewed in row 2",)


def test_an_exported_workbook_is_imported_with_its_reviews(loaded: LoadedSettings) -> None:
    path = loaded.project / "out" / "rules-glossary.xlsx"
    workbook = load_workbook(path)
    sheet = workbook["Terms"]
    head = [cell.value for cell in sheet[1]]
    sheet.cell(3, head.index("review_status") + 1).value = "APPROVED"
    sheet.cell(3, head.index("reviewer") + 1).value = "Registrar"
    workbook.save(path)
    report = _import(loaded, *read_sheet(path))
    assert (report.taken, report.without_review, report.problems, report.notes) == (1, 5, (), ())
    run(loaded)
    assert _reviews(loaded)["Term 01"]["status"] == "APPROVED"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_an_exported_csv_is_imported_in_every_spreadsheet_dialect(loaded: LoadedSettings, delimiter: str) -> None:
    exported = outputs_of(loaded)["rules-glossary.terms.csv"].decode("utf-8-sig")
    lines = list(csv.DictReader(StringIO(exported)))
    lines[2] |= {"review_status": "REJECTED", "reviewer": "Registrar", "review_comment": "Not\nso; no, not"}
    buffer = StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(lines[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(lines)
    write_atomically(loaded.project / "back.csv", buffer.getvalue().encode())
    report = _import(loaded, *read_sheet(loaded.project / "back.csv"))
    assert (report.taken, report.problems, report.notes) == (1, (), ())
    run(loaded)
    assert _reviews(loaded)["Term 02"]["comment"] == "Not\nso; no, not"


def test_a_review_from_a_sheet_that_is_older_than_the_row_is_stale(loaded: LoadedSettings) -> None:
    sheet = loaded.project / "out" / "rules-glossary.terms.csv"
    filled = sheet.read_text(encoding="utf-8").replace("PENDING", "APPROVED")
    _change(loaded, "a thing of the number 0", "something else")
    run(loaded)
    sheet.write_text(filled, encoding="utf-8")
    report = _import(loaded, *read_sheet(sheet))
    assert report.taken == 4
    assert report.notes == (
        "row 2: 'Term 00' differs from the last output in definition, so its review is stale."
        " To correct a value, put it into the file that sources.curated names",
    )
    run(loaded)
    assert [key for key, review in _reviews(loaded).items() if review["stale"]] == ["Term 00"]


@pytest.mark.parametrize(("name", "content"), [("a.csv", b"a,b\n1,2\n"), ("a.xlsx", b"no"), ("b.csv", b"\xff\xfe\n")])
def test_a_file_that_is_not_a_review_sheet_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=name):
        read_sheet(tmp_path / name)


def test_the_review_overview_lists_reviews_as_fresh_stale_or_without_a_row(loaded: LoadedSettings) -> None:
    _import(loaded, *(_line(f"Term 0{number}", "APPROVED", "Registrar") for number in range(3)))
    _change(loaded, "a thing of the number 0", "something else")
    _change(loaded, "Term 01 means", "Term 01 is")
    run(loaded)
    with closing(open_state(loaded.data_dir)) as state:
        seen = review_overview(state, NAME)
    assert {it.key: it.state for it in seen.reviews} == {
        "Term 00": "stale",
        "Term 01": "without a row",
        "Term 02": "fresh",
    }
    assert seen.counts == {"APPROVED": 2, "PENDING": 3}


def test_rows_are_listed_with_the_document_that_changed_since_they_were_made(loaded: LoadedSettings) -> None:
    with closing(open_state(loaded.data_dir)) as state:
        assert stale_rows(state, NAME, read_sources(job_file(loaded), loaded)) == []
        _change(loaded, "Term 01 means a thing", "Term 01 means a pretty thing")
        found = stale_rows(state, NAME, read_sources(job_file(loaded), loaded))
    assert [row.lacks_quote for row in found] == sorted((row.lacks_quote for row in found), reverse=True)
    assert [row.key for row in found if row.lacks_quote] == ["Term 01"]
    changes = {(row.table, row.key): row.changes for row in found}
    assert changes["terms", "Term 00"] == ("a/one.md: the document changed, the quote did not",)
    assert changes["terms", "Term 01"] == ("a/one.md: the quote is missing",)
    assert ("terms", "Term 02") not in changes


def test_rows_are_not_listed_if_a_document_was_saved_again_with_the_same_text(loaded: LoadedSettings) -> None:
    path = loaded.project / "docs" / "a" / "one.md"
    path.write_text(path.read_text(encoding="utf-8"), encoding="utf-8-sig")  # other bytes, the same text
    run_ingest(loaded.data_dir, loaded.project / "docs")
    with closing(open_state(loaded.data_dir)) as state:
        assert stale_rows(state, NAME, read_sources(job_file(loaded), loaded)) == []


def test_forgetting_a_document_deletes_its_rows_and_reviews(loaded: LoadedSettings) -> None:
    _import(
        loaded, _line("Term 00", "APPROVED", "Registrar", "As in term two."), _line("Term 02", "APPROVED", "Registrar")
    )
    with writing(loaded.data_dir) as store:
        report = forget(store, "library", "a/one.md", SilentListener())
    assert (report.rows, report.reviews) == (3, 1)
    with closing(open_state(loaded.data_dir)) as state:
        assert [it.key for it in review_overview(state, NAME).reviews] == ["Term 02"]


def _line_of(loaded: LoadedSettings, key: str, status: str, reviewer: str, comment: str = "") -> SheetRow:
    """Return a line, as filled in by a reviewer, of a sheet that is exported now."""
    seen = _reviews(loaded)[key]["reviewed_at"]
    return replace(_line(key, status, reviewer, comment), reviewed_at=seen)


def test_importing_an_older_sheet_does_not_replace_a_newer_review(loaded: LoadedSettings) -> None:
    run(loaded)
    of_ann, of_bob = (
        _line_of(loaded, "Term 00", status, who) for status, who in (("APPROVED", "Ann"), ("REJECTED", "Bob"))
    )
    assert _import(loaded, of_ann).taken == 1
    report = _import(loaded, of_bob)
    [conflict] = report.conflicts
    assert (report.taken, report.exit_code) == (0, 1)
    assert "'Term 00' keeps the review APPROVED by Ann of " in conflict
    assert "which the sheet does not show: its reviewed_at is ''. To import the review REJECTED by Bob," in conflict
    assert "add --replace" in conflict
    run(loaded)
    assert _reviews(loaded)["Term 00"]["reviewer"] == "Ann"


@pytest.mark.parametrize("date", ["28.11.2099 13:17", "2099-11-28 13:17:39", "2099-11-28"])
def test_a_date_typed_into_reviewed_at_does_not_let_an_older_sheet_replace_a_review(
    date: str, loaded: LoadedSettings
) -> None:
    _import(loaded, _line("Term 00", "APPROVED", "Ann"))
    report = _import(loaded, replace(_line("Term 00", "REJECTED", "Ann"), reviewed_at=date))
    assert (report.taken, len(report.conflicts), report.exit_code) == (0, 1, 1)


def test_a_review_is_replaced_on_request_or_by_a_sheet_that_was_exported_after_the_review(
    loaded: LoadedSettings,
) -> None:
    run(loaded)
    _import(loaded, _line_of(loaded, "Term 00", "APPROVED", "Ann"))
    forced = _import(loaded, replace(_line("Term 00", "REJECTED", "Bob"), reviewed_at=""), replacing=True)
    assert (forced.taken, forced.conflicts) == (1, ())
    run(loaded)
    seen = _import(loaded, _line_of(loaded, "Term 00", "APPROVED", "Cid"))
    assert (seen.taken, seen.conflicts) == (1, ())
    assert "replaces REJECTED by Bob of " in seen.notes[0]


def test_the_history_of_a_row_contains_every_review(loaded: LoadedSettings) -> None:
    run(loaded)
    _import(loaded, _line("Term 00", "APPROVED", "Ann", "Fine."))
    _import(loaded, _line("Term 00", "REJECTED", "Bob", "Too short."))
    with closing(open_state(loaded.data_dir)) as state:
        found = review_history(state, NAME, "term 00")
        with pytest.raises(UsageError, match="The job has no row 'Term 9'"):
            review_history(state, NAME, "Term 9")
    assert [(one.status, one.reviewer, one.comment) for one in found] == [
        ("APPROVED", "Ann", "Fine."),
        ("REJECTED", "Bob", "Too short."),
    ]


def test_a_review_that_rejects_a_row_without_naming_a_reviewer_is_refused(loaded: LoadedSettings) -> None:
    report = _import(loaded, _line("Term 00", "REJECTED"))
    assert (report.taken, report.problems) == (0, ("row 2: the rejection of 'Term 00' needs the name of its reviewer",))


def test_a_review_that_may_not_replace_a_newer_review_is_added_to_the_history(loaded: LoadedSettings) -> None:
    run(loaded)
    of_ann, of_bob = (
        _line_of(loaded, "Term 00", status, who) for status, who in (("APPROVED", "Ann"), ("REJECTED", "Bob"))
    )
    for line in (of_ann, of_bob, of_bob):
        _import(loaded, line)
    with closing(open_state(loaded.data_dir)) as state:
        found = review_history(state, NAME, "Term 00")
    assert [(one.status, one.reviewer, one.applied) for one in found] == [
        ("APPROVED", "Ann", True),
        ("REJECTED", "Bob", False),
    ]


def test_two_reviewers_with_the_same_verdict_are_no_conflict(loaded: LoadedSettings) -> None:
    run(loaded)
    of_ann, of_bob = (_line_of(loaded, "Term 00", "REJECTED", who) for who in ("Ann", "Bob"))
    _import(loaded, of_ann)
    report = _import(loaded, of_bob)
    assert (report.conflicts, report.unchanged, report.exit_code) == ((), 1, 0)
    assert "'Term 00' keeps REJECTED by Ann of " in report.notes[0]
    with closing(open_state(loaded.data_dir)) as state:
        assert [one.reviewer for one in review_history(state, NAME, "Term 00")] == ["Ann", "Bob"]
    run(loaded)
    assert _reviews(loaded)["Term 00"]["reviewer"] == "Ann"


@pytest.mark.parametrize("name", ["rules-glossary.xlsx", "rules-glossary.terms.csv"])
def test_the_sheet_of_another_job_is_refused_and_both_jobs_are_named(loaded: LoadedSettings, name: str) -> None:
    lines = read_sheet(loaded.project / "out" / name)
    with closing(open_state(loaded.data_dir)) as state:
        with pytest.raises(UsageError, match=f"written by the {KIND} of rules, not by the {KIND} of laws"):
            import_reviews(lines, state, JobName("laws", KIND))
        assert import_reviews(lines, state, NAME).problems == ()


def test_a_sheet_without_any_row_of_the_job_is_reported_in_one_line(loaded: LoadedSettings) -> None:
    report = _import(loaded, *(_line(f"Word {number}", "APPROVED", "Ann") for number in range(43)))
    assert report.problems == (f"none of the 43 rows in the sheet is in the last output of the {KIND} of rules",)
    assert report.exit_code == 1


def test_a_review_of_a_row_whose_quote_changed_since_the_sheet_was_written_is_stale(loaded: LoadedSettings) -> None:
    sheet = loaded.project / "out" / "rules-glossary.terms.csv"
    [line] = [line for line in read_sheet(sheet) if line.key == "Term 00"]
    older = replace(line, status="APPROVED", reviewer="Ann", edition="0" * 12)
    assert "differs from the last output in its name, group or quotes" in _import(loaded, older).notes[0]
    run(loaded)
    assert _reviews(loaded)["Term 00"]["stale"]


def test_a_changed_value_in_a_line_without_a_new_review_is_reported_without_a_word_about_a_review(
    loaded: LoadedSettings,
) -> None:
    sheet = loaded.project / "out" / "rules-glossary.terms.csv"
    [line] = [line for line in read_sheet(sheet) if line.key == "Term 00"]
    report = _import(loaded, replace(line, values={**line.values, "definition": "a king"}))
    assert report.notes == (
        "row 2: 'Term 00' differs from the last output in definition."
        " To correct a value, put it into the file that sources.curated names",
    )
    assert _import(loaded, replace(line, edition="0" * 12)).notes == ()
