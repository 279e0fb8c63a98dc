"""`elt-llm chat` on the samples, at a terminal and by pipe: shown, stored, saved and deleted turns."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from elt_llm_api.cli.commands.chat import conversation_markdown
from elt_llm_core.results import QueryResult
from elt_llm_core.state.database import STATE_NAME
from elt_llm_core.state.sessions import ConversationTurn
from processes.command_line import FAKE, CommandLine, CommandResult, command, run_here
from processes.terminals import in_terminal, read_until

FIRST, SECOND = "How many points does a ground need for Grade A?", "Grade C please"
UNDERSTOOD = "How many points does a ground need for Grade C?"
SLOW = """
import time
from types import SimpleNamespace
from elt_llm_api.cli.commands.chat import converse

class Slow:
    collections, profile, turns, engine = ("samples",), "default", [], SimpleNamespace(llm=None)

    def ask(self, question):
        print("thinking of", question, flush=True)
        for _ in range(600):
            time.sleep(0.1)  # a signal that arrives just before a long sleep would take effect only after it

converse(Slow())
"""


def typed(chat: CommandLine, *lines: str, options: tuple[str, ...] = ("-c", "samples")) -> CommandResult:
    """Run a conversation with these lines piped in."""
    return chat("chat", *options, typed="".join(f"{line}\n" for line in lines))


def listed(chat: CommandLine) -> list[dict[str, Any]]:
    conversations: list[dict[str, Any]] = chat.done("chat", "--list", "--json").json
    return conversations


def ended_by_ctrl_d(terminal: int, process: "subprocess.Popen[bytes]") -> int | None:
    """Send Ctrl-D until the process ends, because an earlier Ctrl-C may discard it; return the exit code."""
    for _ in range(30):
        os.write(terminal, b"\x04")
        read_until(terminal, seconds=1)
        with suppress(subprocess.TimeoutExpired):
            return process.wait(1)
    return None


def test_a_follow_up_question_is_rewritten_and_answered(own_samples: CommandLine) -> None:
    ended = typed(own_samples, FIRST, SECOND, "/history")
    assert ended.code == 0, ended.err
    assert f"> {SECOND}\nUnderstood as: {UNDERSTOOD}\n" in ended.out
    assert f"  2  {SECOND}\n     understood as: {UNDERSTOOD}\n" in ended.out
    assert ended.out.count("No language model is in use") == 1


def test_with_the_json_option_the_chat_prints_one_line_per_question(own_samples: CommandLine) -> None:
    ended = typed(own_samples, FIRST, "", SECOND, options=("-c", "samples", "--json"))
    first, second = [json.loads(line) for line in ended.out.splitlines()]
    assert (first["asked"], second["asked"], second["result"]["question"]) == (FIRST, SECOND, UNDERSTOOD)
    assert first["session"] == second["session"] == listed(own_samples)[0]["session_id"]


def test_an_error_is_reported_and_the_conversation_continues(own_samples: CommandLine) -> None:
    asked = ("/nonsense", "/h", "/save", "/explain", "/collection nowhere", "/profile nothing", FIRST)
    ended = typed(own_samples, *asked)
    assert ended.code == 1
    assert ended.err.count("Error: ") == 6
    assert "There is no command '/nonsense'.\nType /help" in ended.err
    assert "'/h' is ambiguous.\nDid you mean /help or /history?" in ended.err
    assert "There is no collection 'nowhere'." in ended.err
    assert [one["turns"] for one in listed(own_samples)] == [1]
    lines = typed(own_samples, "/help", FIRST, options=("-c", "samples", "--json"))
    failed, answered = [json.loads(line) for line in lines.out.splitlines()]
    assert (lines.code, failed["error"]["type"], answered["asked"]) == (1, "UsageError", FIRST)


@pytest.mark.sampled(1, "chat")
def test_invalid_utf8_does_not_end_the_conversation(own_samples: CommandLine) -> None:
    ended = subprocess.run(
        command("chat", "-c", "samples", "--json"),
        cwd=own_samples.folder,
        env={**os.environ, **FAKE},
        input=b"\xff\xfe\x80 referee?\n\x00\x1b[2J\nWho is the referee?\n",
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert b"Traceback" not in ended.stderr
    assert json.loads(ended.stdout.splitlines()[-1])["asked"] == "Who is the referee?"


def test_a_conversation_can_be_continued(own_samples: CommandLine) -> None:
    typed(own_samples, FIRST, options=("-c", "samples", "--profile", "fast"))
    [begun] = listed(own_samples)
    assert f"Understood as: {UNDERSTOOD}" in typed(own_samples, SECOND, options=("--continue",)).out
    named = typed(own_samples, "/history", options=("--continue", begun["session_id"][:6]))
    assert "  2  Grade C please" in named.out
    [still] = listed(own_samples)
    assert (still["turns"], still["profile"], still["title"]) == (2, "fast", FIRST)


def test_a_new_conversation_has_no_history(own_samples: CommandLine) -> None:
    ended = typed(own_samples, FIRST, "/new", SECOND)
    assert "Understood as" not in ended.out
    assert [one["turns"] for one in listed(own_samples)] == [1, 1]


def test_conversations_are_listed_and_deleted(own_samples: CommandLine) -> None:
    assert own_samples.done("chat", "--list").out == "No conversations yet.\n"
    assert not (own_samples.folder / ".elt_llm" / STATE_NAME).exists()
    typed(own_samples, FIRST)
    [begun] = listed(own_samples)
    identity = begun["session_id"][:8]
    assert identity in own_samples.done("chat", "--list").out
    assert run_here("chat", "--delete", identity, folder=own_samples.folder, environment=FAKE).code == 2
    assert own_samples.done("chat", "--delete", identity, "--yes").out == "Deleted 1 turn.\n"
    assert listed(own_samples) == []
    assert own_samples("chat", "--delete", identity, "--yes").code == 2
    assert own_samples("chat", "--continue").code == 2


@pytest.mark.parametrize("options", [("-c", "nowhere"), ("-c", "samples", "--profile", "nothing"), ("--continue",)])
def test_a_misspelt_collection_or_profile_is_reported_before_anything_is_stored(
    options: tuple[str, ...], own_samples: CommandLine
) -> None:
    ended = own_samples("chat", *options)
    assert ended.code == 2
    assert not (own_samples.folder / ".elt_llm" / STATE_NAME).exists()


def test_a_saved_conversation_has_every_turn_with_its_citations(own_samples: CommandLine) -> None:
    ended = typed(own_samples, FIRST, SECOND, "/save talk.md", "/save talk.md", "/save no/where.md")
    assert "2 turns in " in ended.out
    assert ended.err.count("is not overwritten") == 1
    assert ended.err.count("There is no folder") == 1
    saved = (own_samples.folder / "talk.md").read_text(encoding="utf-8")
    assert f"## {FIRST}\n" in saved
    assert f"## {SECOND}\n\n*Understood as: {UNDERSTOOD}*\n" in saved
    lines = typed(own_samples, FIRST, options=("-c", "samples", "--json")).out
    for citation in json.loads(lines)["result"]["citations"]:
        assert f"- {citation['reference']} {citation['source']}" in saved
        assert citation["excerpt"].split("\n")[0].strip()[:20] in saved


@pytest.mark.parametrize("name", ["link.md", "a\0b.md", "n" * 300, "."])
def test_a_failed_save_does_not_end_the_conversation(name: str, own_samples: CommandLine) -> None:
    elsewhere = own_samples.folder / "elsewhere.md"
    link = own_samples.folder / "link.md"
    if not link.is_symlink():
        link.symlink_to(elsewhere)
    ended = typed(own_samples, FIRST, f"/save {name}", "/history")
    assert f"  1  {FIRST}" in ended.out
    assert "Name another" in ended.err
    assert "Traceback" not in ended.err
    assert not elsewhere.exists()


def test_markdown_in_documents_is_escaped() -> None:
    answer = "# not a heading\n<script>\n> said\x1b[2J"
    result = QueryResult(question="# q *x*", answer=answer, answered=True)
    shown = conversation_markdown([ConversationTurn(1, "# q *x*\n# r", "# q *x*\n# r", answer, result, "")])
    assert shown.splitlines()[:5] == ["## \\# q \\*x\\* \\# r", "", "\\# not a heading", "\\<script>", "\\> said[2J"]


def test_a_conversation_can_switch_to_another_collection(own_samples: CommandLine) -> None:
    (own_samples.folder / "note.md").write_text("# Mast\n\nThe mast is twelve metres tall.\n", encoding="utf-8")
    own_samples.done("ingest", "note.md", "-c", "mast", "--json")
    ended = typed(own_samples, FIRST, "/collection mast, samples", "How tall is the mast?", "/sources", "/explain")
    assert ended.code == 0, ended.err
    assert "Asking mast, samples from now on." in ended.out
    assert "twelve metres" in ended.out
    assert [one["collections"] for one in listed(own_samples)] == [["mast", "samples"]]
    assert "\nNear misses\n" in ended.out
    assert "\nAnswered\n" in ended.out


@pytest.mark.sampled(1, "chat")
def test_chat_lines_fit_80_columns_and_ctrl_d_ends_the_chat(own_samples: CommandLine) -> None:
    line = command("chat", "-c", "samples")
    with in_terminal(own_samples.folder, line, columns=80) as (terminal, process):
        shown = read_until(terminal, "> ")
        for asked in (FIRST, SECOND, "/help", "/history"):
            os.write(terminal, f"{asked}\n".encode())
            shown += read_until(terminal, "\n> ")
        process.send_signal(signal.SIGINT)
        assert ended_by_ctrl_d(terminal, process) == 0
    assert f"Understood as: {UNDERSTOOD}" in shown
    # Each source stays on one line, so that it can be copied.
    assert [one for one in shown.splitlines() if len(one) > 80 and not one.startswith("[")] == []


def test_ctrl_c_stops_the_answer_but_not_the_conversation(tmp_path: Path) -> None:
    with in_terminal(tmp_path, [sys.executable, "-c", SLOW]) as (terminal, process):
        read_until(terminal, "> ")
        for _ in range(2):
            os.write(terminal, b"why?\n")
            assert "thinking of why?" in read_until(terminal, "thinking of why?")
            process.send_signal(signal.SIGINT)
            assert "Stopped." in read_until(terminal, "\n> ")
        os.write(terminal, b"/quit\n")
        assert process.wait(60) == 0
