"""`elt-llm ask` and `elt-llm search`, and a function that opens the query engine for other commands."""

import sys
from itertools import chain
from typing import TYPE_CHECKING

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.cli.options import (
    CommandContext,
    WholeNumber,
    asking_options,
    explain_option,
    json_command,
    strategy_option,
    where_option,
)
from elt_llm_api.display.text import print_result

if TYPE_CHECKING:
    from elt_llm_core.settings.tree import StrategyName
    from elt_llm_query.engine import Engine


@json_command
@asking_options
@strategy_option
@where_option
@explain_option
@click.option(
    "--stream/--no-stream",
    default=None,
    help="Show the answer while it is written; the default for a language model at a terminal.",
)
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
) -> None:
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
    lines = printer.after(result) if streams else answer_lines(result)
    explanation = explanation_lines(result.trace.stages) if explain else ()
    print_result(result.model_dump(mode="json"), chain(lines, explanation), as_json=as_json)


@json_command
@asking_options
@click.option("-k", "--top-k", type=WholeNumber(1, 1000), metavar="N", help="Maximum chunks.")
@strategy_option
@where_option
@explain_option
def search_command(  # noqa: PLR0913, PLR0917 - one parameter for each option
    context: CommandContext,
    question: str,
    collections: tuple[str, ...],
    profile: str | None,
    top_k: int | None,
    strategy: "StrategyName | None",
    where: tuple[str, ...],
    explain: bool,
    as_json: bool,
) -> None:
    """Retrieve the chunks that are relevant to a question, best first."""
    from elt_llm_api.cli.render.answers import chunk_lines
    from elt_llm_api.display.explain import explanation_lines

    with open_engine_for(context, collections, profile) as engine:
        found = engine.search(question, top_k=top_k, where=where, strategy=strategy, explain=explain)
    document = {
        "question": question,
        "chunks": [chunk.model_dump(mode="json") for chunk in found.chunks],
        "trace": {"stages": [stage.model_dump(mode="json") for stage in found.stages]},
        "notes": list(found.notes),
    }
    explanation = explanation_lines(found.stages) if explain else ()
    print_result(document, chain(chunk_lines(found.chunks, found.notes), explanation), as_json=as_json)


def open_engine_for(
    context: CommandContext, collections: tuple[str, ...], profile_name: str | None, *, looks_for_model: bool = True
) -> "Engine":
    """Open the query engine for the named collections, or those of the profile.

    If `looks_for_model` is false, `llm.provider: auto` does not look for a model server, and answers are quotes.
    """
    from elt_llm_core.settings.profiles import load_profile

    loaded = context.load()
    profile = load_profile(profile_name or "default", loaded)
    with context.open_store() as store:  # report an unknown name before heavy imports
        for name in collections or profile.collections:
            store.collections.get(name)
    from elt_llm_query.engine import open_engine
    from elt_llm_query.synthesis.prompts import load_prompts
    from elt_llm_query.understanding.aliases import load_aliases

    settings = profile.apply_to(loaded.settings)
    if settings.llm.provider == "auto" and not looks_for_model:
        llm = settings.llm.model_copy(update={"provider": "extractive"})
        settings = settings.model_copy(update={"llm": llm})
    return open_engine(
        settings,
        loaded.workspace,
        collections or profile.collections,
        prefixes=() if collections else profile.collection_prefixes,
        aliases=load_aliases(loaded),
        prompts=load_prompts(loaded.config_dir, loaded.project),
    )
