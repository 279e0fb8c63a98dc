"""The report of a run has an exit code and counts."""

import json

import pytest
from elt_llm_ingest.run.report import FileOutcome, FileStatus, IngestReport


def _report(*statuses: FileStatus) -> IngestReport:
    files = tuple(FileOutcome(f"{number}.md", status) for number, status in enumerate(statuses))
    return IngestReport("library", files, 1, True, 1, 1, 1, 0, "00", 0.1)


@pytest.mark.parametrize(
    ("status", "code"),
    [("ok", 0), ("unchanged", 0), ("empty", 0), ("skipped", 0), ("removed", 0), ("failed", 1), ("missing", 1)],
)
def test_an_ingest_report_has_an_error_exit_code_only_for_failures_and_postponed_deletions(
    status: FileStatus, code: int
) -> None:
    assert _report("ok", status).exit_code == code


def test_an_ingest_report_can_be_converted_to_json_values() -> None:
    values = json.loads(json.dumps(_report("ok", "ok", "failed").to_json()))
    assert values["counts"] == {"ok": 2, "failed": 1}
    assert values["files"][2] == {"path": "2.md", "status": "failed", "reason": "", "chunks": 0, "stale": False}
