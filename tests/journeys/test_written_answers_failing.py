"""Every fault of a model server in `elt-llm ask`: an error that names the cure, or an answer with a note.

No fault makes the command quote documents in place of a written answer, and the command always ends in time.
"""

import time
from pathlib import Path

import pytest
from elt_llm_core.settings.loader import load_settings
from elt_llm_query.engine import open_engine
from model_servers.backends import ScriptedBackend, WindowBehaviour
from model_servers.faults import Fault
from model_servers.http_server import ModelHttpServer, running_model_server
from processes.command_line import CommandResult
from served.scripted_answers import CHATS, LONG_TEXT, QUESTION, TRUE, Library, ingested, written_by

pytestmark = pytest.mark.halved


AT_MOST = 30.0  # seconds for the whole command; the answer may take five
IMPATIENT = {
    "LLM__ANSWER_TIMEOUT": "5",
    "OLLAMA__REQUEST_TIMEOUT": "0.5",
    "OPENAI_LIKE__REQUEST_TIMEOUT": "0.5",
}
ERRORS = {
    Fault.CLOSE: ("ModelBroken", "log"),
    Fault.LOADING: ("ModelUnavailable", "try again"),
    Fault.LOADING_500: ("ModelUnavailable", "try again"),
    Fault.BUSY: ("ModelUnavailable", "try again"),
    Fault.MISSING: ("ModelMissing", "scripted:latest"),
    Fault.FULL: ("ModelRefused", "smaller model"),
    Fault.CRASHED: ("ModelBroken", "log"),
    Fault.TOO_LONG: ("PromptTooLong", "context_window|max_context_tokens"),
    Fault.NO_THINKING: ("ModelRefused", "thinking"),
    Fault.REDIRECT: ("ModelRefused", "base_url"),
    Fault.NOT_JSON: ("UnusableReply", "right address|really the address"),
    Fault.HANG: ("ModelTimeout", "request_timeout"),
    Fault.STALL: ("ModelTimeout", "request_timeout"),
    Fault.ENDLESS: ("ModelTimeout", "llm.answer_timeout"),
    Fault.DROP: ("ModelBroken", "log"),
    Fault.ERROR_LINE: ("ModelBroken", "log"),
    Fault.GARBAGE: ("UnusableReply", "base_url"),
    Fault.PROMPT_CUT: ("PromptTooLong", "context_window"),
    Fault.CUT_50: ("PromptTooLong", "context_window"),
}
# No server has a window so small that it would truncate a short prompt slightly.
OF_LONG_PROMPTS = (Fault.CUT_5, Fault.CUT_10, Fault.CUT_20, Fault.CUT_50)
BORNE = {
    Fault.SLOW: (True, ""),
    Fault.SILENT_COUNTS: (True, ""),
    Fault.NO_DONE: (False, "before its end"),
    Fault.LENGTH: (False, "num_predict is 64"),
}
OF_VECTORS = {
    Fault.WRONG_DIMENSION,
    Fault.UNLIKE_DIMENSIONS,
    Fault.NOT_A_NUMBER,
    Fault.ZERO,
    Fault.ONE_SHORT,
    Fault.WRONG_ORDER,
    Fault.NO_EMBEDDINGS,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingested(tmp_path_factory.mktemp("library"))


@pytest.fixture
def library(folder: Path, capsys: pytest.CaptureFixture[str]) -> Library:
    return Library(folder, capsys)


def ask_with_fault(
    provider: str, fault: Fault, library: Library, behaviour: WindowBehaviour | None = None
) -> CommandResult:
    """Ask a question of a model server with this fault, check the time limit, and return the result."""
    with running_model_server(ScriptedBackend((TRUE,), behaviour=behaviour or WindowBehaviour())) as server:
        server.faults.always(CHATS[provider], fault)
        started = time.monotonic()
        result = library.ask(written_by(provider, server, **IMPATIENT), "--json")
    assert time.monotonic() - started < AT_MOST
    return result


def test_every_fault_of_the_fake_server_is_tested() -> None:
    assert {Fault.NONE, *ERRORS, *OF_LONG_PROMPTS, *BORNE, *OF_VECTORS} == set(Fault)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("provider", CHATS)
@pytest.mark.parametrize("fault", ERRORS, ids=lambda fault: fault.name)
def test_each_failure_of_a_model_server_is_reported_by_name_with_the_remedy(
    fault: Fault, provider: str, library: Library
) -> None:
    result = ask_with_fault(provider, fault, library)
    name, mend = ERRORS[fault]
    assert result.code == 1
    assert set(result.json) == {"error"}
    assert result.json["error"]["type"] == name
    assert any(part in result.json["error"]["hint"] for part in mend.split("|"))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("provider", CHATS)
@pytest.mark.parametrize("fault", OF_LONG_PROMPTS, ids=lambda fault: fault.name)
def test_no_answer_is_returned_if_the_server_truncated_the_prompt_even_slightly(
    fault: Fault, provider: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = WindowBehaviour(reports=False, refuses=False)
    library = Library(ingested(tmp_path, LONG_TEXT), capsys)
    with running_model_server(ScriptedBackend((TRUE,), behaviour=silent)) as server:
        server.faults.plan(CHATS[provider], fault)
        result = library.ask(written_by(provider, server), "--json")
    assert (result.code, result.json["error"]["type"]) == (1, "PromptTooLong")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("provider", CHATS)
def test_an_answer_is_returned_if_the_server_read_a_long_prompt_completely(
    provider: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = WindowBehaviour(reports=False, refuses=False)
    result = ask_with_fault(provider, Fault.NONE, Library(ingested(tmp_path, LONG_TEXT), capsys), silent)
    assert (result.code, result.json["notes"]) == (0, [])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("provider", CHATS)
@pytest.mark.parametrize("fault", BORNE, ids=lambda fault: fault.name)
def test_a_note_on_the_answer_reports_a_server_fault_that_a_retry_overcame(
    fault: Fault, provider: str, library: Library
) -> None:
    result = ask_with_fault(provider, fault, library)
    complete, note = BORNE[fault]
    assert result.code == 0, result
    assert result.json["answer"] == "Books may be borrowed for four weeks. [1]"
    assert result.json["complete"] == complete
    assert note in " ".join(result.json["notes"])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("provider", CHATS)
def test_a_temporary_failure_that_a_retry_overcomes_is_not_reported_as_an_error(
    provider: str, library: Library
) -> None:
    with running_model_server(ScriptedBackend((TRUE,))) as server:
        server.faults.plan(CHATS[provider], Fault.LOADING, Fault.CLOSE)
        result = library.ask(written_by(provider, server), "--json")
        assert len(server.bodies(CHATS[provider])) == 3
    assert result.code == 0, result
    assert result.json["complete"]


def test_a_stream_that_breaks_off_shows_its_sources_and_ends_with_the_error(library: Library) -> None:
    with running_model_server(ScriptedBackend((TRUE,))) as server:
        server.faults.always("/api/chat", Fault.DROP)
        result = library.ask(written_by("ollama", server), "--stream")
        assert len(server.bodies("/api/chat")) == 1
    assert result.code == 1
    assert "Sources\n[1] rules.md" in result.out
    assert "Supported by" not in result.out
    assert "broke off its answer" in result.err


def test_a_complete_answer_is_cached_but_a_truncated_answer_is_written_again(folder: Path) -> None:
    with running_model_server(ScriptedBackend((TRUE,))) as server:
        server.faults.plan("/api/chat", Fault.LENGTH)
        cut, whole, kept = _asked_three_times(folder, server)
        assert len(server.bodies("/api/chat")) == 2
    assert (cut, whole, kept) == ((False, False), (True, False), (True, True))


def _asked_three_times(folder: Path, server: ModelHttpServer) -> list[tuple[bool, bool]]:
    """Whether each answer was complete, and whether it came from the cache."""
    loaded = load_settings(None, written_by("ollama", server), folder)
    with open_engine(loaded.settings, loaded.data_dir, ["library"]) as engine:
        results = [engine.ask(QUESTION) for _ in range(3)]
    return [(result.complete, result.metadata["cached"]) for result in results]
