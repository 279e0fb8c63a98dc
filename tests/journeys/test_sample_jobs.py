"""The jobs that come with the product, run on the samples as a newcomer would run them and held against their gold."""

from pathlib import Path

from command_line import Ended, run_process

GOLD = Path(__file__).parents[2] / "samples" / "jobs" / "gold"
COLLECTIONS = {"demo": 5, "demo_rules": 5, "demo_model": 224, "demo_inventory": 164}


def test_the_demo_with_jobs_fills_the_collections_that_the_example_jobs_name(sample_jobs: tuple[Path, Ended]) -> None:
    folder, demo = sample_jobs
    assert demo.code == 0, demo
    assert [report["collection"] for report in demo.json["jobs"]] == ["demo_rules", "demo_model", "demo_inventory"]
    listed = run_process("collections", "--json", folder=folder).json
    assert {one["collection"]: one["documents"] for one in listed} == COLLECTIONS


def test_coverage_of_the_samples_is_nearly_as_gold_says(sample_jobs: tuple[Path, Ended]) -> None:
    folder, _ = sample_jobs
    ended = run_process("coverage", "--job", "coverage", "--gold", str(GOLD), "--json", folder=folder)
    assert ended.code == 0, ended
    shares = {name: share["value"] for name, share in ended.json["gold"]["shares"].items()}
    assert shares["coverage as in gold"] >= 0.9, ended.json["gold"]["remarks"]
    assert shares["gaps, MATCHED"] >= 0.95
    assert shares["gaps, MODEL_ONLY"] >= 0.95
    assert shares["gaps, HANDBOOK_ONLY"] >= 0.95
    assert shares["found cells with their quotes on the page"] == 1


def test_gold_that_is_not_there_is_said_before_anything_is_made(sample_jobs: tuple[Path, Ended]) -> None:
    folder, _ = sample_jobs
    ended = run_process("coverage", "--job", "coverage", "--gold", "nowhere", folder=folder)
    assert ended.code == 2
    assert "nowhere" in ended.err
