"""Rows of jobs over HTTP are listed, read with their evidence, and reviewed within the scopes of a key."""

from collections.abc import Iterator

import pytest
from elt_llm_consumer.runner.plan import RowSelection
from row_jobs.fake_jobs import load, run
from served.jobs import JOB, READER, STRANGER, WRITER, ServedJobs, job_project, served_jobs

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedJobs]:
    """Start one server for all tests. Each test reviews different rows."""
    with served_jobs(job_project(tmp_path_factory.mktemp("rows"))) as server:
        yield server


def _names(jobs: ServedJobs, **asked: str | int) -> list[str]:
    answer = jobs.get(JOB, **asked)
    assert answer.status_code == 200, answer.text
    return [row["name"] for row in answer.json()["rows"]]


def test_rows_are_paged_in_the_order_they_were_written(jobs: ServedJobs) -> None:
    page = jobs.get(JOB, table="terms", offset=2, limit=3).json()
    assert [row["name"] for row in page["rows"]] == ["Term 02", "Term 03", "Term 04"]
    assert (page["total"], page["offset"], page["tables"]) == (6, 2, {"terms": 6, "folders": 3})
    assert page["rows"][0]["cells"]["definition"] == {
        "value": "a thing of the number 2.",
        "verdict": "found",
        "evidence": 1,
    }


def test_rows_can_be_filtered_by_table_by_verdict_and_by_words(jobs: ServedJobs) -> None:
    assert _names(jobs, table="folders") == ["a", "b", "c"]
    assert len(_names(jobs, verdict="absent")) == 6
    assert _names(jobs, verdict="conflict") == []
    assert _names(jobs, text="NUMBER thing 3") == ["Term 03"]


def test_a_row_is_returned_with_its_quotes_in_context_and_its_receipts(jobs: ServedJobs) -> None:
    row = jobs.row("Term 01")
    [quote] = [one for one in row["quotes"] if one["field"] == "definition"]
    evidence = quote["evidence"]
    assert (evidence["quote"], quote["found"]) == ("Term 01 means a thing of the number 1.", True)
    assert quote["before"].endswith("Term 00 means a thing of the number 0.\n\n")
    assert (evidence["source"], len(evidence["quote_hash"])) == ("a/one.md", 64)
    assert evidence["span"][1] - evidence["span"][0] == len(evidence["quote"])
    assert {one["file"] for one in row["receipts"]} >= {"rules-glossary.json", "rules-glossary.xlsx"}
    assert str(jobs.server.folder) not in str(row)


def test_an_approved_row_stays_approved_when_the_job_is_run_again(jobs: ServedJobs) -> None:
    row = jobs.row("Term 00")
    asked = {"table": "terms", "key": "Term 00", "status": "approved", "comment": "As the rule says."}
    answer = jobs.post(f"{JOB}/review", {**asked, "seen": row["digest"]})
    assert answer.status_code == 200, answer.text
    assert answer.json()["row"]["review"]["reviewer"] == "local"
    run(load(jobs.server.folder), choice=RowSelection(anew=True))
    review = jobs.row("Term 00")["row"]["review"]
    assert (review["status"], review["comment"], review["stale"]) == ("APPROVED", "As the rule says.", False)
    assert "Term 00" in _names(jobs, status="APPROVED", review="fresh")
    assert "Term 00" not in _names(jobs, review="none")


def test_a_review_always_has_the_name_of_the_key_as_its_reviewer(jobs: ServedJobs) -> None:
    asked = {"table": "terms", "key": "Term 02", "status": "REJECTED", "reviewer": "Registrar"}
    assert jobs.post(f"{JOB}/review", asked, WRITER).json()["row"]["review"]["reviewer"] == "Registrar (key writer)"
    assert jobs.post(f"{JOB}/review", asked).json()["row"]["review"]["reviewer"] == "Registrar"


def test_a_review_can_be_withdrawn(jobs: ServedJobs) -> None:
    turns = [
        jobs.post(f"{JOB}/review", {"table": "terms", "key": "Term 05", "status": status}).json()
        for status in ("REJECTED", "PENDING")
    ]
    assert [one["row"]["review"]["status"] for one in turns] == ["REJECTED", "PENDING"]
    assert "Term 05" in _names(jobs, status="PENDING")


def test_a_review_of_a_row_that_has_changed_is_refused_as_a_conflict(jobs: ServedJobs) -> None:
    asked = {"table": "terms", "key": "Term 03", "status": "APPROVED", "seen": "0" * 64}
    answer = jobs.post(f"{JOB}/review", asked)
    assert (answer.status_code, answer.json()["error"]["type"]) == (409, "row_changed")
    assert jobs.row("Term 03")["row"]["review"]["status"] == "PENDING"


def test_a_read_only_key_sees_rows_but_cannot_review_them(jobs: ServedJobs) -> None:
    assert jobs.get(JOB, READER).json()["total"] == 9
    answer = jobs.post(f"{JOB}/review", {"table": "terms", "key": "Term 04", "status": "APPROVED"}, READER)
    assert answer.status_code == 403
    assert jobs.row("Term 04")["row"]["review"]["status"] == "PENDING"


@pytest.mark.parametrize("path", ["", "/row?table=terms&key=Term+01", "/status", "/stale", "/files", "/files/xlsx"])
def test_a_job_with_unreadable_collections_gets_the_same_response_as_an_unknown_job(
    jobs: ServedJobs, path: str
) -> None:
    refused = jobs.get(f"{JOB}{path}", STRANGER)
    unknown = jobs.get(f"/v1/rows/nothing/glossary{path}", STRANGER)
    assert (refused.status_code, unknown.status_code) == (403, 403)
    reported = [answer.json()["error"]["message"].replace("nothing", "rules") for answer in (refused, unknown)]
    assert reported[0] == reported[1]


def test_a_key_cannot_read_the_rows_of_a_job_that_reads_collections_closed_to_the_key(jobs: ServedJobs) -> None:
    assert jobs.get("/v1/rows/closed/glossary").status_code == 200
    assert jobs.get("/v1/rows/closed/glossary", WRITER).status_code == 403


@pytest.mark.parametrize("key", ["Term 99", "", "../Term 01", "%"])
def test_an_unknown_row_is_refused(jobs: ServedJobs, key: str) -> None:
    assert jobs.get(f"{JOB}/row", table="terms", key=key).status_code == 403


@pytest.mark.parametrize("path", ["/v1/rows/..%2Frules/glossary", "/v1/rows/rules/secrets", f"{JOB}?verdict=maybe"])
def test_unknown_jobs_job_kinds_and_row_filters_are_refused(jobs: ServedJobs, path: str) -> None:
    assert jobs.get(path).status_code in {403, 404, 422}


def test_the_number_of_reviews_per_status_is_returned(jobs: ServedJobs) -> None:
    asked = {"table": "terms", "key": "Term 05", "status": "NEEDS_CLARIFICATION", "comment": "Which thing?"}
    assert jobs.post(f"{JOB}/review", asked).status_code == 200
    standing = jobs.get(f"{JOB}/status").json()
    [review] = [one for one in standing["reviews"] if one["key"] == "Term 05"]
    assert (review["status"], review["state"], review["comment"]) == ("NEEDS_CLARIFICATION", "fresh", "Which thing?")
    assert standing["counts"]["NEEDS_CLARIFICATION"] == 1
    assert standing["rows"] == sum(standing["counts"].values()) == 9
    assert jobs.get(f"{JOB}/stale").json()["stale"] == []


def test_a_job_without_output_has_no_rows(jobs: ServedJobs) -> None:
    page = jobs.get("/v1/rows/closed/glossary").json()
    assert (page["total"], page["rows"], page["tables"]) == (0, [], {})
