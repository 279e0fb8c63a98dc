"""Text of documents, file names and errors can neither control the terminal nor make one line look like two."""

import json
import re
from pathlib import Path

import pytest
from elt_llm_api.display.text import one_line, print_json, strip_control_characters
from processes.command_line import CommandLine

STEERING = (
    "\x1b[2J\x1b]52;c;ZXZpbA==\x07\x9b31m\x7f\x85"  # clear the screen, set the clipboard and colours
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"  # direction marks and line separators
)
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def test_stripped_text_has_no_control_characters_and_keeps_its_lines() -> None:
    shown = strip_control_characters(f"one{STEERING}\ntwo\tthree")
    assert not OBEYED.search(shown)
    assert shown.startswith("one")
    assert shown.endswith("\ntwo\tthree")


def test_text_made_into_one_line_has_no_line_ends() -> None:
    assert one_line(f"a\nfailed  b\tc{STEERING}").splitlines() == ["a failed  b c[2J]52;c;ZXZpbA==31m  "]


def test_json_escapes_control_characters_and_keeps_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"text": f"é{STEERING}"})
    shown = capsys.readouterr().out
    assert not OBEYED.search(shown)
    assert "é" in shown
    assert json.loads(shown) == {"text": f"é{STEERING}"}


def test_commands_print_no_control_characters_from_documents(tmp_path: Path, elt_llm: CommandLine) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    turning = STEERING.replace("\x85", "")
    text = f"# Fees {turning}\n\n## Late {turning}\n\nThe late fee is 12 pounds {turning} a week.\n"
    (folder / "a\nfailed  b\x1b[2J\u202e.md").write_text(text, encoding="utf-8")
    (folder / "c\nok  d.txt").write_bytes(b"\0\1\2")
    ingested = elt_llm("ingest", folder, "-c", "fees")
    assert [line for line in ingested.out.splitlines() if line.startswith("failed  b")] == []
    for ended in (
        ingested,
        elt_llm("ask", "What is the late fee?", "-c", "fees", "--explain"),
        elt_llm("search", "late fee", "-c", "fees", "--explain"),
        elt_llm("search", "late fee", "-c", "fees", "--json"),
        elt_llm("status"),
        elt_llm("ask", "x", "-c", f"fees{turning}"),
        elt_llm("ingest", f"missing{turning}", "-c", "fees"),
    ):
        assert not OBEYED.search(ended.out + ended.err), ended
