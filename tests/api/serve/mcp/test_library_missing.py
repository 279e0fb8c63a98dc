"""Without the MCP library the server runs, and commands and routes that need the library name the missing extra."""

import json
import os
import subprocess
import sys
from pathlib import Path

from processes.command_line import CommandResult

WITHOUT = "import sys\nsys.modules['mcp'] = None  # as if it were not installed\n"


def run_without(code: str, folder: Path) -> CommandResult:
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT + code],
        cwd=folder,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return CommandResult(ended.returncode, ended.stdout, ended.stderr)


def test_the_command_names_the_missing_extra(tmp_path: Path) -> None:
    code = (
        "import os\n"
        "from pathlib import Path\n"
        "from elt_llm_api.cli import run\n"
        "sys.exit(run(['mcp'], os.environ, Path()))\n"
    )
    ended = run_without(code, tmp_path)
    assert ended.code == 2
    assert "uv sync --inexact --extra mcp" in ended.err
    assert ended.out == ""


def test_the_mcp_route_names_the_missing_extra(tmp_path: Path) -> None:
    code = (
        "from fastapi import FastAPI\n"
        "from fastapi.testclient import TestClient\n"
        "from elt_llm_api.serve.errors import add_error_handlers\n"
        "from elt_llm_api.serve.mcp.mount import mount_tools\n"
        "app = FastAPI()\n"
        "add_error_handlers(app)\n"
        "tools = mount_tools(app, None)\n"
        "answer = TestClient(app).post('/mcp')\n"
        "sys.stdout.write(f'{answer.status_code} {answer.text}')\n"
    )
    ended = run_without(code, tmp_path)
    assert ended.code == 0, ended.err
    assert ended.out.startswith("501 ")
    assert json.loads(ended.out.removeprefix("501 "))["error"]["hint"] == "Run: uv sync --inexact --extra mcp"
