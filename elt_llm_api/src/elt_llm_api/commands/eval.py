"""`elt-llm eval`: measure how well passages are found, on a labelled set or on questions made from one's documents."""

from pathlib import Path

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.evaluation import Measuring, measure_own, measure_set
from elt_llm_api.evaluation_answers import print_answers
from elt_llm_api.evaluation_modes import with_answer_modes
from elt_llm_api.options import CommandContext, StrategyType, WholeNumber, json_option, pass_command_context
from elt_llm_api.render_eval import Outputs, print_evaluation

OUTPUT = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--from-documents", is_flag=True, help="Ask -c NAME questions made from its own documents.")
@click.option("--answers", metavar="FILE", type=click.Path(path_type=Path), help="Labelled questions to ask -c NAME.")
@click.option("-c", "--collection", metavar="NAME", help="Collection to ask; DIR is asked without.")
@click.option("--profile", "profiles", multiple=True, metavar="P", help="Profiles to measure; else the comparison.")
@click.option(
    "--strategy", "strategies", multiple=True, type=StrategyType(), metavar="S", help="Strategies to measure."
)
@click.option("--compare", nargs=2, metavar="P Q", help="Measure two of either, and whether they really differ.")
@click.option("--fail-under", multiple=True, metavar="F=X", help="End with 1 if a figure is lower: ndcg@10=0.70.")
@click.option("--per-query", metavar="FILE", type=OUTPUT, help="Write each question's result there, as JSON lines.")
@click.option("--html", metavar="FILE", type=OUTPUT, help="Write a report with plots there.")
@click.option("--questions", metavar="N", type=WholeNumber(1, 5000), help="Questions to make at most; else 200.")
@click.option("--seed", metavar="N", type=WholeNumber(0, 2**31), default=1, help="Draws other questions; else 1.")
@json_option
@pass_command_context
@with_answer_modes
def command(  # noqa: PLR0913, PLR0917 - one parameter for each option
    context: CommandContext,
    directory: Path | None,
    from_documents: bool,
    answers: Path | None,
    collection: str | None,
    profiles: tuple[str, ...],
    strategies: tuple[str, ...],
    compare: tuple[str, str] | None,
    fail_under: tuple[str, ...],
    per_query: Path | None,
    html: Path | None,
    questions: int | None,
    seed: int,
    as_json: bool,
) -> int:
    """Print nDCG@10, recall, precision, MRR, hit rate and latency on the set in DIR (BEIR layout).

    Without --profile or --strategy, each leg alone, their fusion, the default and the classic profile are measured; a
    strategy with the settings as they are. The corpus is kept apart, so that a second run embeds nothing.

    With --from-documents -c NAME the questions are made from the headings, definitions and tables of the collection.
    With --answers FILE -c NAME: how often the right page is cited, and how often what has no answer is refused; with
    --abstention, --gold-answers or --calibrate answers are measured without labels by hand.
    """
    _check_source(directory, answers, collection, questions, from_documents=from_documents)
    if answers is not None and collection is not None:
        if compare or fail_under or per_query or html or strategies:
            raise UsageError(
                "--answers does not go with --strategy, --compare, --fail-under, --per-query or --html.",
                hint="It measures answers; those measure how passages are found. --json has every question's end.",
            )
        return print_answers(context, context.working_directory / answers, collection, profiles, as_json=as_json)
    files = Outputs.of(context.working_directory, per_query, html)
    measuring = Measuring.of(context, (*profiles, *strategies), compare, fail_under)
    if directory is not None:
        reports = measure_set(measuring, context.working_directory / directory, quiet=as_json)
    else:
        reports = measure_own(measuring, collection or "", questions, seed, quiet=as_json)
    return print_evaluation(measuring.outcome(reports, seed), files, as_json=as_json)


def _check_source(
    directory: Path | None, answers: Path | None, collection: str | None, questions: int | None, *, from_documents: bool
) -> None:
    asked = (directory is not None) + (answers is not None) + from_documents
    if asked != 1 or (directory is None) == (collection is None):
        raise UsageError(
            "There must be a DIR, or --from-documents with -c NAME, or --answers FILE with -c NAME.",
            hint="Help: elt-llm eval --help",
        )
    if questions is not None and not from_documents:
        raise UsageError("--questions goes with --from-documents.", hint="Help: elt-llm eval --help")
