"""Jobs of the operator over HTTP: listed for who may read all they read, run by who may change it, led nowhere else."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from served_jobs import READER, STRANGER, WRITER, ServedJobs, ended, job_project, served_jobs

pytestmark = pytest.mark.network
RUN = "/v1/batch-jobs/glossary"


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedJobs]:
    with served_jobs(job_project(tmp_path_factory.mktemp("batch"))) as server:
        yield server


def _listed(jobs: ServedJobs, holder: str = "") -> dict[str, dict[str, Any]]:
    return {job["name"]: job for job in jobs.get("/v1/batch-jobs", holder).json()["jobs"]}


def test_jobs_are_listed_with_what_they_read_and_what_can_be_made_of_it(jobs: ServedJobs) -> None:
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
def test_a_key_is_told_of_jobs_whose_collections_it_reads_and_of_no_others(
    jobs: ServedJobs, holder: str, names: set[str]
) -> None:
    listed = _listed(jobs, holder)
    assert listed.keys() == names
    assert all(job["may_change"] == (holder != READER) for job in listed.values())


def test_a_job_file_with_a_mistake_is_told_to_the_operator_alone(jobs: ServedJobs) -> None:
    [problem] = jobs.get("/v1/batch-jobs").json()["problems"]
    assert "broken.yaml" in problem
    assert jobs.get("/v1/batch-jobs", WRITER).json()["problems"] == []


def test_a_job_that_is_run_ends_with_a_report_and_rows_that_can_be_taken_home(jobs: ServedJobs) -> None:
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


def test_a_dry_run_says_what_there_is_to_do_and_makes_nothing(jobs: ServedJobs) -> None:
    answer = jobs.post(RUN, {"job": "closed", "dry_run": True, "limit": 3})
    job = ended(jobs, answer.json()["id"])
    plan = jobs.get(f"/v1/jobs/{job['id']}/result").json()["plan"]
    assert 0 < plan["to_make"] <= 3
    assert jobs.get("/v1/rows/closed/glossary").json()["total"] == 0


def test_a_key_that_reads_runs_nothing(jobs: ServedJobs) -> None:
    assert jobs.post(RUN, {"job": "rules"}, READER).status_code == 403


def test_a_job_that_reads_more_than_a_key_cannot_be_run_by_it(jobs: ServedJobs) -> None:
    refused, unknown = (jobs.post(RUN, {"job": name}, WRITER) for name in ("closed", "nothing"))
    assert (refused.status_code, unknown.status_code) == (403, 403)
    assert refused.json()["error"]["message"].replace("closed", "nothing") == unknown.json()["error"]["message"]


def test_a_kind_that_the_sources_do_not_allow_is_refused_before_it_waits(jobs: ServedJobs) -> None:
    answer = jobs.post("/v1/batch-jobs/catalog", {"job": "rules"})
    assert answer.status_code == 400
    assert "glossary" in answer.json()["error"]["hint"]


@pytest.mark.parametrize(
    "name", ["../consumer/rules", "/etc/passwd", "consumer/rules.yaml", "rules.yaml", "rules\u0000", ".", "", "a" * 101]
)
def test_a_path_names_no_job(jobs: ServedJobs, name: str) -> None:
    assert jobs.post(RUN, {"job": name}).status_code in {403, 422}


def test_a_job_file_beside_the_folder_is_not_found_by_any_name(jobs: ServedJobs) -> None:
    (jobs.server.folder / "config" / "outside.yaml").write_text("sources: {handbook: [library]}\n", encoding="utf-8")
    assert "outside" not in _listed(jobs)
    assert jobs.post(RUN, {"job": "outside"}).status_code == 403


@pytest.mark.parametrize("given", [{"limit": 0}, {"only": "all"}, {"folder": "elsewhere"}, {"anew": "perhaps"}])
def test_options_that_the_command_has_not_are_refused(jobs: ServedJobs, given: dict[str, object]) -> None:
    assert jobs.post(RUN, {"job": "rules", **given}).status_code == 422
