"""The shipped jobs, run on the samples as a newcomer would run them, and compared with the expected results (gold)."""

from pathlib import Path

import pytest
from processes.command_line import CommandResult, run_here

GOLD = Path(__file__).parents[2] / "samples" / "jobs" / "gold"
COLLECTIONS = {"demo": 5, "demo_rules": 5, "demo_model": 224, "demo_inventory": 164}


def test_the_demo_with_jobs_fills_the_collections_of_the_example_jobs(sample_jobs: tuple[Path, CommandResult]) -> None:
    folder, demo = sample_jobs
    assert demo.code == 0, demo
    assert [report["collection"] for report in demo.json["jobs"]] == ["demo_rules", "demo_model", "demo_inventory"]
    listed = run_here("collections", "--json", folder=folder).json
    assert {one["collection"]: one["documents"] for one in listed} == COLLECTIONS


def against_gold(kind: str, folder: Path) -> tuple[dict[str, float], list[str]]:
    """Return the shares of a job's result that agree with the expected result, by name, and the differences."""
    ended = run_here(kind, "--job", kind, "--gold", str(GOLD), "--json", folder=folder)
    assert ended.code == 0, ended
    told = ended.json["gold"]
    return {name: share["value"] for name, share in told["shares"].items()}, told["remarks"]


@pytest.mark.sampled(4, "measured quality")
@pytest.mark.parametrize(
    ("kind", "least"),
    [
        ("glossary", {"precision": 0.95, "recall": 0.95, "contradictions shown": 1, "distractors avoided": 0.95}),
        ("catalog", {"matching F1": 0.95, "near-duplicates kept apart": 1, "found or absent as in gold": 0.9}),
        ("coverage", {"coverage as in gold": 0.9, "gaps, MATCHED": 0.95, "gaps, HANDBOOK_ONLY": 0.95}),
    ],
)
def test_a_job_over_the_sample_documents_agrees_with_its_gold_file(
    kind: str, least: dict[str, float], sample_jobs: tuple[Path, CommandResult]
) -> None:
    shares, remarks = against_gold(kind, sample_jobs[0])
    assert shares["found cells with their quotes on the page"] == 1
    assert {name: shares[name] for name, value in least.items() if shares[name] < value} == {}, remarks


def test_a_missing_gold_file_is_reported_before_any_row_is_made(sample_jobs: tuple[Path, CommandResult]) -> None:
    folder, _ = sample_jobs
    ended = run_here("coverage", "--job", "coverage", "--gold", "nowhere", folder=folder)
    assert ended.code == 2
    assert "nowhere" in ended.err
