"""`elt-llm search`: retrieve chunks for a question, without an answer."""

from itertools import chain
from typing import TYPE_CHECKING

import click

from elt_llm_api.cli.commands.ask import open_engine_for
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


@json_command
@asking_options
@click.option("-k", "--top-k", type=WholeNumber(1, 1000), metavar="N", help="Maximum chunks.")
@strategy_option
@where_option
@explain_option
def command(  # noqa: PLR0913, PLR0917 - one parameter for each option
    context: CommandContext,
    question: str,
    collections: tuple[str, ...],
    profile: str | None,
    top_k: int | None,
    strategy: "StrategyName | None",
    where: tuple[str, ...],
    explain: bool,
    as_json: bool,
) -> int:
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
    return 0
