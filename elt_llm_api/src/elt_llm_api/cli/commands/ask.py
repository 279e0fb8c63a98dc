"""`elt-llm ask`: answer a question with citations; also opens the engine for other commands."""

import sys
from typing import TYPE_CHECKING

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.cli.options import (
    CommandContext,
    asking_options,
    json_option,
    pass_command_context,
    strategy_option,
    where_option,
)
from elt_llm_api.display.text import print_json

if TYPE_CHECKING:
    from elt_llm_core.settings.tree import Settings, StrategyName
    from elt_llm_query.engine import Engine


@click.command()
@asking_options
@strategy_option
@where_option
@click.option("--explain", is_flag=True, help="Show how each chunk was found and ranked.")
@click.option(
    "--stream/--no-stream",
    default=None,
    help="Show the answer while it is written; the default for a language model at a terminal.",
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
    """Answer a question from the documents, with a citation for each sentence.

    Questions that the documents do not answer are refused, and the closest chunks are shown.
    """
    if stream and as_json:
        raise UsageError("--stream and --json cannot be combined.", hint="Remove one of them.")
    from elt_llm_query.synthesis.events import ignore_events

    from elt_llm_api.cli.render.answers import StreamPrinter, answer_lines
    from elt_llm_api.display.explain import explanation_lines

    printer = StreamPrinter()
    with open_engine_for(context, collections, profile) as engine:
        streams = not as_json and (bool(engine.llm) and sys.stdout.isatty() if stream is None else stream)
        listen = printer if streams else ignore_events
        result = engine.ask(question, where=where, strategy=strategy, explain=explain, listen=listen)
    if as_json:
        print_json(result.model_dump(mode="json"))
        return 0
    for line in printer.after(result) if streams else answer_lines(result):
        click.echo(line)
    for line in explanation_lines(result.trace.stages) if explain else ():
        click.echo(line)
    return 0


def open_engine_for(
    context: CommandContext, collections: tuple[str, ...], profile_name: str | None, *, looks_for_model: bool = True
) -> "Engine":
    """Open the engine for collections and a profile.

    If `looks_for_model` is false, the provider `auto` does not look for a model server and answers with quotes.
    """
    from elt_llm_core.settings.profiles import load_profile
    from elt_llm_core.store.store import open_store

    loaded = context.load()
    profile = load_profile(profile_name or "default", loaded)
    with open_store(loaded.data_dir) as store:  # report an unknown name before heavy imports
        for name in collections or profile.collections:
            store.collections.get(name)
    from elt_llm_query.engine import open_engine
    from elt_llm_query.synthesis.prompts import load_prompts
    from elt_llm_query.understanding.aliases import load_aliases

    settings = profile.apply_to(loaded.settings)
    return open_engine(
        settings if looks_for_model else _without_model_lookup(settings),
        loaded.data_dir,
        collections or profile.collections,
        prefixes=() if collections else profile.collection_prefixes,
        aliases=load_aliases(loaded),
        prompts=load_prompts(loaded.config_dir, loaded.project),
    )


def _without_model_lookup(settings: "Settings") -> "Settings":
    if settings.llm.provider != "auto":
        return settings
    return settings.model_copy(update={"llm": settings.llm.model_copy(update={"provider": "extractive"})})
