"""`elt-llm eval`: measure retrieval and answers on a labelled set or on generated questions."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.cli.commands.ask import open_engine_for
from elt_llm_api.cli.evaluation import (
    DEFAULT_PROFILE,
    EvaluationSettings,
    RefusalSettings,
    calibrate_collection,
    evaluate_labelled_set,
    evaluate_own_documents,
    measure_gold_answers,
    measure_refusals_of_collection,
    measure_refusals_of_set,
)
from elt_llm_api.cli.options import CommandContext, StrategyType, WholeNumber, json_option, pass_command_context
from elt_llm_api.cli.render.evaluation import (
    OutputFiles,
    print_calibration,
    print_evaluation,
    print_gold,
    print_refusals,
)
from elt_llm_api.display.progress import progress_display
from elt_llm_api.display.text import align_columns, print_result

_MODE_OPTIONS = (
    click.option("--calibrate", is_flag=True, help="Calibrate the confidence of answers to -c NAME."),
    click.option(
        "--refusals",
        "--abstention",
        "refusals",
        is_flag=True,
        help="Measure refusals of questions without answer, in DIR or -c NAME.",
    ),
    click.option(
        "--foreign", metavar="DIR", type=click.Path(path_type=Path), help="Set with foreign questions, for DIR."
    ),
    click.option("--gold-answers", is_flag=True, help="How often quotes contain the gold answers in DIR."),
)
OUTPUT_FILE = click.Path(path_type=Path, dir_okay=False)
_INCOMPATIBLE = ("from_documents", "answers", "strategies", "compare", "fail_under", "per_query")
_HINT = "Help: elt-llm eval --help"


def answer_mode_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options that measure answers, such as --refusals. Each runs instead of the command itself."""

    @wraps(function)
    def command(
        context: CommandContext,
        *,
        calibrate: bool,
        refusals: bool,
        gold_answers: bool,
        foreign: Path | None,
        **others: Any,
    ) -> int:
        modes = {"--calibrate": calibrate, "--refusals": refusals, "--gold-answers": gold_answers}
        chosen = [name for name, is_chosen in modes.items() if is_chosen]
        if foreign is not None and chosen != ["--refusals"]:
            raise UsageError("--foreign needs --refusals.", hint=_HINT)
        if not chosen:
            return function(context, **others)
        if len(chosen) > 1:
            raise UsageError(f"{' and '.join(chosen)} cannot be combined.", hint="Run one after the other.")
        return _run_mode(context, chosen[0], foreign, others)

    for option in reversed(_MODE_OPTIONS):
        command = option(command)
    return command


def _run_mode(context: CommandContext, mode: str, foreign: Path | None, others: dict[str, Any]) -> int:
    directory, collection, as_json = others["directory"], others["collection"], others["as_json"]
    _reject_other_options(mode, foreign, others)
    folder = context.working_directory
    files = OutputFiles.of(folder, None, others["html"])
    profile = (others["profiles"] or (DEFAULT_PROFILE,))[0]
    asking = RefusalSettings.of(context, profile, others["questions"], others["seed"], quiet=as_json)
    if mode == "--calibrate":
        return print_calibration(calibrate_collection(asking, collection), collection, as_json=as_json)
    if mode == "--gold-answers":
        return print_gold(measure_gold_answers(asking, folder / directory), as_json=as_json)
    if directory is None:
        return print_refusals(*measure_refusals_of_collection(asking, collection), files.html, as_json=as_json)
    report = measure_refusals_of_set(asking, folder / directory, folder / foreign if foreign else None)
    return print_refusals(report, "shipped", files.html, as_json=as_json)


def _reject_other_options(mode: str, foreign: Path | None, others: dict[str, Any]) -> None:
    """Raise UsageError for options that cannot be combined with a mode."""
    named = [f"--{name.replace('_', '-')}" for name in _INCOMPATIBLE if others[name]]
    named += ["--html"] if others["html"] and mode != "--refusals" else []
    named += ["a second --profile"] if len(others["profiles"]) > 1 else []
    if named:
        raise UsageError(f"{mode} cannot be combined with {', '.join(named)}.", hint=_HINT)
    of_set, of_collection = others["directory"] is not None, others["collection"] is not None
    if mode == "--calibrate" and (of_set or not of_collection):
        raise UsageError("--calibrate needs -c NAME and no DIR.", hint="Run: elt-llm eval --calibrate -c NAME")
    if mode == "--gold-answers" and (of_collection or not of_set):
        raise UsageError("--gold-answers needs a DIR and no -c NAME.", hint="Run: elt-llm eval DIR --gold-answers")
    if of_set == of_collection:
        raise UsageError("--refusals needs a DIR, or -c NAME.", hint="Run: elt-llm eval --refusals -c NAME")
    if foreign is not None and not of_set:
        raise UsageError(
            "--foreign needs a DIR.", hint="For -c NAME, the foreign questions come from other collections."
        )


def evaluate_answers(
    context: CommandContext, file: Path, collection: str, profiles: tuple[str, ...], *, as_json: bool
) -> int:
    """Measure answers on labelled questions."""
    from elt_llm_core.text.stems import KeywordTokeniser
    from elt_llm_query.evaluate.answers import measure_answers
    from elt_llm_query.evaluate.datasets import read_labelled_questions

    questions = read_labelled_questions(file)
    with (
        open_engine_for(context, (collection,), profiles[0] if profiles else None) as engine,
        progress_display(quiet=as_json) as progress,
    ):
        report = measure_answers(questions, engine.ask, KeywordTokeniser(), progress)
    figures = [
        (f"{len(report.judged)} questions", f"{report.answerable} answerable"),
        ("right page cited", f"{report.right_page_cited:.1%} of the answerable"),
        ("and not refused", f"{report.answered_from_right_page:.1%}"),
        ("and every right page cited", f"{report.answered_from_every_page:.1%}"),
        ("wrongly refused", f"{report.wrongly_refused:.1%} of the answerable"),
        ("marked as uncertain", f"{report.uncertain:.1%} of the answerable"),
        *(
            (f"refused: {kind}", f"{share:.1%}; or uncertain: {report.not_certain[kind]:.1%}")
            for kind, share in report.refused.items()
        ),
        ("question words in the gold", f"{report.overlap:.1%} (median)"),
    ]
    print_result(report.to_json(), align_columns(figures), as_json=as_json)
    return 0


@click.command()
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--from-documents", is_flag=True, help="Ask -c NAME questions generated from its documents.")
@click.option("--answers", metavar="FILE", type=click.Path(path_type=Path), help="Labelled questions to ask -c NAME.")
@click.option("-c", "--collection", metavar="NAME", help="Collection to ask.")
@click.option("--profile", "profiles", multiple=True, metavar="P", help="Profiles to measure.")
@click.option(
    "--strategy", "strategies", multiple=True, type=StrategyType(), metavar="S", help="Strategies to measure."
)
@click.option("--compare", nargs=2, metavar="P Q", help="Compare two profiles or strategies for significance.")
@click.option(
    "--fail-under", multiple=True, metavar="F=X", help="Exit with 1 if a figure is lower, such as ndcg@10=0.70."
)
@click.option("--per-query", metavar="FILE", type=OUTPUT_FILE, help="Write each question's result as JSON lines.")
@click.option("--html", metavar="FILE", type=OUTPUT_FILE, help="Write a report with plots.")
@click.option("--questions", metavar="N", type=WholeNumber(1, 5000), help="Maximum questions to generate; else 200.")
@click.option(
    "--seed", metavar="N", type=WholeNumber(0, 2**31), default=1, help="Seed of the generated questions; else 1."
)
@json_option
@pass_command_context
@answer_mode_options
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

    Without --profile or --strategy, each retriever, their fusion, and the profiles default and classic are measured.
    The corpus stays in a collection of its own, so that a second run embeds nothing.

    --from-documents -c NAME generates questions from the headings, definitions and tables of the collection.
    --answers FILE -c NAME measures how often the right page is cited and questions without answer are refused.
    --refusals, --gold-answers and --calibrate measure answers without manual labels.
    """
    _check_source(directory, answers, collection, questions, from_documents=from_documents)
    if answers is not None and collection is not None:
        if compare or fail_under or per_query or html or strategies:
            raise UsageError(
                "--answers cannot be combined with --strategy, --compare, --fail-under, --per-query or --html.",
                hint="These options measure retrieval. Use --json for a result per question.",
            )
        return evaluate_answers(context, context.working_directory / answers, collection, profiles, as_json=as_json)
    files = OutputFiles.of(context.working_directory, per_query, html)
    measuring = EvaluationSettings.of(context, (*profiles, *strategies), compare, fail_under)
    if directory is not None:
        reports = evaluate_labelled_set(measuring, context.working_directory / directory, quiet=as_json)
    else:
        reports = evaluate_own_documents(measuring, collection or "", questions, seed, quiet=as_json)
    return print_evaluation(measuring.outcome(reports, seed), files, as_json=as_json)


def _check_source(
    directory: Path | None, answers: Path | None, collection: str | None, questions: int | None, *, from_documents: bool
) -> None:
    sources = (directory is not None) + (answers is not None) + from_documents
    if sources != 1 or (directory is None) == (collection is None):
        raise UsageError(
            "Name a DIR, or --from-documents with -c NAME, or --answers FILE with -c NAME.",
            hint=_HINT,
        )
    if questions is not None and not from_documents:
        raise UsageError("--questions needs --from-documents.", hint=_HINT)
