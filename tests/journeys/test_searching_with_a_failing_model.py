"""When a model that only helps to search fails, the search continues without it, with a note."""

from pathlib import Path

import pytest
from model_servers.backends import ScriptedBackend
from model_servers.faults import Fault
from model_servers.http_server import running_model_server
from processes.command_line import CommandLine
from served.scripted_answers import QUESTION, ingested, written_by

IMPATIENT = {"LLM__ANSWER_TIMEOUT": "2", "OLLAMA__REQUEST_TIMEOUT": "0.5"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingested(tmp_path_factory.mktemp("library"))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("fault", [Fault.HANG, Fault.CRASHED, Fault.MISSING, Fault.DROP, Fault.ENDLESS])
@pytest.mark.parametrize("strategy", ["hyde", "multi_query"])
def test_the_search_continues_without_the_failing_model(
    fault: Fault, strategy: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_model_server(ScriptedBackend()) as server:
        for path in ("/api/chat", "/api/generate"):
            server.faults.always(path, fault)
        environment = written_by("ollama", server, **IMPATIENT, QUERY__STRATEGY=strategy)
        ended = CommandLine(folder, capsys, environment)("search", QUESTION, "-c", "library", "--json")
    assert ended.code == 0, ended
    assert ended.json["chunks"]
    assert "failed during the search" in " ".join(ended.json["notes"])
