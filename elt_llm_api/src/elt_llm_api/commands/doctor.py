"""`elt-llm doctor`: what works, what does not, and the command that mends it."""

from typing import TYPE_CHECKING

import click

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.render import aligned, plain, print_json

if TYPE_CHECKING:
    from elt_llm_api.diagnosis.check import Facts, Verdict

_COLOURS = {"ok": "green", "warn": "yellow", "FAIL": "red"}


@click.command()
@json_option
@pass_command_context
def command(context: CommandContext, as_json: bool) -> int:
    """Look at the machine, the installation, the settings and the data. Exit code 1 if anything fails."""
    from elt_llm_api.diagnosis.examination import examine

    verdicts = examine(gather_facts(context))
    failed = any(verdict.outcome == "FAIL" for verdict in verdicts.values())
    if as_json:
        checks = [
            {"name": name, "outcome": it.outcome.value, "detail": it.detail, "hint": it.hint}
            for name, it in verdicts.items()
        ]
        print_json({"ok": not failed, "checks": checks})
    else:
        _print_table(verdicts)
    return int(failed)


def gather_facts(context: CommandContext) -> "Facts":
    """Settings that cannot be read are a fact like any other."""
    from elt_llm_core.errors import SettingsError

    from elt_llm_api.diagnosis.check import Facts

    try:
        return Facts(context.environment, context.working_directory, context.load(), None)
    except SettingsError as error:
        return Facts(context.environment, context.working_directory, None, error)


def _print_table(verdicts: dict[str, "Verdict"]) -> None:
    labels = aligned([(it.outcome.value, name, ".") for name, it in verdicts.items()])
    indent = " " * (len(labels[0]) - 1)
    for label, verdict in zip(labels, verdicts.values(), strict=True):
        outcome = verdict.outcome.value
        first, *more = plain(verdict.detail).splitlines() or [""]
        click.echo(f"{click.style(label[:4], fg=_COLOURS[outcome])}{label[4:-1]}{first}")
        for line in (*more, *([verdict.hint] if verdict.hint else [])):
            click.echo(f"{indent}{plain(line)}")
    counts = {outcome: sum(it.outcome.value == outcome for it in verdicts.values()) for outcome in _COLOURS}
    click.echo(f"\n{len(verdicts)} checks: {counts['ok']} ok, {counts['warn']} to look at, {counts['FAIL']} failed")
