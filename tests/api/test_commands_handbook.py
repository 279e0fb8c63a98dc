"""The handbook command, and the topics that narrow it."""

from pathlib import Path

import pytest
from elt_llm_api.commands.handbook import command
from elt_llm_api.options import CommandContext
from fake_jobs import project

RULES = """The Keeper must sign the report. The Keeper shall send the report to the Board.

The bursar must pay every invoice. The bursar may refuse an invoice. The bursar files the invoice. The Keeper may see an
invoice. An invoice must be dated.
"""


def test_topics_on_the_command_line_narrow_what_is_drawn_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = project(tmp_path, {"a/one.md": RULES})
    outputs = []
    for arguments in ([], ["--topics", "invoices"], ["--topics", "zebras"]):
        capsys.readouterr()
        context = CommandContext(None, None, 0, {}, loaded.project)
        with command.make_context("handbook", ["--job", "rules", *arguments], obj=context) as call:
            assert command.invoke(call) == 0
        outputs.append(capsys.readouterr().out)
    assert "Narrowed" not in outputs[0]
    assert "Narrowed to: invoices." in outputs[1]
    assert "Narrowed to: zebras." in outputs[2]
