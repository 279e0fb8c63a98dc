"""The commands of jobs: what they say before, during and after, and how they end."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import CommandLine
from elt_llm_api.job_commands import job_command
from elt_llm_api.options import CommandContext
from elt_llm_core.settings_loader import LoadedSettings
from fake_jobs import KIND, MeaningJob, project, some_terms

# The command of a job whose model takes its time, called through the real `main`.
SLOW = """
from elt_llm_api.cli import group, main
from elt_llm_api.lazy_group import CommandEntry
group.table["glossary"] = CommandEntry("glossary", "slow_meanings", "Make meanings.")
main()
"""
SLOW_COMMAND = """
import dataclasses
import os
from pathlib import Path
from elt_llm_api.job_commands import job_command
from fake_jobs import KIND, MeaningJob, ToldLLM

def create(kind, context):
    llm = ToldLLM(Path(os.environ["CALLS"]), seconds=float(os.environ["SECONDS"]))
    object.__setattr__(context, "llm", llm)
    return MeaningJob(context)

command = job_command(KIND, "Make meanings.", create)
"""


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedSettings:
    return project(tmp_path, {"a/one.md": some_terms(3), "b/two.md": some_terms(3, first=3)})


def _run(loaded: LoadedSettings, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The command of the kind with the job of meanings."""
    command = job_command(KIND, "Make meanings.", lambda _, context: MeaningJob(context))
    context = CommandContext(None, None, 0, {}, loaded.project)
    capsys.readouterr()
    with command.make_context(KIND, ["--job", "rules", *arguments], obj=context) as call:
        code = command.invoke(call)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_run_tells_cost_progress_figures_and_files(
    loaded: LoadedSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _run(loaded, capsys)
    assert code == 0
    assert "6 rows: 6 to make, 0 at hand." in err
    assert "No language model is in use" in err
    assert "Making rows: 6" in err
    assert "terms  6\n" in out
    assert "glossary of rules: 6 rows, 6 made, 0 kept in " in out
    assert "written  out/rules-glossary.json\n" in out


def test_a_part_of_a_run_says_what_is_missing(loaded: LoadedSettings, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(loaded, capsys, "--only", "Term 01", "--only", "term 02", "--limit", "1")
    assert code == 0
    assert "6 rows, 1 made, 0 kept, 5 left out" in out
    assert "Not complete: 5 of 6 rows are missing: Term 00, Term 02" in out


def test_a_dry_run_prints_the_plan_and_no_more(loaded: LoadedSettings, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(loaded, capsys, "--dry-run", "--domain", "b")
    assert code == 0
    assert "6 rows: 3 to make, 0 at hand, 3 left out." in out
    assert out.endswith("Nothing was made.\n")
    _, as_json, err = _run(loaded, capsys, "--dry-run", "--json")
    assert json.loads(as_json)["plan"]["to_make"] == 6
    assert err == ""
    assert not (loaded.project / "out").exists()


def test_as_json_there_is_one_document_and_nothing_else(
    loaded: LoadedSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _run(loaded, capsys, "--json")
    report = json.loads(out)
    assert (code, err) == (0, "")
    assert (report["made"], report["failed"], report["figures"]) == (6, 0, {"terms": 6})


def test_a_failing_row_is_told_with_its_cure_and_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = project(tmp_path, {"a/one.md": some_terms(1) + "A failing term means trouble.\n"})
    code, out, err = _run(loaded, capsys)
    assert code == 1
    assert "failed  A failing term: A failing term cannot be made" in out
    assert "Mend the document" in out
    assert "failed: A failing term" in err


def test_reviews_and_replay_are_commands_too(
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
    assert "wrong  row 3: 'terms' has no row 'Term 9'." in taken.out
    assert "1 review taken, 0 known already, 0 lines without a review, 1 wrong." in taken.out
    status = elt_llm.done("review", "status", "--job", "rules")
    assert "APPROVED  terms  Term 01  fresh  Desk" in status.out
    assert "8 rows: 1 APPROVED, 7 PENDING." in status.out
    assert "every quote stands" in elt_llm.done("review", "stale", "--job", "rules", "--kind", KIND).out
    assert elt_llm.done("review", "stale", "--job", "rules", "--json").json["stale"] == []
    receipt = "out/rules-glossary.json.receipt.json"
    assert elt_llm.done("replay", receipt).out == "rules-glossary.json.receipt.json: holds.\n"
    (loaded.project / "out" / "rules-glossary.json").unlink()
    changed = elt_llm("replay", receipt, "--json")
    assert (changed.code, changed.json["holds"]) == (1, False)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["review", "status", "--job", "rules"], "Nothing was written of job 'rules' yet."),
        (["review", "status", "--job", "rules", "--kind", "x"], "There is no kind of job 'x'."),
        (["glossary", "--job", "rulez"], "There is no job 'rulez'."),
        (["replay", "none.receipt.json"], "There is no file"),
        (["review", "imprt"], "There is no command 'imprt'. Did you mean import?"),
    ],
)
def test_wrong_usage_is_told_with_code_2(
    arguments: list[str], told: str, loaded: LoadedSettings, elt_llm: CommandLine
) -> None:
    ended = elt_llm(*arguments)
    assert ended.code == 2
    assert told in ended.err


def _slow(folder: Path, seconds: float) -> "subprocess.Popen[str]":
    (folder / "slow_meanings.py").write_text(SLOW_COMMAND, encoding="utf-8")
    paths = [str(folder), str(Path(__file__).parents[1] / "support"), os.environ["PYTHONPATH"]]
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


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_ends_at_once_says_how_to_go_on_and_keeps_its_rows(
    number: signal.Signals, code: int, loaded: LoadedSettings
) -> None:
    with _slow(loaded.project, 1.0) as process:
        _wait_for(loaded.project / "calls.txt", 3)  # a row is made then, or two; the model is at work on others
        told = time.monotonic()
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        took = time.monotonic() - told
    assert process.returncode == code, err
    assert "Running the same command again goes on where this one stopped." in err
    assert "Traceback" not in err
    assert took < 10  # two seconds where nothing else runs
    with _slow(loaded.project, 0.0) as process:
        out, _ = process.communicate(timeout=60)
    assert any(f"6 rows, {6 - kept} made, {kept} kept" in out for kept in (1, 2, 3)), out


def test_a_second_run_is_refused_while_the_first_goes_on(
    loaded: LoadedSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    with _slow(loaded.project, 60.0) as process:
        _wait_for(loaded.project / "calls.txt", 1)
        second = _slow(loaded.project, 0.0)
        _, refused = second.communicate(timeout=60)
        assert second.returncode == 75
        assert f"is being made by process {process.pid}" in refused
        assert _run(loaded, capsys, "--dry-run")[0] == 0
        process.kill()
    assert _run(loaded, capsys)[0] == 0


def test_a_command_without_a_job_asks_for_one(elt_llm: CommandLine) -> None:
    ended = elt_llm("glossary")
    assert (ended.code, ended.err.splitlines()[0]) == (2, "Error: Missing option '--job'.")
