"""`elt-llm doctor`: run the checks and print a hint for each problem."""

from typing import TYPE_CHECKING

import click

from elt_llm_api.cli.options import CommandContext, json_option, pass_command_context
from elt_llm_api.display.text import align_columns, print_json, strip_control_characters

if TYPE_CHECKING:
    from elt_llm_api.doctor.check import CheckVerdict, DoctorFacts

_OUTCOME_COLOURS = {"ok": "green", "warn": "yellow", "FAIL": "red"}


@click.command()
@json_option
@pass_command_context
def command(context: CommandContext, as_json: bool) -> int:
    """Check the machine, the installation, the settings and the data. Exit code 1 if a check fails."""
    from elt_llm_api.doctor.examine import examine

    verdicts = examine(gather_facts(context))
    failed = any(verdict.outcome == "FAIL" for verdict in verdicts.values())
    if as_json:
        checks = [
            {"name": name, "outcome": it.outcome.value, "detail": it.detail, "hint": it.hint}
            for name, it in verdicts.items()
        ]
        print_json({"ok": not failed, "checks": checks})
    else:
        _print_verdicts(verdicts)
    return int(failed)


def gather_facts(context: CommandContext) -> "DoctorFacts":
    """Collect the inputs of the checks; invalid settings are one of them."""
    from elt_llm_core.errors import SettingsError

    from elt_llm_api.doctor.check import DoctorFacts

    try:
        return DoctorFacts(context.environment, context.working_directory, context.load(), None)
    except SettingsError as error:
        return DoctorFacts(context.environment, context.working_directory, None, error)


def _print_verdicts(verdicts: dict[str, "CheckVerdict"]) -> None:
    labels = align_columns([(it.outcome.value, name, ".") for name, it in verdicts.items()])
    indent = " " * (len(labels[0]) - 1)
    for label, verdict in zip(labels, verdicts.values(), strict=True):
        outcome = verdict.outcome.value
        first, *more = strip_control_characters(verdict.detail).splitlines() or [""]
        click.echo(f"{click.style(label[:4], fg=_OUTCOME_COLOURS[outcome])}{label[4:-1]}{first}")
        for line in (*more, *([verdict.hint] if verdict.hint else [])):
            click.echo(f"{indent}{strip_control_characters(line)}")
    counts = {outcome: sum(it.outcome.value == outcome for it in verdicts.values()) for outcome in _OUTCOME_COLOURS}
    click.echo(f"\n{len(verdicts)} checks: {counts['ok']} ok, {counts['warn']} with warnings, {counts['FAIL']} failed")
