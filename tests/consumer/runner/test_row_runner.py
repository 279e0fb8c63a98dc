"""Job runs store finished rows, reuse stored rows, and report failures."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from elt_llm_consumer.runner.costs import RunCost
from elt_llm_consumer.runner.plan import RowSelection
from elt_llm_consumer.runner.run import JobRequest, run_job
from elt_llm_core.errors import ModelUnavailable, StoreError, UsageError
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobName, JobRowTable
from row_jobs.fake_jobs import KIND, FaultyLLM, MeaningJob, calls_of, job_file, outputs_of, project, run, some_terms
from stored.folders import run_ingest, write_files

pytestmark = pytest.mark.halved


DOCUMENTS = {"a/one.md": some_terms(4), "b/two.md": some_terms(4, first=4)}


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedSettings:
    """Return a project with eight terms in two folders."""
    return project(tmp_path, DOCUMENTS)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "calls.txt"


def _terms(loaded: LoadedSettings) -> list[str]:
    written = json.loads(outputs_of(loaded)["rules-glossary.json"])
    domains = written["tables"]["terms"]["domains"]
    return [row["key"] for domain in domains for sub in domain["subgroups"] for row in sub["entities"]]


def _notes(loaded: LoadedSettings) -> list[str]:
    notes: list[str] = json.loads(outputs_of(loaded)["rules-glossary.json"])["notes"]
    return notes


def _kept(loaded: LoadedSettings) -> int:
    with closing(open_state(loaded.data_dir)) as state:
        return len(JobRowTable(state).all(JobName("rules", KIND)))


def test_rows_are_made_once_and_are_written_in_the_order_of_the_job(loaded: LoadedSettings, log: Path) -> None:
    first = run(loaded, FaultyLLM(log))
    written = outputs_of(loaded)
    second = run(loaded, FaultyLLM(log))
    assert (first.made, first.kept, first.spent.calls) == (8, 0, 8)
    assert (second.made, second.kept, second.spent.calls) == (0, 8, 0)
    assert len(calls_of(log)) == 8
    assert outputs_of(loaded) == written
    assert _terms(loaded) == [f"Term {number:02}" for number in range(8)]


def test_tokens_are_counted_as_reported_by_the_server(loaded: LoadedSettings, log: Path) -> None:
    spent = run(loaded, FaultyLLM(log)).spent
    assert (spent.prompt_tokens, spent.answer_tokens) == (8 * 40, 8 * 4)


def test_a_changed_prompt_rebuilds_the_rows(loaded: LoadedSettings, log: Path) -> None:
    run(loaded, FaultyLLM(log))
    assert run(loaded, FaultyLLM(log), prompt="Cut").made == 8


def test_rows_written_by_a_model_survive_runs_without_a_model(loaded: LoadedSettings, log: Path) -> None:
    run(loaded, FaultyLLM(log))
    report = run(loaded)
    assert (report.made, report.spent.calls, report.model) == (8, 0, "")
    again = run(loaded, FaultyLLM(log))
    assert (again.made, again.kept) == (0, 8)


def test_publishing_an_unrelated_collection_rebuilds_no_row(loaded: LoadedSettings, log: Path) -> None:
    run(loaded, FaultyLLM(log))
    write_files(loaded.project / "docs", {"c/other.md": "The weather was fine.\n"})
    run_ingest(loaded.data_dir, loaded.project / "docs")
    report = run(loaded, FaultyLLM(log))
    assert (report.made, report.kept) == (0, 8)


def test_a_changed_document_rebuilds_only_its_own_rows(loaded: LoadedSettings, log: Path) -> None:
    run(loaded, FaultyLLM(log))
    changed = DOCUMENTS["b/two.md"].replace("of the number 4", "of another number")
    write_files(loaded.project / "docs", {"b/two.md": changed})
    run_ingest(loaded.data_dir, loaded.project / "docs")
    report = run(loaded, FaultyLLM(log))
    assert (report.made, report.kept) == (4, 4)


def test_a_failed_row_is_reported_and_all_other_rows_are_written(tmp_path: Path) -> None:
    loaded = project(tmp_path, {"a/one.md": some_terms(3) + "A failing term means trouble.\n"})
    report = run(loaded)
    [failure] = report.failures
    assert (failure.key, failure.reason, failure.hint) == (
        "A failing term",
        "A failing term cannot be made",
        "Mend the document",
    )
    assert report.exit_code == 1
    assert _terms(loaded) == ["Term 00", "Term 01", "Term 02"]
    assert _notes(loaded) == ["Not complete: 1 of 4 rows are missing: A failing term."]


def test_a_run_ends_with_an_error_if_its_state_cannot_be_stored(tmp_path: Path) -> None:
    loaded = project(tmp_path, {"a/one.md": "An unkeepable term means trouble.\n\n" + some_terms(3)})
    with pytest.raises(StoreError, match="The disk is full"):
        run(loaded)


def test_an_unreachable_model_ends_the_run_and_keeps_earlier_outputs(loaded: LoadedSettings) -> None:
    run(loaded)
    written = outputs_of(loaded)
    report = run(loaded, ScriptedLLM([ModelUnavailable("Nobody answers")] * 99))
    assert len(report.failures) == 3
    assert report.files == ()
    assert outputs_of(loaded) == written


def test_a_run_of_selected_rows_keeps_the_other_rows(loaded: LoadedSettings, log: Path) -> None:
    first = run(loaded, FaultyLLM(log), RowSelection(limit=3))
    assert (first.made, first.left_out) == (3, 5)
    assert "5 of 8 rows are missing: Term 03" in _notes(loaded)[0]
    second = run(loaded, FaultyLLM(log), RowSelection(only=("term 07", "Term 06")))
    assert (second.made, second.kept, second.left_out) == (2, 3, 3)
    assert _terms(loaded) == ["Term 00", "Term 01", "Term 02", "Term 06", "Term 07"]
    third = run(loaded, FaultyLLM(log), RowSelection(domain="A"))
    assert (third.made, third.kept) == (1, 5)
    last = run(loaded, FaultyLLM(log))
    assert (last.made, last.kept, _notes(loaded)) == (2, 6, [])
    assert len(calls_of(log)) == 8


def test_a_rebuild_of_requested_rows_does_not_rebuild_other_rows(loaded: LoadedSettings, log: Path) -> None:
    run(loaded, FaultyLLM(log))
    report = run(loaded, FaultyLLM(log), RowSelection(only=("Term 03",), anew=True))
    assert (report.made, report.kept) == (1, 7)
    limited = run(loaded, FaultyLLM(log), RowSelection(limit=2, anew=True))
    assert (limited.made, limited.kept, limited.left_out) == (2, 6, 0)


def test_a_row_whose_rebuild_fails_stays_unchanged(loaded: LoadedSettings, log: Path) -> None:
    run(loaded, FaultyLLM(log))
    written = outputs_of(loaded)
    report = run(loaded, FaultyLLM(log, is_down=True), RowSelection(only=("Term 03",), anew=True))
    assert (report.made, report.kept, len(report.failures), report.left_out) == (0, 8, 1, 0)
    assert outputs_of(loaded) == written


@pytest.mark.parametrize("choice", [RowSelection(only=("Term 9",)), RowSelection(domain="aa")])
def test_the_error_for_a_row_selection_without_matches_suggests_similar_rows(
    loaded: LoadedSettings, choice: RowSelection
) -> None:
    with pytest.raises(UsageError, match=r"The job has no (row 'Term 9'|domain 'aa')") as caught:
        run(loaded, choice=choice)
    assert caught.value.hint


def test_only_a_complete_run_deletes_rows_that_the_job_no_longer_has(loaded: LoadedSettings) -> None:
    run(loaded)
    write_files(loaded.project / "docs", {"b/two.md": some_terms(3, first=4)})
    run_ingest(loaded.data_dir, loaded.project / "docs")
    run(loaded, choice=RowSelection(only=("Term 00",)))
    assert _kept(loaded) == 8
    run(loaded)
    assert _kept(loaded) == 7


def test_a_dry_run_estimates_the_cost_and_makes_no_rows(loaded: LoadedSettings, log: Path) -> None:
    told: list[RunCost] = []
    request = JobRequest(
        KIND,
        job_file(loaded),
        dry_run=True,
        create=lambda _, context: MeaningJob(context),
        on_cost=told.append,
        embedding=FakeEmbedding(),
        llm=FaultyLLM(log),
    )
    assert run_job(request, loaded) is None
    [cost] = told
    assert (cost.rows, cost.to_make, cost.calls, cost.seconds) == (8, 8, 8, None)
    assert 8 * 10 < cost.prompt_tokens < 8 * 30
    assert calls_of(log) == []
    assert not (loaded.project / "out").exists()


def test_the_duration_of_a_run_is_estimated_after_enough_rows_were_measured(loaded: LoadedSettings, log: Path) -> None:
    told: list[RunCost] = []
    run(loaded, FaultyLLM(log, seconds=0.05))
    run(loaded, FaultyLLM(log), RowSelection(anew=True), on_cost=told.append)
    assert told[0].seconds is not None
    assert 0.1 < told[0].seconds < 10
