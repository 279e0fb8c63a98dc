"""`elt-llm search`: the passages for a question, without an answer."""

from typing import TYPE_CHECKING

import click

from elt_llm_api.commands.ask import open_asked
from elt_llm_api.options import (
    CommandContext,
    WholeNumber,
    asking_options,
    json_option,
    pass_command_context,
    strategy_option,
    where_option,
)
from elt_llm_api.render import print_json

if TYPE_CHECKING:
    from elt_llm_core.settings import StrategyName


@click.command()
@asking_options
@click.option("-k", "--top-k", type=WholeNumber(1, 1000), metavar="N", help="How many passages.")
@strategy_option
@where_option
@click.option("--explain", is_flag=True, help="Show how each passage was found and ranked.")
@json_option
@pass_command_context
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
    """Find the passages that bear on a question, best first."""
    from elt_llm_api.explain.lines import explanation_lines
    from elt_llm_api.render_answer import passage_lines

    with open_asked(context, collections, profile) as engine:
        found = engine.search(question, top_k=top_k, where=where, strategy=strategy, explain=explain)
    if as_json:
        print_json(
            {
                "question": question,
                "contexts": [chunk.model_dump(mode="json") for chunk in found.chunks],
                "trace": {"stages": [stage.model_dump(mode="json") for stage in found.stages]},
                "notes": list(found.notes),
            }
        )
        return 0
    for line in passage_lines(found.chunks, found.notes):
        click.echo(line)
    for line in explanation_lines(found.stages) if explain else ():
        click.echo(line)
    return 0
