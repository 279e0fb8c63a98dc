"""`elt-llm mcp`: stdout carries the protocol only, and the process ends when its input ends."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from elt_llm_api.serve.access.principal import Forbidden
from elt_llm_api.serve.mcp.tool_call import error_text, require_ingest_permission
from elt_llm_core.settings.loader import load_settings
from mcp.client import Client
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from processes.command_line import SAMPLES, command
from served.answering_server import EXTRACTIVE, copied_project
from served.mcp_clients import ProcessAgent, answered, refused

MAY_INGEST = {"ELT_LLM_SERVE__AGENTS_MAY_INGEST": "true", "ELT_LLM_INGEST__ROOTS": json.dumps([str(SAMPLES.parent)])}


@pytest.fixture
def project(sample_folder: Path, tmp_path: Path) -> Path:
    return copied_project(sample_folder, tmp_path / "project")


@contextmanager
def running(
    folder: Path, *options: str, program: tuple[str, ...] = (), environment: Mapping[str, str] = MappingProxyType({})
) -> Iterator["subprocess.Popen[str]"]:
    """Start the process and yield it with its streams; stop it at the end of the block."""
    process = subprocess.Popen(
        program or command(*options, "mcp"),
        cwd=folder,
        env={**os.environ, **EXTRACTIVE, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def message(number: int, method: str, **parameters: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}) + "\n"


def call(number: int, tool: str, **arguments: Any) -> str:
    return message(number, "tools/call", name=tool, arguments=arguments)


INITIALIZE = message(
    1,
    "initialize",
    protocolVersion=LATEST_HANDSHAKE_VERSION,
    capabilities={},
    clientInfo={"name": "test", "version": "1"},
)


def asked(process: "subprocess.Popen[str]", line: str) -> dict[str, Any]:
    """Send a message and return the response, which must be the next line."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(line)
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    assert answer["id"] == json.loads(line)["id"]
    return answer


def test_an_agent_uses_the_tools_through_its_own_process(project: Path) -> None:
    async def work(client: Client) -> dict[str, Any]:
        found = answered(await client.call_tool("search", {"question": "points for Grade A", "top_k": 1}))
        [chunk] = found["chunks"]
        quote = {"collection": "samples", "quote": chunk["text"][:200], "document": chunk["document"]}
        return answered(await client.call_tool("verify_quote", quote))

    assert ProcessAgent(project, EXTRACTIVE).with_client(work)["verbatim"]


@pytest.mark.sampled(2, "stdio")
def test_stdout_carries_only_the_protocol_while_an_ingest_prints_warnings(project: Path) -> None:
    noisy = {**MAY_INGEST, "PYTHONWARNINGS": "always", "PYTHONVERBOSE": ""}
    with running(project, "-vv", environment=noisy) as process:
        assert asked(process, INITIALIZE)["result"]["serverInfo"]["name"] == "elt-llm"
        path = str(SAMPLES.parent / "enterprise" / "model.drawio")
        job = asked(process, call(2, "ingest_path", collection="drawn", path=path))["result"]["structuredContent"]
        number, deadline = 3, time.monotonic() + 120
        while job["status"] in {"queued", "running"}:
            assert time.monotonic() < deadline, job
            time.sleep(0.2)
            job = asked(process, call(number, "job_status", id=job["id"]))["result"]["structuredContent"]
            number += 1
        assert job["status"] == "done", job
        around = asked(process, call(number, "model_neighbours", collection="drawn", entity="Member Club"))
        assert around["result"]["structuredContent"]["neighbours"]
        outside = asked(process, call(number + 1, "ingest_path", collection="drawn", path="/etc"))
        assert "leads out of" in outside["result"]["content"][0]["text"]
        again = asked(process, call(number + 2, "reindex", collection="drawn"))
        assert again["result"]["structuredContent"]["kind"] == "ingest"
        out, err = process.communicate(timeout=120)
    assert [json.loads(line)["jsonrpc"] for line in out.splitlines()] == []
    assert "DEBUG" in err


@pytest.mark.sampled(2, "stdio")
def test_text_printed_by_libraries_or_by_an_abandoned_call_does_not_reach_stdout(project: Path) -> None:
    """One library prints, and another one writes to the file descriptor. The end of input abandons the second call."""
    noise = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from elt_llm_api.cli import run\n"
        "from elt_llm_api.serve.actions.documents import SpanActions\n"
        "class Noisy(SpanActions):\n"
        "    def get(self, principal, collection, document, start, end):\n"
        "        sys.stdout.write('noise of Python\\n')\n"
        "        os.write(1, b'noise beneath\\n')\n"
        "        if start:\n"
        "            sys.stderr.write('started\\n')\n"
        "            time.sleep(2)\n"
        "            os.write(1, b'too late\\n')\n"
        "        return super().get(principal, collection, document, start, end)\n"
        "import elt_llm_api.serve.mcp.tools.questions as tool\n"
        "tool.SpanActions = Noisy\n"
        "sys.exit(run(['mcp'], os.environ, Path.cwd()))\n"
    )
    place = {"collection": "samples", "document": "handbook.pdf", "end": 20}
    errors: list[str] = []
    with running(project, program=(sys.executable, "-c", noise)) as process:
        assert process.stdin
        assert process.stderr
        asked(process, INITIALIZE)
        asked(process, call(2, "get_span", start=0, **place))
        process.stdin.write(call(3, "get_span", start=1, **place))
        process.stdin.flush()
        while "started\n" not in errors:
            errors.append(process.stderr.readline())
            assert process.poll() is None
        out, err = process.communicate(timeout=120)
    assert [json.loads(line)["jsonrpc"] for line in out.splitlines()] in ([], ["2.0"])
    assert "noise of Python" in "".join(errors)
    assert "noise beneath" in "".join(errors)
    assert "too late" in err
    assert process.returncode == 0


@pytest.mark.sampled(2, "stdio")
def test_the_server_process_survives_invalid_input_lines_and_ends_when_its_input_ends(project: Path) -> None:
    with running(project) as process:
        assert process.stdin
        asked(process, INITIALIZE)
        process.stdin.write("nonsense\n[]\n\x00\n")
        answer = asked(process, call(2, "list_collections"))
        assert answer["result"]["structuredContent"]["collections"][0]["collection"] == "samples"
        out, _ = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "")


@pytest.mark.sampled(2, "stdio")
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_server_process_ends_on_a_signal(project: Path, sent: signal.Signals, code: int) -> None:
    with running(project) as process:
        asked(process, INITIALIZE)
        process.send_signal(sent)
        process.wait(120)
        assert process.returncode == code


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "serve.agents_may_ingest"),
        ({"ELT_LLM_SERVE__AGENTS_MAY_INGEST": "true"}, "ingest.roots"),
        ({"ELT_LLM_INGEST__ROOTS": json.dumps([str(SAMPLES)])}, "serve.agents_may_ingest"),
    ],
)
def test_agents_can_ingest_only_if_agents_may_ingest_is_set_and_roots_names_folders(
    environment: dict[str, str], said: str, tmp_path: Path
) -> None:
    with pytest.raises(Forbidden) as refusal:
        require_ingest_permission(load_settings(None, environment, tmp_path))
    assert said in error_text(refusal.value)
    require_ingest_permission(load_settings(None, MAY_INGEST, tmp_path))


@pytest.mark.sampled(2, "stdio")
def test_an_empty_data_directory_is_reported_with_a_message(tmp_path: Path) -> None:
    async def ask(client: Client) -> str:
        assert answered(await client.call_tool("list_collections", {}))["collections"] == []
        return refused(await client.call_tool("ask", {"question": "Who approves leave?"}))

    assert "Nothing was ingested yet" in ProcessAgent(tmp_path, EXTRACTIVE).with_client(ask)
