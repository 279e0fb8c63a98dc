"""The handbook command and its topics."""

from pathlib import Path

import pytest
from elt_llm_api.cli.job_commands import handbook_command
from elt_llm_api.cli.options import CommandContext
from row_jobs.fake_jobs import project

RULES = """The Keeper must sign the report. The Keeper shall send the report to the Board.

The bursar must pay every invoice. The bursar may refuse an invoice. The bursar files the invoice. The Keeper may see an
invoice. An invoice must be dated.
"""


def test_a_handbook_job_with_the_topics_option_reports_that_only_these_topics_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = project(tmp_path, {"a/one.md": RULES})
    outputs = []
    for arguments in ([], ["--topics", "invoices"], ["--topics", "zebras"]):
        capsys.readouterr()
        context = CommandContext(None, None, 0, {}, loaded.project)
        words = ["--job", "rules", *arguments]
        # click keeps the first help option of a command, so this one has the names of the command group.
        with handbook_command.make_context("handbook", words, obj=context, help_option_names=["-h", "--help"]) as call:
            assert handbook_command.invoke(call) == 0
        outputs.append(capsys.readouterr().out)
    assert "Narrowed" not in outputs[0]
    assert "Only rows about these topics are shown: invoices." in outputs[1]
    assert "Only rows about these topics are shown: zebras." in outputs[2]
