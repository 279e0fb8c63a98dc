"""`elt-llm mcp`: stdout carries the protocol and nothing else, whatever goes on; the process ends with its input."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from agents import ProcessAgent, answered, refused
from answering import EXTRACTIVE, copied
from command_line import SAMPLES, command
from elt_llm_api.serve.access.principal import Forbidden
from elt_llm_api.serve.mcp.permission import require_ingest
from elt_llm_api.serve.mcp.tool_call import in_words
from elt_llm_core.settings_loader import load_settings
from mcp.client import Client
from mcp_types.version import LATEST_HANDSHAKE_VERSION

MAY_INGEST = {"ELT_LLM_SERVE__AGENTS_MAY_INGEST": "true", "ELT_LLM_INGEST__ROOTS": json.dumps([str(SAMPLES.parent)])}


@pytest.fixture
def project(sample_folder: Path, tmp_path: Path) -> Path:
    return copied(sample_folder, tmp_path / "project")


@contextmanager
def running(folder: Path, *options: str, **environment: str) -> Iterator["subprocess.Popen[str]"]:
    """The process with its streams, ended afterwards."""
    process = subprocess.Popen(
        command(*options, "mcp"),
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
    """What is answered to a message, which is to be the next line."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(line)
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    assert answer["id"] == json.loads(line)["id"]
    return answer


def test_an_agent_works_through_a_process_of_its_own(project: Path) -> None:
    async def work(client: Client) -> dict[str, Any]:
        found = answered(await client.call_tool("search", {"question": "points for Grade A", "top_k": 1}))
        [passage] = found["passages"]
        quote = {"collection": "samples", "quote": passage["text"][:200], "document": passage["document"]}
        return answered(await client.call_tool("verify_quote", quote))

    assert ProcessAgent(project, EXTRACTIVE).with_client(work)["verbatim"]


def test_stdout_has_nothing_but_the_protocol_while_documents_are_ingested_noisily(project: Path) -> None:
    noisy = {**MAY_INGEST, "PYTHONWARNINGS": "always", "PYTHONVERBOSE": ""}
    with running(project, "-vv", **noisy) as process:
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


def test_what_is_printed_by_whatever_is_called_goes_elsewhere(project: Path) -> None:
    """A library that prints, and one that writes to the descriptor, as it is done beneath Python."""
    noise = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from elt_llm_api.cli import run\n"
        "from elt_llm_api.serve.actions.spans import Spans\n"
        "class Noisy(Spans):\n"
        "    def get(self, *given, **named):\n"
        "        sys.stdout.write('noise of Python\\n')\n"
        "        os.write(1, b'noise beneath\\n')\n"
        "        return super().get(*given, **named)\n"
        "import elt_llm_api.serve.mcp.tools.get_span as tool\n"
        "tool.Spans = Noisy\n"
        "sys.exit(run(['mcp'], os.environ, Path.cwd()))\n"
    )
    place = {"collection": "samples", "document": "handbook.pdf", "start": 0, "end": 20}
    ended = subprocess.run(
        [sys.executable, "-c", noise],
        cwd=project,
        env={**os.environ, **EXTRACTIVE},
        input=INITIALIZE + call(2, "get_span", **place),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert [json.loads(line)["id"] for line in ended.stdout.splitlines()] == [1, 2]
    assert "noise of Python" in ended.stderr
    assert "noise beneath" in ended.stderr
    assert ended.returncode == 0


def test_the_process_ends_with_its_input(project: Path) -> None:
    with running(project) as process:
        asked(process, INITIALIZE)
        out, _ = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "")


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_process_ends_when_it_is_told_to(project: Path, sent: signal.Signals, code: int) -> None:
    with running(project) as process:
        asked(process, INITIALIZE)
        process.send_signal(sent)
        process.wait(120)
        assert process.returncode == code


def test_lines_that_are_no_messages_do_no_harm(project: Path) -> None:
    with running(project) as process:
        assert process.stdin
        asked(process, INITIALIZE)
        process.stdin.write("nonsense\n[]\n\x00\n")
        answer = asked(process, call(2, "list_collections"))
        assert answer["result"]["structuredContent"]["collections"][0]["collection"] == "samples"


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "serve.agents_may_ingest"),
        ({"ELT_LLM_SERVE__AGENTS_MAY_INGEST": "true"}, "ingest.roots"),
        ({"ELT_LLM_INGEST__ROOTS": json.dumps([str(SAMPLES)])}, "serve.agents_may_ingest"),
    ],
)
def test_agents_ingest_nothing_unless_both_settings_say_so(
    environment: dict[str, str], said: str, tmp_path: Path
) -> None:
    with pytest.raises(Forbidden) as refusal:
        require_ingest(load_settings(None, environment, tmp_path))
    assert said in in_words(refusal.value)
    require_ingest(load_settings(None, MAY_INGEST, tmp_path))


def test_a_data_directory_without_documents_is_told_in_words(tmp_path: Path) -> None:
    async def ask(client: Client) -> str:
        assert answered(await client.call_tool("list_collections", {}))["collections"] == []
        return refused(await client.call_tool("answer", {"question": "Who approves leave?"}))

    assert "There is no collection" in ProcessAgent(tmp_path, EXTRACTIVE).with_client(ask)
