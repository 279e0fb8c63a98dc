"""The command line: help, global options, errors and exit codes."""

import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
from elt_llm_api.cli import COMMANDS, run
from elt_llm_api.cli.options import CommandEntry

# A command that prints "ready" and then waits, called through the real `main`.
WAITING = """
import sys
from elt_llm_api.cli import group, main
from elt_llm_api.cli.options import CommandEntry
group.table["wait"] = CommandEntry("wait", "waiting_command", "Wait.")
main()
"""
WAITING_COMMAND = """
import time
import click

@click.command()
def command() -> None:
    click.echo("ready")
    time.sleep(60)
"""


def elt_llm(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "elt_llm_api.cli", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


def test_help_lists_every_command(tmp_path: Path) -> None:
    shown = elt_llm("--help", cwd=tmp_path)
    assert shown.returncode == 0
    assert all(f"\n  {entry.name} " in shown.stdout for entry in COMMANDS)


def test_a_call_without_arguments_shows_the_help(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([], {}, tmp_path) == 0
    assert capsys.readouterr().out.startswith("Usage: elt-llm ")


def test_the_version_option_prints_the_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"], {}, tmp_path) == 0
    assert capsys.readouterr().out.startswith("elt-llm, version ")


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_every_command_has_its_own_help(
    entry: CommandEntry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert isinstance(getattr(import_module(entry.module), entry.attribute), click.Command)
    assert run([entry.name, "--help"], {}, tmp_path) == 0
    assert f"Usage: elt-llm {entry.name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["watch"], "Error: There is no command 'watch'. Did you mean ingest --watch?\nHelp: elt-llm --help\n"),
        (["docter"], "Error: There is no command 'docter'. Did you mean doctor?\nHelp: elt-llm --help\n"),
        (["zzz"], "Error: There is no command 'zzz'. Run elt-llm --help for the list.\nHelp: elt-llm --help\n"),
        (["--colour"], "Error: No such option '--colour'.\nHelp: elt-llm --help\n"),
        (["init", "--olama"], "Error: No such option '--olama'. Did you mean '--ollama'?\nHelp: elt-llm init --help\n"),
    ],
)
def test_usage_errors_suggest_similar_names_and_exit_with_2(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments, {}, tmp_path) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", message)


def test_with_the_json_option_an_error_is_one_json_document_on_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["docter", "--json"], {}, tmp_path) == 2
    shown = capsys.readouterr()
    assert json.loads(shown.out)["error"]["type"] == "UsageError"
    assert shown.err == ""


@pytest.mark.parametrize("arguments", [["--data-dir", "there", "doctor"], ["doctor", "--data-dir", "there"]])
def test_global_options_are_accepted_before_and_after_the_command_name(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(arguments, {"ELT_LLM_DATA_DIR": "elsewhere"}, tmp_path)
    assert str(tmp_path / "there") in capsys.readouterr().out


def test_an_environment_variable_can_set_the_data_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["doctor"], {"ELT_LLM_DATA_DIR": "elsewhere"}, tmp_path)
    assert str(tmp_path / "elsewhere") in capsys.readouterr().out


def test_a_missing_settings_file_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--config", "nowhere.yaml", "doctor"], {}, tmp_path) == 1
    assert "nowhere.yaml: the file cannot be read: No such file or directory" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("number", "code", "message"),
    [(signal.SIGINT, 130, "\nInterrupted.\n"), (signal.SIGTERM, 143, "Terminated.\n")],
)
def test_a_signal_ends_the_command_with_the_exit_code_of_the_signal(
    number: signal.Signals, code: int, message: str, tmp_path: Path
) -> None:
    (tmp_path / "waiting_command.py").write_text(WAITING_COMMAND)
    waiting = subprocess.Popen(
        [sys.executable, "-u", "-c", WAITING, "wait"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "ready\n"
    waiting.send_signal(number)
    _, errors = waiting.communicate(timeout=30)
    assert waiting.returncode == code
    assert errors == message
    assert "Traceback" not in errors


def test_a_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    shown = subprocess.run(
        [sys.executable, "-m", "elt_llm_api.cli", "--help"], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert shown.returncode == 141
    assert shown.stderr == b""
