"""What every command is given: where settings and data are, and how much to say."""

import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from elt_llm_core.settings_loader import LoadedSettings

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class CommandContext:
    """The global options of one call, and the world they are read in."""

    config: Path | None
    data_dir: Path | None
    verbose: int
    environment: Mapping[str, str]
    working_directory: Path

    def load(self) -> "LoadedSettings":
        """Settings and data directory for this call; raises SettingsError."""
        from elt_llm_core.settings_loader import DATA_DIR_VARIABLE, load_settings

        named = {DATA_DIR_VARIABLE: str(self.data_dir)} if self.data_dir else {}
        return load_settings(self.config, {**self.environment, **named}, self.working_directory)


pass_command_context = click.make_pass_decorator(CommandContext)
"""Gives a command its CommandContext as the first argument."""


def json_option(function: Function) -> Function:
    """Adds `--json`: one JSON document on stdout and nothing else there, errors included."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(function)


class WholeNumber(click.IntRange):
    """A number within bounds, named so that people understand what is wrong with theirs."""

    name = "whole number"


def asking_options(function: Function) -> Function:
    """Adds what every question takes: its words, quoted or not, the collections and the profile."""
    words = click.argument("question", nargs=-1, required=True, metavar="QUESTION", callback=_as_one_text)
    collections = click.option(
        "-c", "--collection", "collections", multiple=True, metavar="NAME", help="Collection to ask; may be repeated."
    )
    profile = click.option(
        "--profile", metavar="P", help="A way of asking: default, classic, fast, thorough, or yours."
    )
    return words(collections(profile(function)))


class StrategyType(click.ParamType[str]):
    """The name of a way to search, checked without loading anything heavy before it is needed."""

    name = "strategy"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> str:
        """The name as it was given; fails with all names for one that there is not."""
        from elt_llm_core.settings import STRATEGIES

        given = str(value)
        if given not in STRATEGIES:
            self.fail(f"There is no strategy '{given}'. Strategies are: {', '.join(STRATEGIES)}.", parameter, context)
        return given


def strategy_option(function: Function) -> Function:
    """Adds `--strategy`, which decides how the question is searched for in place of the profile."""
    return click.option(
        "--strategy", type=StrategyType(), metavar="S", help="How to search: hybrid, multi_hop, auto ...; see the docs."
    )(function)


def where_option(function: Function) -> Function:
    """Adds `--where`, which may be repeated: every condition has to hold."""
    return click.option(
        "--where",
        multiple=True,
        metavar="FIELD=VALUE",
        help="Only passages with that; also != >= <= in. May be repeated: all must hold.",
    )(function)


def global_options(*, hidden: bool) -> list[click.Option]:
    """The options that may stand before or after a command's name; hidden where they are accepted a second time."""
    return [
        click.Option(
            ["--config"],
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Settings file; else config/rag_config.yaml here or in a folder above.",
            callback=_remember,
            expose_value=False,
            hidden=hidden,
        ),
        click.Option(
            ["--data-dir"],
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Where collections live; also ELT_LLM_DATA_DIR.",
            callback=_remember,
            expose_value=False,
            hidden=hidden,
        ),
        click.Option(
            ["-v", "--verbose"],
            count=True,
            help="Say more on stderr; twice: everything.",
            callback=_speak_up,
            expose_value=False,
            hidden=hidden,
        ),
    ]


def _as_one_text(_context: click.Context, _parameter: click.Parameter, words: tuple[str, ...]) -> str:
    return " ".join(words)


def _remember(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Keeps a given value for the command; the one that stands last wins."""
    if value:
        changes: dict[str, Any] = {str(parameter.name): value}
        context.obj = replace(context.find_object(CommandContext) or _missing(), **changes)


def _speak_up(context: click.Context, parameter: click.Parameter, value: int) -> None:
    _remember(context, parameter, value)
    if value:
        level = logging.INFO if value == 1 else logging.DEBUG
        logging.basicConfig(level=level, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s", force=True)


def _missing() -> CommandContext:
    raise RuntimeError("global options need a CommandContext to be recorded in")
