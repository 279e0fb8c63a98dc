"""Every fault of a model server, met by `elt-llm ask`: a typed error with what mends it, or a degradation that is said.

Whatever happens, nothing is quoted in place of the answer that was to be written, and the command ends in time.
"""

import time
from pathlib import Path

import pytest
from command_line import Ended
from elt_llm_core.settings_loader import load_settings
from elt_llm_query.engine import open_engine
from model_backends import Manners, ScriptedBackend
from model_faults import Fault
from model_http_server import ModelHttpServer, running_model_server
from written_journeys import CHATS, LONG_TEXT, QUESTION, TRUE, Library, ingested, written_by

AT_MOST = 30.0  # seconds, where the answer may take two
IMPATIENT = {
    "LLM__ANSWER_TIMEOUT": "2",
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
    Fault.TOO_LONG: ("PromptTooLong", "context_window"),
    Fault.NO_THINKING: ("ModelRefused", "thinking"),
    Fault.REDIRECT: ("ModelRefused", "base_url"),
    Fault.NOT_JSON: ("UnusableReply", "right one?|really the address"),
    Fault.HANG: ("ModelTimeout", "request_timeout"),
    Fault.STALL: ("ModelTimeout", "request_timeout"),
    Fault.ENDLESS: ("ModelTimeout", "llm.answer_timeout"),
    Fault.DROP: ("ModelBroken", "log"),
    Fault.ERROR_LINE: ("ModelBroken", "log"),
    Fault.GARBAGE: ("UnusableReply", "base_url"),
    Fault.PROMPT_CUT: ("PromptTooLong", "context_window"),
    Fault.CUT_50: ("PromptTooLong", "context_window"),
}
# No server has a window so small that it would cut a little off a short prompt.
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
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingested(tmp_path_factory.mktemp("library"))


@pytest.fixture
def library(folder: Path, capsys: pytest.CaptureFixture[str]) -> Library:
    return Library(folder, capsys)


def asked(provider: str, fault: Fault, library: Library, manners: Manners | None = None) -> Ended:
    """What came of it, in time."""
    with running_model_server(ScriptedBackend((TRUE,), manners=manners or Manners())) as server:
        server.faults.always(CHATS[provider], fault)
        started = time.monotonic()
        ended = library.ask(written_by(provider, server, **IMPATIENT), "--json")
    assert time.monotonic() - started < AT_MOST
    return ended


def test_every_fault_has_its_place_in_the_tables() -> None:
    assert {Fault.NONE, *ERRORS, *OF_LONG_PROMPTS, *BORNE, *OF_VECTORS} == set(Fault)


@pytest.mark.parametrize("provider", CHATS)
@pytest.mark.parametrize("fault", ERRORS, ids=lambda fault: fault.name)
def test_what_fails_is_told_by_its_name_with_what_mends_it(fault: Fault, provider: str, library: Library) -> None:
    ended = asked(provider, fault, library)
    name, mend = ERRORS[fault]
    assert ended.code == 1
    assert set(ended.json) == {"error"}
    assert ended.json["error"]["type"] == name
    assert any(part in ended.json["error"]["hint"] for part in mend.split("|"))


@pytest.mark.parametrize("provider", CHATS)
@pytest.mark.parametrize("fault", OF_LONG_PROMPTS, ids=lambda fault: fault.name)
def test_a_prompt_of_which_a_little_was_cut_is_not_answered(
    fault: Fault, provider: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = Manners(tells=False, refuses=False)
    library = Library(ingested(tmp_path, LONG_TEXT), capsys)
    with running_model_server(ScriptedBackend((TRUE,), manners=silent)) as server:
        server.faults.plan(CHATS[provider], fault)
        ended = library.ask(written_by(provider, server), "--json")
    assert (ended.code, ended.json["error"]["type"]) == (1, "PromptTooLong")


@pytest.mark.parametrize("provider", CHATS)
def test_a_long_prompt_that_was_read_whole_is_answered(
    provider: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = Manners(tells=False, refuses=False)
    ended = asked(provider, Fault.NONE, Library(ingested(tmp_path, LONG_TEXT), capsys), silent)
    assert (ended.code, ended.json["notes"]) == (0, [])


@pytest.mark.parametrize("provider", CHATS)
@pytest.mark.parametrize("fault", BORNE, ids=lambda fault: fault.name)
def test_what_an_answer_survives_is_said_with_it(fault: Fault, provider: str, library: Library) -> None:
    ended = asked(provider, fault, library)
    complete, note = BORNE[fault]
    assert ended.code == 0, ended
    assert ended.json["answer"] == "Books may be borrowed for four weeks. [1]"
    assert ended.json["complete"] == complete
    assert note in " ".join(ended.json["notes"])


@pytest.mark.parametrize("provider", CHATS)
def test_a_failure_that_passes_is_not_seen(provider: str, library: Library) -> None:
    with running_model_server(ScriptedBackend((TRUE,))) as server:
        server.faults.plan(CHATS[provider], Fault.LOADING, Fault.CLOSE)
        ended = library.ask(written_by(provider, server), "--json")
        assert len(server.bodies(CHATS[provider])) == 3
    assert ended.code == 0, ended
    assert ended.json["complete"]


def test_a_stream_that_breaks_off_has_shown_its_sources_and_ends_with_the_error(library: Library) -> None:
    with running_model_server(ScriptedBackend((TRUE,))) as server:
        server.faults.always("/api/chat", Fault.DROP)
        ended = library.ask(written_by("ollama", server), "--stream")
        assert len(server.bodies("/api/chat")) == 1
    assert ended.code == 1
    assert "Sources\n[1] rules.md" in ended.out
    assert "Borne out by" not in ended.out
    assert "broke off its answer" in ended.err


def test_a_whole_answer_is_kept_and_one_that_was_cut_is_written_anew(folder: Path) -> None:
    with running_model_server(ScriptedBackend((TRUE,))) as server:
        server.faults.plan("/api/chat", Fault.LENGTH)
        cut, whole, kept = _asked_three_times(folder, server)
        assert len(server.bodies("/api/chat")) == 2
    assert (cut, whole, kept) == ((False, False), (True, False), (True, True))


def _asked_three_times(folder: Path, server: ModelHttpServer) -> list[tuple[bool, bool]]:
    """Whether each answer was complete, and whether it came out of the cache."""
    loaded = load_settings(None, written_by("ollama", server), folder)
    with open_engine(loaded.settings, loaded.data_dir, ["library"]) as engine:
        results = [engine.ask(QUESTION) for _ in range(3)]
    return [(result.complete, result.metadata["cached"]) for result in results]
