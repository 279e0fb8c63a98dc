"""The operator's jobs over HTTP: readers of their collections list them, and writers run them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from served.jobs import READER, STRANGER, WRITER, ServedJobs, ended, job_project, served_jobs

pytestmark = pytest.mark.network
RUN = "/v1/batch-jobs/glossary"


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedJobs]:
    with served_jobs(job_project(tmp_path_factory.mktemp("batch"))) as server:
        yield server


def _listed(jobs: ServedJobs, holder: str = "") -> dict[str, dict[str, Any]]:
    return {job["name"]: job for job in jobs.get("/v1/batch-jobs", holder).json()["jobs"]}


def test_batch_jobs_are_listed_with_their_collections_and_their_job_kinds(jobs: ServedJobs) -> None:
    job = _listed(jobs)["closed"]
    assert job["kinds"] == ["glossary", "handbook"]
    assert (job["collections"], job["missing"], job["description"]) == (["library", "secret"], [], "All of it.")


@pytest.mark.parametrize(
    ("holder", "names"),
    [
        ("", {"rules", "birds", "closed"}),
        (READER, {"rules", "birds"}),
        (WRITER, {"rules", "birds"}),
        (STRANGER, set()),
    ],
)
def test_a_key_sees_only_jobs_whose_collections_it_may_read(jobs: ServedJobs, holder: str, names: set[str]) -> None:
    listed = _listed(jobs, holder)
    assert listed.keys() == names
    assert all(job["may_change"] == (holder != READER) for job in listed.values())


def test_only_the_operator_sees_mistakes_in_job_files(jobs: ServedJobs) -> None:
    [problem] = jobs.get("/v1/batch-jobs").json()["problems"]
    assert "broken.yaml" in problem
    assert jobs.get("/v1/batch-jobs", WRITER).json()["problems"] == []


def test_a_finished_batch_job_has_a_report_and_its_rows_can_be_downloaded(jobs: ServedJobs) -> None:
    answer = jobs.post(RUN, {"job": "birds"}, WRITER)
    assert answer.status_code == 202, answer.text
    job = ended(jobs, answer.json()["id"])
    assert (job["status"], job["error"], job["collections"]) == ("done", "", ["meadow"])
    report = jobs.get(f"/v1/jobs/{job['id']}/result", WRITER).json()
    assert report["rows"] == 2
    assert "birds-glossary.xlsx" in report["files"]
    assert str(jobs.server.folder) not in json.dumps(report)
    rows = jobs.get("/v1/rows/birds/glossary", WRITER, table="terms").json()["rows"]
    assert {row["name"] for row in rows} == {"Skylark", "Curlew"}
    assert jobs.get("/v1/rows/birds/glossary/files/html", WRITER).content.startswith(b"<!")


def test_a_dry_run_of_a_batch_job_reports_the_plan_and_makes_no_rows(jobs: ServedJobs) -> None:
    answer = jobs.post(RUN, {"job": "closed", "dry_run": True, "limit": 3})
    job = ended(jobs, answer.json()["id"])
    plan = jobs.get(f"/v1/jobs/{job['id']}/result").json()["plan"]
    assert 0 < plan["to_make"] <= 3
    assert jobs.get("/v1/rows/closed/glossary").json()["total"] == 0


def test_a_read_only_key_cannot_run_a_job_file(jobs: ServedJobs) -> None:
    assert jobs.post(RUN, {"job": "rules"}, READER).status_code == 403


def test_a_key_cannot_run_a_job_that_reads_collections_closed_to_the_key(jobs: ServedJobs) -> None:
    refused, unknown = (jobs.post(RUN, {"job": name}, WRITER) for name in ("closed", "nothing"))
    assert (refused.status_code, unknown.status_code) == (403, 403)
    assert refused.json()["error"]["message"].replace("closed", "nothing") == unknown.json()["error"]["message"]


def test_a_job_kind_that_the_sources_do_not_allow_is_refused_before_the_job_is_queued(jobs: ServedJobs) -> None:
    answer = jobs.post("/v1/batch-jobs/catalog", {"job": "rules"})
    assert answer.status_code == 400
    assert "glossary" in answer.json()["error"]["hint"]


def test_topics_are_refused_for_jobs_that_have_none(jobs: ServedJobs) -> None:
    answer = jobs.post(RUN, {"job": "rules", "topics": ["cards"]})
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, "A glossary job has no topics.")


@pytest.mark.parametrize(
    "name", ["../consumer/rules", "/etc/passwd", "consumer/rules.yaml", "rules.yaml", "rules\u0000", ".", "", "a" * 101]
)
def test_a_job_name_that_is_a_path_is_refused(jobs: ServedJobs, name: str) -> None:
    assert jobs.post(RUN, {"job": name}).status_code in {403, 422}


def test_a_job_file_outside_the_job_folder_is_never_found(jobs: ServedJobs) -> None:
    (jobs.server.folder / "config" / "outside.yaml").write_text("sources: {handbook: [library]}\n", encoding="utf-8")
    assert "outside" not in _listed(jobs)
    assert jobs.post(RUN, {"job": "outside"}).status_code == 403


@pytest.mark.parametrize("given", [{"limit": 0}, {"only": "all"}, {"folder": "elsewhere"}, {"anew": "perhaps"}])
def test_unknown_options_of_a_batch_job_are_refused(jobs: ServedJobs, given: dict[str, object]) -> None:
    assert jobs.post(RUN, {"job": "rules", **given}).status_code == 422
