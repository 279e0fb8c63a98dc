"""Run the command line within this process, or as a separate process."""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from elt_llm_api.cli import run

PROJECT = Path(__file__).resolve().parents[3]
SAMPLES = PROJECT / "samples" / "documents"
QUESTIONS = PROJECT / "samples" / "questions.jsonl"
FAKE = {"ELT_LLM_EMBEDDING__PROVIDER": "fake", "ELT_LLM_INGEST__WORKERS": "1"}
"""The environment for fast tests: a fake embedding model, and a single process that parses files."""


@dataclass(frozen=True)
class CommandResult:
    """The result of one call of the command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout; anything else there is an error."""
        return json.loads(self.out)


@dataclass(frozen=True)
class CommandLine:
    """Calls the command in this process, with one working folder and one environment."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    environment: Mapping[str, str] = field(default_factory=lambda: FAKE)

    def __call__(self, *arguments: str | Path, typed: str = "") -> CommandResult:
        """Run a command; `typed` is its standard input, which is not a terminal."""
        self.capsys.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            if typed:
                patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
            code = run([str(argument) for argument in arguments], self.environment, self.folder)
        captured = self.capsys.readouterr()
        return CommandResult(code, captured.out, captured.err)

    def done(self, *arguments: str | Path) -> CommandResult:
        """Run the command and require success."""
        ended = self(*arguments)
        assert ended.code == 0, ended
        return ended


def run_here(
    *arguments: str | Path, folder: Path, typed: str = "", environment: Mapping[str, str] | None = None
) -> CommandResult:
    """Run a command in this process; by default, it uses the real embedding model, as an installation does."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
        code = run([str(argument) for argument in arguments], environment or {}, folder)
    return CommandResult(code, out.getvalue(), err.getvalue())


def command(*arguments: str | Path) -> list[str]:
    """The command line that starts the command as a process."""
    return [sys.executable, "-m", "elt_llm_api.cli", *map(str, arguments)]


def run_process(*arguments: str | Path, folder: Path, typed: str = "", **environment: str) -> CommandResult:
    """Run a command as a process; `typed` is its standard input, `environment` is added to the environment."""
    ended = subprocess.run(
        command(*arguments),
        cwd=folder,
        env={**os.environ, **environment},
        input=typed,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return CommandResult(ended.returncode, ended.stdout, ended.stderr)
