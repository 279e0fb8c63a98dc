"""Exports over HTTP are complete, are sent as attachments, and belong to the requested job."""

import json
from collections.abc import Iterator
from io import BytesIO

import pytest
from openpyxl import load_workbook
from served.jobs import JOB, READER, STRANGER, ServedJobs, job_project, served_jobs

pytestmark = pytest.mark.network
FILES = f"{JOB}/files"


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedJobs]:
    with served_jobs(job_project(tmp_path_factory.mktemp("files"))) as server:
        yield server


def test_the_list_of_exported_files_contains_exactly_the_files_of_the_job(jobs: ServedJobs) -> None:
    out = jobs.server.folder / "out"
    (out / "rules-glossary.notes.csv").write_text("somebody's", encoding="utf-8")
    (out / "rules-glossary.link.csv").symlink_to("/etc/passwd")
    (out / "rules-glossary.link.csv.receipt.json").write_bytes((out / "rules-glossary.xlsx.receipt.json").read_bytes())
    listed = {file["file"]: file["format"] for file in jobs.get(FILES).json()["files"]}
    assert listed == {
        "rules-glossary.json": "json",
        "rules-glossary.terms.csv": "csv",
        "rules-glossary.folders.csv": "csv",
        "rules-glossary.evidence.csv": "csv",
        "rules-glossary.xlsx": "xlsx",
    }


@pytest.mark.parametrize(
    ("wanted", "kind"),
    [
        ("json", "application/json"),
        ("rules-glossary.json", "application/json"),
        ("csv", "text/csv; charset=utf-8"),
        ("rules-glossary.terms.csv", "text/csv; charset=utf-8"),
        ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ],
)
def test_an_exported_file_is_sent_completely_as_an_attachment(jobs: ServedJobs, wanted: str, kind: str) -> None:
    answer = jobs.get(f"{FILES}/{wanted}", READER)
    assert answer.status_code == 200
    headers = answer.headers
    assert (headers["content-type"], headers["x-content-type-options"]) == (kind, "nosniff")
    assert headers["content-disposition"].startswith('attachment; filename="rules-glossary.')
    assert "sandbox" in headers["content-security-policy"]
    name = headers["content-disposition"].split('"')[1]
    assert answer.content == (jobs.server.folder / "out" / name).read_bytes()


def test_a_downloaded_file_of_each_export_format_can_be_opened(jobs: ServedJobs) -> None:
    assert json.loads(jobs.get(f"{FILES}/json").content)["job"] == "rules"
    assert "Terms" in load_workbook(BytesIO(jobs.get(f"{FILES}/xlsx").content)).sheetnames


@pytest.mark.parametrize(
    "wanted",
    [
        "html",
        "rules-glossary.html",
        "..%2F..%2Fconfig%2Frag_config.yaml",
        "%2Fetc%2Fpasswd",
        "rules-glossary.notes.csv",
        "rules-glossary.xlsx.receipt.json",
        "rules-glossary.json%00",
    ],
)
def test_files_that_the_job_did_not_write_are_refused(jobs: ServedJobs, wanted: str) -> None:
    answer = jobs.get(f"{FILES}/{wanted}")
    assert answer.status_code in {403, 404}
    assert "root:" not in answer.text


def test_downloading_a_file_requires_read_access_to_all_its_sources(jobs: ServedJobs) -> None:
    assert jobs.get(FILES, STRANGER).status_code == 403
    assert jobs.get(f"{FILES}/json", STRANGER).status_code == 403


def test_an_exported_file_made_from_an_unreadable_collection_is_not_listed(jobs: ServedJobs) -> None:
    receipt = jobs.server.folder / "out" / "rules-glossary.terms.csv.receipt.json"
    reported = json.loads(receipt.read_text(encoding="utf-8"))
    changed = {**reported, "documents": [{**one, "collection": "secret"} for one in reported["documents"]]}
    receipt.write_text(json.dumps(changed), encoding="utf-8")
    try:
        assert jobs.get(f"{FILES}/rules-glossary.terms.csv").status_code == 200
        assert jobs.get(f"{FILES}/rules-glossary.terms.csv", READER).status_code == 403
    finally:
        receipt.write_text(json.dumps(reported), encoding="utf-8")


def test_the_list_of_exported_files_shows_which_files_lack_later_reviews(jobs: ServedJobs) -> None:
    answer = jobs.post(f"{JOB}/review", {"table": "terms", "key": "Term 01", "status": "APPROVED"})
    assert answer.status_code == 200
    assert all(file["before_reviews"] for file in jobs.get(FILES).json()["files"])
