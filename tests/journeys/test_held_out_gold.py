"""The quality of jobs on held-out documents, which may be slightly lower than on the samples."""

import shutil
from pathlib import Path

import pytest
from processes.command_line import CommandResult, run_here

HELD_OUT = Path(__file__).parents[1] / "fixtures" / "held_out"
GOLD = Path(__file__).parents[2] / "samples" / "jobs" / "gold"


@pytest.fixture
def glossary_project(tmp_path: Path) -> Path:
    """A project with the held-out documents and a job over them."""
    assert run_here("init", "--examples", folder=tmp_path).code == 0
    assert run_here("ingest", HELD_OUT / "documents", "-c", "others", folder=tmp_path).code == 0
    job = tmp_path / "config" / "consumer" / "others.yaml"
    job.write_text("description: held out\nsources:\n  handbook: [others]\n", encoding="utf-8")
    return tmp_path


@pytest.mark.sampled(4, "measured quality")
def test_most_definitions_in_held_out_documents_are_found_and_few_found_definitions_are_wrong(
    glossary_project: Path,
) -> None:
    ended = run_here("glossary", "--job", "others", "--gold", HELD_OUT, "--json", folder=glossary_project)
    assert ended.code == 0, ended
    shares = {name: share["value"] for name, share in ended.json["gold"]["shares"].items()}
    assert shares["precision"] >= 0.9, ended.json["gold"]["remarks"]
    assert shares["recall"] >= 0.7, ended.json["gold"]["remarks"]
    assert shares["distractors avoided"] >= 0.9
    assert shares["found cells with their quotes on the page"] == 1


@pytest.mark.sampled(4, "measured quality")
def test_the_fields_of_held_out_entities_agree_with_the_gold_file(
    sample_jobs: tuple[Path, CommandResult], tmp_path: Path
) -> None:
    for name in ("glossary.jsonl", "entities.jsonl"):
        shutil.copy(GOLD / name, tmp_path)
    shutil.copy(HELD_OUT / "fields.jsonl", tmp_path)
    folder = sample_jobs[0]
    # The job has a different name, because another worker may be running the sample job.
    shutil.copy(folder / "config" / "consumer" / "catalog.yaml", folder / "config" / "consumer" / "held_out.yaml")
    ended = run_here("catalog", "--job", "held_out", "--gold", tmp_path, "--json", folder=folder)
    assert ended.code == 0, ended
    shares = {name: share["value"] for name, share in ended.json["gold"]["shares"].items()}
    assert shares["found or absent as in gold"] >= 0.85, ended.json["gold"]["remarks"]
