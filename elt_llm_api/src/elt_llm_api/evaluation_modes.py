"""The options of `elt-llm eval` that measure answers without labels by hand; with one of them it does nothing else."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.options import CommandContext

if TYPE_CHECKING:
    from elt_llm_api.evaluation_abstention import Asking
    from elt_llm_api.render_eval import Outputs

DEFAULT_PROFILE: Final = "default"
_OPTIONS = (
    click.option("--calibrate", is_flag=True, help="Fit to -c NAME, by questions made from it, when to answer."),
    click.option("--abstention", is_flag=True, help="How well what has no answer is refused, in DIR or -c NAME."),
    click.option("--foreign", metavar="DIR", type=click.Path(path_type=Path), help="Foreign questions, for DIR."),
    click.option("--gold-answers", is_flag=True, help="How often what is quoted holds the answers given in DIR."),
)
_NOT_WITH = ("from_documents", "answers", "strategies", "compare", "fail_under", "per_query")
_HINT = "Help: elt-llm eval --help"


def with_answer_modes(function: Callable[..., int]) -> Callable[..., int]:
    """Gives a command these options, and does what they ask for instead of calling it."""

    @wraps(function)
    def command(
        context: CommandContext,
        *,
        calibrate: bool,
        abstention: bool,
        gold_answers: bool,
        foreign: Path | None,
        **others: Any,
    ) -> int:
        modes = {"--calibrate": calibrate, "--abstention": abstention, "--gold-answers": gold_answers}
        chosen = [name for name, is_chosen in modes.items() if is_chosen]
        if foreign is not None and chosen != ["--abstention"]:
            raise UsageError("--foreign goes with --abstention.", hint=_HINT)
        if not chosen:
            return function(context, **others)
        if len(chosen) > 1:
            raise UsageError(f"{' and '.join(chosen)} do not go together.", hint="Ask for one after the other.")
        return _run(context, chosen[0], foreign, others)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _run(context: CommandContext, mode: str, foreign: Path | None, others: dict[str, Any]) -> int:
    from elt_llm_api.evaluation_abstention import Asking
    from elt_llm_api.render_eval import Outputs

    directory, collection, as_json = others["directory"], others["collection"], others["as_json"]
    _refuse_wrong(mode, foreign, others)
    folder = context.working_directory
    files = Outputs.of(folder, None, others["html"])
    profile = (others["profiles"] or (DEFAULT_PROFILE,))[0]
    asking = Asking.of(context, profile, others["questions"], others["seed"], quiet=as_json)
    if mode == "--calibrate":
        return _calibrated(asking, collection, as_json=as_json)
    if mode == "--gold-answers":
        return _gold(asking, folder / directory, as_json=as_json)
    if directory is None:
        return _refusals_of_own(asking, collection, files, as_json=as_json)
    return _refusals_of_set(asking, folder / directory, folder / foreign if foreign else None, files, as_json=as_json)


def _calibrated(asking: "Asking", collection: str, *, as_json: bool) -> int:
    from elt_llm_api.evaluation_abstention import calibrate_own
    from elt_llm_api.render_eval_abstention import print_calibration

    return print_calibration(calibrate_own(asking, collection), collection, as_json=as_json)


def _gold(asking: "Asking", directory: Path, *, as_json: bool) -> int:
    from elt_llm_api.evaluation_abstention import gold_of_set
    from elt_llm_api.render_eval_abstention import print_gold

    return print_gold(gold_of_set(asking, directory), as_json=as_json)


def _refusals_of_set(
    asking: "Asking", directory: Path, foreign: Path | None, files: "Outputs", *, as_json: bool
) -> int:
    from elt_llm_api.evaluation_abstention import refusals_of_set
    from elt_llm_api.render_eval_abstention import print_refusals

    return print_refusals(refusals_of_set(asking, directory, foreign), "shipped", files.html, as_json=as_json)


def _refusals_of_own(asking: "Asking", collection: str, files: "Outputs", *, as_json: bool) -> int:
    from elt_llm_api.evaluation_abstention import refusals_of_own
    from elt_llm_api.render_eval_abstention import print_refusals

    report, weights = refusals_of_own(asking, collection)
    return print_refusals(report, weights, files.html, as_json=as_json)


def _refuse_wrong(mode: str, foreign: Path | None, others: dict[str, Any]) -> None:
    """What a mode has no use for. Raises UsageError."""
    named = [f"--{name.replace('_', '-')}" for name in _NOT_WITH if others[name]]
    named += ["--html"] if others["html"] and mode != "--abstention" else []
    named += ["a second --profile"] if len(others["profiles"]) > 1 else []
    if named:
        raise UsageError(f"{mode} does not go with {', '.join(named)}.", hint=_HINT)
    of_set, of_collection = others["directory"] is not None, others["collection"] is not None
    if mode == "--calibrate" and (of_set or not of_collection):
        raise UsageError("--calibrate needs -c NAME and no DIR.", hint="Run: elt-llm eval --calibrate -c NAME")
    if mode == "--gold-answers" and (of_collection or not of_set):
        raise UsageError("--gold-answers needs a DIR and no -c NAME.", hint="Run: elt-llm eval DIR --gold-answers")
    if of_set == of_collection:
        raise UsageError("--abstention needs a DIR, or -c NAME.", hint="Run: elt-llm eval --abstention -c NAME")
    if foreign is not None and not of_set:
        raise UsageError("--foreign goes with a DIR.", hint="Of a collection, other collections are the foreign ones.")
