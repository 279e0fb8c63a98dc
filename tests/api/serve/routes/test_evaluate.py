"""Evaluations over HTTP: jobs of bounded size, within the scope of the caller."""

from collections.abc import Iterator

import pytest
from served.jobs import READER, STRANGER, ServedJobs, ended, job_project, served_jobs

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedJobs]:
    with served_jobs(job_project(tmp_path_factory.mktemp("evaluate"))) as server:
        yield server


def test_a_collection_is_evaluated_with_questions_generated_from_it(jobs: ServedJobs) -> None:
    asked = {"collection": "meadow", "questions": 5, "profiles": ["default"]}
    answer = jobs.post("/v1/evaluate", asked, READER)
    assert answer.status_code == 202, answer.text
    job = ended(jobs, answer.json()["id"])
    assert (job["status"], job["kind"]) == ("done", "evaluate"), job
    [report] = jobs.get(f"/v1/jobs/{job['id']}/result", READER).json()["reports"]
    assert report["profile"] == "default"
    assert 0 < report["queries"] <= 5
    assert jobs.get(f"/v1/jobs/{job['id']}", STRANGER).status_code == 403


def test_evaluating_an_unreadable_collection_fails_with_the_error_for_an_unknown_collection(jobs: ServedJobs) -> None:
    refused, unknown = (jobs.post("/v1/evaluate", {"collection": name}, READER) for name in ("secret", "nothing"))
    assert (refused.status_code, unknown.status_code) == (403, 403)
    assert refused.json()["error"]["message"].replace("secret", "nothing") == unknown.json()["error"]["message"]


@pytest.mark.parametrize(
    "given", [{"questions": 0}, {"questions": 1001}, {"profiles": ["default"] * 6}, {"seed": -1}, {"directory": "x"}]
)
def test_evaluation_requests_with_too_many_questions_or_unknown_keys_are_refused(
    jobs: ServedJobs, given: dict[str, object]
) -> None:
    assert jobs.post("/v1/evaluate", {"collection": "meadow", **given}).status_code == 422


def test_an_unknown_profile_is_refused_before_the_job_is_queued(jobs: ServedJobs) -> None:
    answer = jobs.post("/v1/evaluate", {"collection": "meadow", "profiles": ["defualt"]})
    assert answer.status_code == 400
    assert "default" in answer.text
