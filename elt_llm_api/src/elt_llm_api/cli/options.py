"""Options shared by commands, and the command group that imports a command only when it is called."""

import difflib
import logging
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click
from elt_llm_core.errors import UsageError

if TYPE_CHECKING:
    from elt_llm_core.settings.loader import LoadedSettings
    from elt_llm_core.store.store import Store

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class CommandContext:
    """The global options of one call of the program, with its environment and working directory."""

    config: Path | None
    data_dir: Path | None
    verbose: int
    environment: Mapping[str, str]
    working_directory: Path

    @property
    def program(self) -> str:
        """The words that start the program, as the user typed them: with `uv run`, or without."""
        return "uv run elt-llm" if "UV_RUN_RECURSION_DEPTH" in self.environment else "elt-llm"

    def load(self) -> "LoadedSettings":
        """Load the settings and the data directory of this call. Raises SettingsError."""
        from elt_llm_core.settings.loader import DATA_DIR_VARIABLE, load_settings

        named = {DATA_DIR_VARIABLE: str(self.data_dir)} if self.data_dir else {}
        return load_settings(self.config, {**self.environment, **named}, self.working_directory)

    @contextmanager
    def open_store(self, writer: str = "") -> "Iterator[Store]":
        """Open the store for reading. With `writer`, a command to show as the lock's holder, open it for writing."""
        from elt_llm_core.store.lock import writer_lock
        from elt_llm_core.store.store import open_store

        workspace = self.load().workspace
        locked = writer_lock(workspace, writer) if writer else nullcontext()
        with locked, open_store(workspace, for_writing=bool(writer)) as store:
            yield store


pass_command_context = click.make_pass_decorator(CommandContext)
"""A decorator that passes the CommandContext to a command as its first argument."""
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
"""`--json`: stdout is exactly one JSON document, also for errors."""
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
profile_option = click.option(
    "--profile", metavar="P", help="Search profile: default, classic, fast, thorough, or your own."
)


def json_command(function: Callable[..., int | None]) -> click.Command:
    """Build a command from a function whose first parameter is the CommandContext, and add the option `--json`."""
    return json_option(click.command()(pass_command_context(function)))


class WholeNumber(click.IntRange):
    """The type of an option whose value is an integer within bounds. Error messages call it a whole number."""

    name = "whole number"


class NamedPath(click.Path):
    """The type of an option whose value is a path. An empty text, which would be the working directory, is refused."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Return the path. Fail with a message for an empty one, such as that of an unset variable."""
        if value == "":
            self.fail("The path is empty. Name a path, or leave the option out.", parameter, context)
        return super().convert(value, parameter, context)


def asking_options(function: Function) -> Function:
    """Add the arguments that every question has: its words (quotation marks are optional), collections and profile."""
    words = click.argument(
        "question",
        nargs=-1,
        required=True,
        metavar="QUESTION",
        callback=lambda _context, _parameter, words: " ".join(words),
    )
    collections = click.option(
        "-c", "--collection", "collections", multiple=True, metavar="NAME", help="Collection to ask; may be repeated."
    )
    return words(collections(profile_option(function)))


class StrategyType(click.ParamType[str]):
    """The type of an option whose value is the name of a search strategy."""

    name = "strategy"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> str:
        """Return the strategy's name. For an unknown name, fail with a message that lists all names."""
        from elt_llm_core.settings.tree import STRATEGIES

        name = str(value)
        if name not in STRATEGIES:
            self.fail(f"There is no strategy '{name}'. Strategies are: {', '.join(STRATEGIES)}.", parameter, context)
        return name


strategy_option = click.option(
    "--strategy", type=StrategyType(), metavar="S", help="Search strategy: hybrid, multi_hop, auto ...; see the docs."
)
explain_option = click.option("--explain", is_flag=True, help="Show how each chunk was found and ranked.")
where_option = click.option(
    "--where",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Only chunks with this value; also != >= <= in. If repeated, all must hold.",
)


def global_options(*, hidden: bool) -> list[click.Option]:
    """Build the options that may precede or follow a command's name. The help lists them unless they are `hidden`."""
    path = NamedPath(path_type=Path)
    config = "Settings file; else config/rag_config.yaml here or in a folder above."
    data_dir = "Folder of the collections; also ELT_LLM_DATA_DIR."
    verbose = "Log to stderr; -vv logs every detail."
    keywords: dict[str, Any] = {"expose_value": False, "hidden": hidden}
    stored = {"callback": _store_global_option, **keywords}
    return [
        click.Option(["--config"], type=path, metavar="FILE", help=config, **stored),
        click.Option(["--data-dir"], type=path, metavar="DIR", help=data_dir, **stored),
        click.Option(["-v", "--verbose"], count=True, help=verbose, callback=_set_verbosity, **keywords),
    ]


def _store_global_option(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Store a global option's value for the command. If the option occurs twice, the last value is used."""
    if value:
        context.obj = replace(context.obj, **{str(parameter.name): value})


def _set_verbosity(context: click.Context, parameter: click.Parameter, value: int) -> None:
    _store_global_option(context, parameter, value)
    if value:
        level = logging.INFO if value == 1 else logging.DEBUG
        logging.basicConfig(level=level, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s", force=True)


def confirm_or_abort(question: str, *, as_json: bool) -> None:
    """Ask for confirmation. Raises UsageError if the answer is not yes. With --json, raise it without asking."""
    try:
        agreed = not as_json and click.confirm(question, err=True)
    except click.Abort as end:
        if sys.stdin.isatty():
            raise
        click.echo(err=True)
        raise UsageError(
            "Nothing was deleted: no answer was entered.", hint="To delete without being asked, add --yes"
        ) from end
    if not agreed:
        raise UsageError("Nothing was deleted.", hint="To delete without being asked, add --yes")


@dataclass(frozen=True)
class CommandEntry:
    """A row of the command table: a command's name and help, and the module and attribute that define it."""

    name: str
    module: str
    help: str
    heading: str = "Commands"
    attribute: str = "command"


class LazyGroup(click.Group):
    """A command group that lists its commands without importing them, and suggests similar names for unknown ones."""

    def __init__(self, name: str, table: Sequence[CommandEntry], **attributes: object) -> None:
        super().__init__(name, **attributes)  # type: ignore[arg-type]  # click types each keyword on its own
        self.table = {entry.name: entry for entry in table}

    @classmethod
    def of_module(cls, module: str, *, help: str) -> Self:  # noqa: A002
        """Build the group named like its module, whose subcommands are the functions `NAME_command` in it."""
        name = module.rpartition(".")[2]
        table = tomllib.loads(Path(__file__).with_name("subcommand_table.toml").read_text(encoding="utf-8"))[name]
        entries = [CommandEntry(one, module, text, attribute=f"{one}_command") for one, text in table.items()]
        return cls(name, entries, help=help)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the name of every command, in the order of the command table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command. The global options are added to it, so that they may also follow its name."""
        entry = self.table.get(cmd_name)
        if entry is None:
            return None
        if cmd_name not in self.commands:
            command: click.Command = getattr(import_module(entry.module), entry.attribute)
            taken = {option for parameter in command.params for option in parameter.opts}
            extra = [option for option in global_options(hidden=True) if not taken & set(option.opts)]
            command.params = [*command.params, *extra]
            self.commands[cmd_name] = command
        return self.commands[cmd_name]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. Raises UsageError with a similar name if there is none."""
        if args[0] not in self.table and not args[0].startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(args[0], self.table, n=1, cutoff=0.5)
            near = ["ingest --watch"] if args[0] == "watch" and "ingest" in self.table else near
            advice = f"Did you mean {near[0]}?" if near else f"Run {ctx.command_path} --help for the list."
            raise click.UsageError(f"There is no command {args[0]!r}. {advice}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands by heading, with all descriptions in one column. No command is imported."""
        width = max(map(len, self.table))
        for heading in dict.fromkeys(entry.heading for entry in self.table.values()):
            with formatter.section(heading):
                entries = [entry for entry in self.table.values() if entry.heading == heading]
                formatter.write_dl([(entry.name.ljust(width), entry.help) for entry in entries])
