"""Conversations with a model that writes: a terminal shows words as they arrive, and Ctrl-C stops them."""

import json
import os
import signal
from pathlib import Path

import pytest
from model_servers.backends import ScriptedBackend
from model_servers.faults import Fault
from model_servers.http_server import running_model_server
from processes.command_line import command, run_process
from processes.terminals import in_terminal, read_until
from served.scripted_answers import QUESTION, TRUE, ingested, written_by

pytestmark = pytest.mark.halved


FOLLOW_UP = "and how often are they renewed?"
REWRITTEN = "How often is a loan renewed?"
SECOND = "A loan is renewed twice at most [1]."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingested(tmp_path_factory.mktemp("library"))


def test_a_follow_up_question_is_answered_with_the_earlier_turns(folder: Path) -> None:
    with running_model_server(ScriptedBackend((TRUE, REWRITTEN, SECOND))) as server:
        typed = f"{QUESTION}\n{FOLLOW_UP}\n"
        ended = run_process(
            "chat", "-c", "library", "--json", folder=folder, typed=typed, **written_by("ollama", server)
        )
        first, _, second = server.bodies("/api/chat")
    assert ended.code == 0, ended.err
    results = [json.loads(line)["result"] for line in ended.out.splitlines()]
    assert results[1]["metadata"]["earlier_turns"] == [1]
    assert results[1]["answer"] == "A loan is renewed twice at most. [1]"
    earlier = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": "Books may be borrowed for four weeks."},
    ]
    asked = [{"role": one["role"], "content": one["content"]} for one in second["messages"]]
    assert asked[-3:-1] == earlier
    assert earlier[0] not in first["messages"][:-1]


def test_a_terminal_shows_the_words_as_they_arrive_and_ctrl_c_stops_the_answer(folder: Path) -> None:
    with running_model_server(ScriptedBackend((TRUE,))) as server:
        server.faults.plan("/api/chat", Fault.ENDLESS)
        environment = written_by("ollama", server)
        with in_terminal(folder, command("chat", "-c", "library"), environment=environment) as (terminal, process):
            read_until(terminal, "> ")
            os.write(terminal, f"{QUESTION}\n".encode())
            shown = read_until(terminal, "on and on and")
            process.send_signal(signal.SIGINT)
            stopped = read_until(terminal, "\n> ")
            os.write(terminal, f"{QUESTION}\n".encode())
            whole = read_until(terminal, "\n> ")
            os.write(terminal, b"/history\n")
            history = read_until(terminal, "\n> ")
    assert shown.index("Sources") < shown.index("[1] rules.md") < shown.index("Books ")
    assert "Stopped." in stopped
    assert whole.index(TRUE) < whole.index("Supported by")
    assert (f"  1  {QUESTION}" in history, "  2  " in history) == (True, False)
