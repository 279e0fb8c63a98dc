"""The commands of jobs: output before, during and after a run, and exit codes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from elt_llm_api.cli.job_commands import job_command
from elt_llm_api.cli.options import CommandContext
from elt_llm_core.settings.loader import LoadedSettings
from processes.command_line import CommandLine
from row_jobs.fake_jobs import KIND, MeaningJob, project, some_terms
from stored.folders import run_ingest

pytestmark = pytest.mark.halved


# A job command with a slow model, called through the real `main`.
SLOW = """
from elt_llm_api.cli import group, main
from elt_llm_api.cli.options import CommandEntry
group.table["glossary"] = CommandEntry("glossary", "slow_meanings", "Make meanings.")
main()
"""
SLOW_COMMAND = """
import dataclasses
import os
from pathlib import Path
from elt_llm_api.cli.job_commands import job_command
from row_jobs.fake_jobs import KIND, MeaningJob, FaultyLLM

def create(kind, context):
    llm = FaultyLLM(Path(os.environ["CALLS"]), seconds=float(os.environ["SECONDS"]))
    object.__setattr__(context, "llm", llm)
    return MeaningJob(context)

command = job_command(KIND, "Make meanings.", create)
"""


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedSettings:
    return project(tmp_path, {"a/one.md": some_terms(3), "b/two.md": some_terms(3, first=3)})


def _run(loaded: LoadedSettings, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the `meanings` job."""
    command = job_command(KIND, "Make meanings.", lambda _, context: MeaningJob(context))
    context = CommandContext(None, None, 0, {}, loaded.project)
    capsys.readouterr()
    with command.make_context(KIND, ["--job", "rules", *arguments], obj=context) as call:
        code = command.invoke(call)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_job_prints_its_estimate_its_progress_the_number_of_rows_and_the_written_files(
    loaded: LoadedSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _run(loaded, capsys)
    assert code == 0
    assert "6 rows: 6 to generate, 0 stored." in err
    assert "No language model is used" in err
    assert "Making rows: 6" in err
    assert "terms  6\n" in out
    assert "glossary of rules: 6 rows, 6 generated, 0 kept in " in out
    assert "written  out/rules-glossary.json\n" in out


def test_a_partial_run_of_a_job_reports_the_missing_rows(
    loaded: LoadedSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = _run(loaded, capsys, "--only", "Term 01", "--only", "term 02", "--limit", "1")
    assert code == 0
    assert "6 rows, 1 generated, 0 kept, 5 skipped" in out
    assert "Not complete: 5 of 6 rows are missing: Term 00, Term 02" in out


def test_a_dry_run_prints_only_the_plan(loaded: LoadedSettings, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(loaded, capsys, "--dry-run", "--domain", "b")
    assert code == 0
    assert "6 rows: 3 to generate, 0 stored, 3 skipped." in out
    assert out.endswith("Nothing was generated.\n")
    _, as_json, err = _run(loaded, capsys, "--dry-run", "--json")
    assert json.loads(as_json)["plan"]["to_make"] == 6
    assert err == ""
    assert not (loaded.project / "out").exists()


def test_with_the_json_option_a_job_prints_one_json_document_to_stdout(
    loaded: LoadedSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _run(loaded, capsys, "--json")
    report = json.loads(out)
    assert (code, err) == (0, "")
    assert (report["made"], report["failed"], report["figures"]) == (6, 0, {"terms": 6})


def test_a_failed_row_is_reported_with_a_hint_and_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = project(tmp_path, {"a/one.md": some_terms(1) + "A failing term means trouble.\n"})
    code, out, err = _run(loaded, capsys)
    assert code == 1
    assert "failed  A failing term: A failing term cannot be made" in out
    assert "Mend the document" in out
    assert "failed: A failing term" in err


def test_reviews_are_imported_and_a_replay_confirms_that_the_output_is_unchanged(
    loaded: LoadedSettings, elt_llm: CommandLine, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(loaded, capsys)
    sheet = loaded.project / "back.csv"
    sheet.write_text(
        "table,key,review_status,reviewer,review_comment\nterms,Term 01,APPROVED,Desk,Good.\nterms,Term 9,APPROVED,,\n",
        encoding="utf-8",
    )
    taken = elt_llm("review", "import", "back.csv", "--job", "rules")
    assert taken.code == 1
    assert "wrong  row 3: the table 'terms' has no row 'Term 9'." in taken.out
    assert "1 review imported, 0 unchanged, 0 lines without a review, 1 wrong." in taken.out
    status = elt_llm.done("review", "status", "--job", "rules")
    assert "APPROVED  terms  Term 01  fresh  Desk" in status.out
    assert "8 rows: 1 APPROVED, 7 PENDING." in status.out
    assert "no source text changed" in elt_llm.done("review", "stale", "--job", "rules", "--kind", KIND).out
    assert elt_llm.done("review", "stale", "--job", "rules", "--json").json["stale"] == []
    receipt = "out/rules-glossary.json.receipt.json"
    assert elt_llm.done("replay", receipt).out == "rules-glossary.json.receipt.json: reproducible.\n"
    (loaded.project / "out" / "rules-glossary.json").unlink()
    changed = elt_llm("replay", receipt, "--json")
    assert (changed.code, changed.json["holds"]) == (1, False)


def test_rows_with_changed_quotes_and_stale_reviews_are_counted_apart(
    loaded: LoadedSettings, elt_llm: CommandLine, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(loaded, capsys)
    sheet = loaded.project / "back.csv"
    approved = "".join(f"terms,Term 0{number},APPROVED,Desk,\n" for number in range(3))
    sheet.write_text(f"table,key,review_status,reviewer,review_comment\n{approved}", encoding="utf-8")
    elt_llm.done("review", "import", "back.csv", "--job", "rules")
    path = loaded.project / "docs" / "a" / "one.md"
    path.write_text(path.read_text(encoding="utf-8").replace("a thing of the number 1", "a lamp"), encoding="utf-8")
    run_ingest(loaded.data_dir, loaded.project / "docs")
    stale = elt_llm.done("review", "stale", "--job", "rules").out
    assert stale.startswith("terms  Term 01  APPROVED\n")
    assert "the source text of 4 rows changed; 1 row with a missing quote first, then those" in stale
    _run(loaded, capsys)
    assert "8 rows: 3 APPROVED (1 stale), 5 PENDING." in elt_llm.done("review", "status", "--job", "rules").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["review", "status", "--job", "rules"], "Job 'rules' has no results yet."),
        (["review", "status", "--job", "rules", "--kind", "x"], "There is no kind of job 'x'."),
        (["glossary", "--job", "rulez"], "There is no job 'rulez'."),
        (["replay", "none.receipt.json"], "There is no file"),
        (["review", "imprt"], "There is no command 'imprt'. Did you mean import?"),
    ],
)
def test_usage_errors_of_job_commands_exit_with_code_2(
    arguments: list[str], message: str, loaded: LoadedSettings, elt_llm: CommandLine
) -> None:
    ended = elt_llm(*arguments)
    assert ended.code == 2
    assert message in ended.err


def _slow(folder: Path, seconds: float) -> "subprocess.Popen[str]":
    (folder / "slow_meanings.py").write_text(SLOW_COMMAND, encoding="utf-8")
    paths = [str(folder), str(Path(__file__).parents[2] / "support"), os.environ["PYTHONPATH"]]
    return subprocess.Popen(
        [sys.executable, "-c", SLOW, KIND, "--job", "rules"],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "CALLS": str(folder / "calls.txt"),
            "SECONDS": str(seconds),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 - one thread
    )


def _wait_for(path: Path, lines: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if path.exists() and len(path.read_text(encoding="utf-8").splitlines()) >= lines:
            return
        time.sleep(0.02)
    pytest.fail(f"{path} never had {lines} lines")


@pytest.mark.sampled(1, "running job")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_job_stops_at_once_and_keeps_the_rows_made_so_far(
    number: signal.Signals, code: int, loaded: LoadedSettings
) -> None:
    with _slow(loaded.project, 1.0) as process:
        _wait_for(loaded.project / "calls.txt", 3)  # one or two rows are done; the model still generates the next ones
        started = time.monotonic()
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        took = time.monotonic() - started
    assert process.returncode == code, err
    assert "Run the same command again to continue where it stopped." in err
    assert "Traceback" not in err
    assert took < 10  # two seconds on an idle machine
    with _slow(loaded.project, 0.0) as process:
        out, _ = process.communicate(timeout=60)
    assert any(f"6 rows, {6 - kept} generated, {kept} kept" in out for kept in (1, 2, 3)), out


@pytest.mark.sampled(1, "running job")
def test_a_second_run_of_a_job_is_refused_while_the_first_is_running(
    loaded: LoadedSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    with _slow(loaded.project, 60.0) as process:
        _wait_for(loaded.project / "calls.txt", 1)
        second = _slow(loaded.project, 0.0)
        _, refused = second.communicate(timeout=60)
        assert second.returncode == 75
        assert f"is being run by process {process.pid}" in refused
        assert _run(loaded, capsys, "--dry-run")[0] == 0
        process.kill()
    assert _run(loaded, capsys)[0] == 0


def test_a_job_command_without_a_job_name_is_refused(elt_llm: CommandLine) -> None:
    ended = elt_llm("glossary")
    assert (ended.code, ended.err.splitlines()[0]) == (2, "Error: Missing option '--job'.")
