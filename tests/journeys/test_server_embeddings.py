"""Ingest, search and ask with vectors from a model server; a changed or stopped model is reported."""

from pathlib import Path

import pytest
from model_servers.backends import ScriptedBackend
from model_servers.faults import Fault
from model_servers.http_server import ModelHttpServer, running_model_server
from processes.command_line import CommandLine

pytestmark = pytest.mark.halved


TEXT = "# Fees\n\nA senior player pays 25 euros a season.\n\n# Grounds\n\nEvery ground has a first-aid box.\n"
QUESTION = "What does a senior player pay?"
PROVIDERS = {"ollama": "/api/embed", "openai_like": "/v1/embeddings"}


def command_for(
    provider: str, server: ModelHttpServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> CommandLine:
    """Return the command line in a folder whose settings use the server for embeddings and quote answers."""
    environment = {
        "ELT_LLM_LLM__PROVIDER": "extractive",
        "ELT_LLM_EMBEDDING__PROVIDER": provider,
        "ELT_LLM_EMBEDDING__MODEL": server.backend.name,
        "ELT_LLM_OLLAMA__BASE_URL": server.address,
        "ELT_LLM_OPENAI_LIKE__BASE_URL": server.openai_address,
    }
    return CommandLine(folder, capsys, environment)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_ingested_documents_are_found_with_vectors_from_an_embedding_server(
    provider: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules.md").write_text(TEXT)
    with running_model_server(ScriptedBackend(name="nomic-embed-text:latest")) as server:
        elt_llm = command_for(provider, server, tmp_path, capsys)
        elt_llm.done("ingest", tmp_path / "rules.md", "-c", "rules")
        asked = len(server.bodies(PROVIDERS[provider]))
        again = elt_llm.done("ingest", tmp_path / "rules.md", "-c", "rules")
        assert "unchanged" in again.out
        answer = elt_llm.done("ask", QUESTION, "-c", "rules", "--json").json
        sent = [text for body in server.bodies(PROVIDERS[provider])[asked:] for text in body["input"]]
    assert "25 euros" in answer["answer"]
    assert any(text.startswith("search_query: ") for text in sent)


def test_if_the_embedding_server_is_stopped_the_error_names_the_command_that_starts_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules.md").write_text(TEXT)
    with running_model_server(ScriptedBackend()) as server:
        elt_llm = command_for("ollama", server, tmp_path, capsys)
        elt_llm.done("ingest", tmp_path / "rules.md", "-c", "rules")
    ended = elt_llm("ask", QUESTION, "-c", "rules")
    assert ended.code == 1
    assert "cannot be reached" in ended.err
    assert "ollama serve" in ended.err


def test_a_different_embedding_model_under_the_same_name_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules.md").write_text(TEXT)
    with running_model_server(ScriptedBackend()) as server:
        elt_llm = command_for("ollama", server, tmp_path, capsys)
        elt_llm.done("ingest", tmp_path / "rules.md", "-c", "rules")
        server.backend.digest = "f" * 64
        ended = elt_llm("ask", QUESTION, "-c", "rules")
    assert ended.code == 1
    assert "--rebuild" in ended.err


@pytest.mark.parametrize("fault", [Fault.NOT_A_NUMBER, Fault.ONE_SHORT, Fault.WRONG_ORDER, Fault.CRASHED])
def test_invalid_vectors_from_an_embedding_server_are_never_published(
    fault: Fault, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules.md").write_text(TEXT)
    with running_model_server(ScriptedBackend()) as server:
        elt_llm = command_for("ollama", server, tmp_path, capsys)
        server.faults.plan("/api/embed", Fault.NONE, Fault.NONE)
        server.faults.always("/api/embed", fault)
        assert elt_llm("ingest", tmp_path / "rules.md", "-c", "rules").code == 1
        server.faults.clear()
        elt_llm.done("ingest", tmp_path / "rules.md", "-c", "rules")
        assert "25 euros" in elt_llm.done("ask", QUESTION, "-c", "rules").out
