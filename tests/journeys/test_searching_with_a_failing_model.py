"""A model that only helps to search may fail in any way: the question is asked without it, and the notes say so."""

from pathlib import Path

import pytest
from command_line import CommandLine
from model_backends import ScriptedBackend
from model_faults import Fault
from model_http_server import running_model_server
from written_journeys import QUESTION, ingested, written_by

IMPATIENT = {"LLM__ANSWER_TIMEOUT": "2", "OLLAMA__REQUEST_TIMEOUT": "0.5"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingested(tmp_path_factory.mktemp("library"))


@pytest.mark.parametrize("fault", [Fault.HANG, Fault.CRASHED, Fault.MISSING, Fault.DROP, Fault.ENDLESS])
@pytest.mark.parametrize("strategy", ["hyde", "multi_query"])
def test_the_search_goes_on_without_it(
    fault: Fault, strategy: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_model_server(ScriptedBackend()) as server:
        for path in ("/api/chat", "/api/generate"):
            server.faults.always(path, fault)
        environment = written_by("ollama", server, **IMPATIENT, QUERY__STRATEGY=strategy)
        ended = CommandLine(folder, capsys, environment)("search", QUESTION, "-c", "library", "--json")
    assert ended.code == 0, ended
    assert ended.json["contexts"]
    assert "did not help to search" in " ".join(ended.json["notes"])
