"""Without the MCP library the server runs, and commands and routes that need the library name the missing extra."""

import json
import os
import subprocess
import sys

import pytest
from processes.command_line import CommandResult

PROGRAM = """
import sys
sys.modules["mcp"] = None  # as if it were not installed
import os
from pathlib import Path
from elt_llm_api.cli import run
from elt_llm_api.serve.errors import add_error_handlers
from elt_llm_api.serve.mcp.mount import mount_tools
from fastapi import FastAPI
from fastapi.testclient import TestClient
code = run(["mcp"], os.environ, Path())
app = FastAPI()
add_error_handlers(app)
tools = mount_tools(app, None)
answer = TestClient(app).post("/mcp")
sys.stdout.write(f"{answer.status_code} {answer.text}")
sys.exit(code)
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> CommandResult:
    """Run `elt-llm mcp` and then request the MCP route, both without the library; return the output."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path_factory.mktemp("without"),
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


def test_the_mcp_command_names_the_missing_extra(ended: CommandResult) -> None:
    assert ended.code == 2
    assert "uv sync --inexact --extra mcp" in ended.err


def test_the_mcp_route_names_the_missing_extra(ended: CommandResult) -> None:
    assert ended.out.startswith("501 "), ended.err
    assert json.loads(ended.out.removeprefix("501 "))["error"]["hint"] == "Run: uv sync --inexact --extra mcp"
