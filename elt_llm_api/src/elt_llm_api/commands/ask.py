"""`elt-llm ask`: the answer to a question, with its sources."""

import sys
from typing import TYPE_CHECKING

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.options import (
    CommandContext,
    asking_options,
    json_option,
    pass_command_context,
    strategy_option,
    where_option,
)
from elt_llm_api.render import print_json

if TYPE_CHECKING:
    from elt_llm_core.settings import Settings, StrategyName
    from elt_llm_query.engine import Engine


@click.command()
@asking_options
@strategy_option
@where_option
@click.option("--explain", is_flag=True, help="Show how each passage was found and ranked.")
@click.option(
    "--stream/--no-stream",
    default=None,
    help="Show the sources, then the answer as it is written; by default where a model writes, at a terminal.",
)
@json_option
@pass_command_context
def command(  # noqa: PLR0913, PLR0917 - one parameter for each option
    context: CommandContext,
    question: str,
    collections: tuple[str, ...],
    profile: str | None,
    strategy: "StrategyName | None",
    where: tuple[str, ...],
    explain: bool,
    stream: bool | None,
    as_json: bool,
) -> int:
    """Answer a question from the documents, each sentence with the place it stands at.

    What the documents do not hold is not answered: the closest passages are shown instead.
    """
    if stream and as_json:
        raise UsageError(
            "--stream shows an answer as it is written, and --json prints it whole.", hint="Leave one of them out."
        )
    from elt_llm_query.events import unheard

    from elt_llm_api.explain.lines import explanation_lines
    from elt_llm_api.render_answer import answer_lines
    from elt_llm_api.streaming import StreamPrinter

    printer = StreamPrinter()
    with open_asked(context, collections, profile) as engine:
        streams = not as_json and (bool(engine.llm) and sys.stdout.isatty() if stream is None else stream)
        listen = printer if streams else unheard
        result = engine.ask(question, where=where, strategy=strategy, explain=explain, listen=listen)
    if as_json:
        print_json(result.model_dump(mode="json"))
        return 0
    for line in printer.after(result) if streams else answer_lines(result):
        click.echo(line)
    for line in explanation_lines(result.trace.stages) if explain else ():
        click.echo(line)
    return 0


def open_asked(
    context: CommandContext, collections: tuple[str, ...], profile_name: str | None, *, looks_for_model: bool = True
) -> "Engine":
    """The engine for the collections and the profile a command names.

    Without `looks_for_model` a language model writes only where one was chosen: `auto` asks no server.
    """
    from elt_llm_core.settings_loader import load_profile
    from elt_llm_core.store.store import open_store

    loaded = context.load()
    profile = load_profile(profile_name or "default", loaded)
    with open_store(loaded.data_dir) as store:  # a mistyped name is told before anything heavy is imported
        for name in collections or profile.collections:
            store.collections.get(name)
    from elt_llm_query.engine import open_engine
    from elt_llm_query.synthesis.prompts import load_prompts
    from elt_llm_query.understanding.aliases import load_aliases

    settings = profile.apply_to(loaded.settings)
    return open_engine(
        settings if looks_for_model else _without_looking(settings),
        loaded.data_dir,
        collections or profile.collections,
        prefixes=() if collections else profile.collection_prefixes,
        aliases=load_aliases(loaded),
        prompts=load_prompts(loaded.config_dir, loaded.project),
    )


def _without_looking(settings: "Settings") -> "Settings":
    if settings.llm.provider != "auto":
        return settings
    return settings.model_copy(update={"llm": settings.llm.model_copy(update={"provider": "extractive"})})
