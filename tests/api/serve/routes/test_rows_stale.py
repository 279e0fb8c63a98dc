"""Rows become stale when their documents change, and stay hidden from keys that may not read a quoted collection."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from elt_llm_core.collection.forgetting import forget
from elt_llm_core.progress import SilentListener
from elt_llm_core.state.database import open_state
from row_jobs.fake_jobs import load, run
from served.jobs import JOB, WRITER, ServedJobs, job_project, served_jobs
from stored.folders import run_ingest
from stored.shelf import writing

pytestmark = pytest.mark.network


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[ServedJobs]:
    """Start a separate server, because the tests change its project."""
    with served_jobs(job_project(tmp_path)) as server:
        yield server


def test_a_changed_document_makes_its_rows_stale_and_a_missing_quote_is_reported(jobs: ServedJobs) -> None:
    loaded = load(jobs.server.folder)
    document = jobs.server.folder / "docs" / "a" / "one.md"
    document.write_text(document.read_text(encoding="utf-8").replace("number 1.", "number one."), encoding="utf-8")
    run_ingest(loaded.data_dir, jobs.server.folder / "docs")
    [gone] = [one for one in jobs.get(f"{JOB}/stale").json()["stale"] if one["key"] == "Term 01"]
    assert "the quote is missing" in gone["changes"][0]
    quote = jobs.row("Term 01")["quotes"][0]
    assert (quote["found"], quote["before"], quote["after"]) == (False, "", "")
    assert quote["evidence"]["quote"] == "Term 01 means a thing of the number 1."


def test_a_row_with_an_unreadable_quote_is_hidden_even_if_the_job_file_no_longer_names_its_collection(
    jobs: ServedJobs,
) -> None:
    with closing(open_state(jobs.server.data_dir)) as state:
        state.execute(
            "UPDATE job_shown SET documents = replace(documents, '\"library\"', '\"secret\"') WHERE row_key = 'Term 01'"
        )
    assert jobs.get(JOB, text="Term 01").json()["total"] == 1
    assert jobs.get(JOB, WRITER, text="Term 01").json()["total"] == 0
    assert jobs.get(f"{JOB}/row", WRITER, table="terms", key="Term 01").status_code == 403
    asked = {"table": "terms", "key": "Term 01", "status": "APPROVED"}
    assert jobs.post(f"{JOB}/review", asked, WRITER).status_code == 403


def test_files_made_from_a_forgotten_document_are_withheld_until_the_job_runs_again(jobs: ServedJobs) -> None:
    loaded = load(jobs.server.folder)
    with writing(loaded.data_dir) as store:
        forget(store, "library", "a/one.md", SilentListener())
    assert all(file["withheld"] for file in jobs.get(f"{JOB}/files").json()["files"])
    answer = jobs.get(f"{JOB}/files/json")
    assert (answer.status_code, answer.json()["error"]["type"]) == (409, "not_ready")
    assert "made from a document that was forgotten since" in answer.json()["error"]["message"]
    run(loaded)
    assert jobs.get(f"{JOB}/files/json").status_code == 200
    assert not any(file["withheld"] for file in jobs.get(f"{JOB}/files").json()["files"])
