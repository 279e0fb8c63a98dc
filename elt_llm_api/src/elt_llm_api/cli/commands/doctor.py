"""`elt-llm doctor`: run the checks and print a hint for each problem."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click
from elt_llm_core.errors import SettingsError

from elt_llm_api.cli.options import CommandContext, json_command
from elt_llm_api.display.text import align_columns, print_result, strip_control_characters

if TYPE_CHECKING:
    from elt_llm_api.doctor.check import CheckVerdict

_OUTCOME_COLOURS = {"ok": "green", "warn": "yellow", "FAIL": "red"}


@json_command
def command(context: CommandContext, as_json: bool) -> int:
    """Check the machine, the installation, the settings and the data. Exit code 1 if a check fails."""
    from elt_llm_api.doctor.check import DoctorFacts
    from elt_llm_api.doctor.examine import examine

    loaded, settings_error = None, None
    try:
        loaded = context.load()
    except SettingsError as error:  # a check reports the error
        settings_error = error
    verdicts = examine(DoctorFacts(context.environment, loaded, settings_error))
    failed = any(verdict.outcome == "FAIL" for verdict in verdicts.values())
    checks = [{"name": name, **asdict(verdict)} for name, verdict in verdicts.items()]
    print_result({"ok": not failed, "checks": checks}, _verdict_lines(verdicts), as_json=as_json)
    return int(failed)


def _verdict_lines(verdicts: dict[str, "CheckVerdict"]) -> Iterator[str]:
    labels = align_columns([(it.outcome, name, ".") for name, it in verdicts.items()])
    indent = " " * (len(labels[0]) - 1)
    for label, verdict in zip(labels, verdicts.values(), strict=True):
        first, *more = strip_control_characters(verdict.detail).splitlines() or [""]
        yield f"{click.style(label[:4], fg=_OUTCOME_COLOURS[verdict.outcome])}{label[4:-1]}{first}"
        for line in (*more, *([verdict.hint] if verdict.hint else [])):
            yield f"{indent}{strip_control_characters(line)}"
    counts = {outcome: sum(it.outcome == outcome for it in verdicts.values()) for outcome in _OUTCOME_COLOURS}
    yield f"\n{len(verdicts)} checks: {counts['ok']} ok, {counts['warn']} with warnings, {counts['FAIL']} failed"
