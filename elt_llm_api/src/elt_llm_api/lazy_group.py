"""A click group that knows its commands by name and imports one only when it is called."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

import click

from elt_llm_api.options import global_options


@dataclass(frozen=True)
class CommandEntry:
    """A line of the command table. The module holds a click command named `command`."""

    name: str
    module: str
    help: str
    heading: str = "Commands"


class LazyGroup(click.Group):
    """Lists its table without importing it; an unknown name is answered with the nearest one."""

    def __init__(self, name: str, table: Sequence[CommandEntry], **attributes: object) -> None:
        super().__init__(name, **attributes)  # type: ignore[arg-type]  # click types each keyword on its own
        self.table = {entry.name: entry for entry in table}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name, in the table's order."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the module of one command, which also takes the global options after its name."""
        entry = self.table.get(cmd_name)
        if entry is None:
            return None
        if cmd_name not in self.commands:
            command: click.Command = import_module(entry.module).command
            taken = {option for parameter in command.params for option in parameter.opts}
            extra = [option for option in global_options(hidden=True) if not taken & set(option.opts)]
            command.params = [*command.params, *extra]
            self.commands[cmd_name] = command
        return self.commands[cmd_name]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command; raises UsageError with the nearest name if there is none."""
        if args[0] not in self.table and not args[0].startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(args[0], self.table, n=1, cutoff=0.5)
            advice = f"Did you mean {near[0]}?" if near else f"Run {ctx.command_path} --help for the list."
            raise click.UsageError(f"There is no command {args[0]!r}. {advice}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands below their headings, from the table alone; all descriptions begin in one column."""
        width = max(map(len, self.table))
        for heading in dict.fromkeys(entry.heading for entry in self.table.values()):
            with formatter.section(heading):
                entries = [entry for entry in self.table.values() if entry.heading == heading]
                formatter.write_dl([(entry.name.ljust(width), entry.help) for entry in entries])
