"""`elt-llm eval`: measure retrieval and answers on a labelled set or on generated questions."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.cli.commands.ask import open_engine_for
from elt_llm_api.cli.options import CommandContext, StrategyType, WholeNumber, json_option, pass_command_context
from elt_llm_api.cli.render import evaluation as render
from elt_llm_api.display.progress import progress_display
from elt_llm_api.display.text import align_columns, print_result

if TYPE_CHECKING:
    from elt_llm_core.index.searchable import Searchable
    from elt_llm_core.models.embedding_model import EmbeddingModel
    from elt_llm_core.settings.loader import LoadedSettings
    from elt_llm_core.settings.tree import Settings
    from elt_llm_core.store.store import Store
    from elt_llm_query.evaluate.answers import GoldAnswerReport
    from elt_llm_query.evaluate.calibration import FittedCalibration
    from elt_llm_query.evaluate.datasets import Dataset
    from elt_llm_query.evaluate.refusals import QuotingSession, RefusalOutcome, RefusalQuestion, RefusalReport
    from elt_llm_query.evaluate.reports import ProfileReport
    from elt_llm_query.extractive.confidence import CalibrationState

DEFAULT_PROFILE = "default"
_INCOMPATIBLE = ("from_documents", "answers", "strategies", "compare", "fail_under", "per_query")
_HINT = "Help: elt-llm eval --help"


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """The options of one call of the command. Paths are absolute."""

    directory: Path | None
    from_documents: bool
    answers: Path | None
    collection: str | None
    profiles: tuple[str, ...]
    strategies: tuple[str, ...]
    compare: tuple[str, str] | None
    fail_under: tuple[str, ...]
    per_query: Path | None
    html: Path | None
    questions: int | None
    seed: int
    as_json: bool
    calibrate: bool
    refusals: bool
    foreign: Path | None
    gold_answers: bool

    def answer_mode(self) -> str:
        """Return the option that replaces the measurement of retrieval, such as `--refusals`, or an empty text.

        Raises UsageError if there are several, and for --foreign without --refusals.
        """
        modes = {"--calibrate": self.calibrate, "--refusals": self.refusals, "--gold-answers": self.gold_answers}
        chosen = [name for name, is_chosen in modes.items() if is_chosen]
        if self.foreign is not None and chosen != ["--refusals"]:
            raise UsageError("--foreign needs --refusals.", hint=_HINT)
        if len(chosen) > 1:
            raise UsageError(f"{' and '.join(chosen)} cannot be combined.", hint="Run one after the other.")
        return "".join(chosen)


def evaluate_retrieval(context: CommandContext, options: EvaluationOptions) -> int:
    """Measure retrieval by profile or strategy. Print the reports, and each metric that is below its threshold."""
    from elt_llm_query.evaluate.reports import read_threshold, shortfalls
    from elt_llm_query.evaluate.significance import compare_reports

    render.check_output_files(options.html, options.per_query)
    first, second = options.compare or ("", "")
    if options.compare and first == second:
        raise UsageError(f"'{first}' cannot be compared with itself.", hint="Name two profiles.")
    thresholds = [read_threshold(text) for text in options.fail_under]
    loaded = context.load()
    named = tuple(dict.fromkeys((*options.profiles, *options.strategies, *(options.compare or ()))))
    settings = _profile_settings(loaded, named)
    if options.directory is not None:
        reports = evaluate_labelled_set(loaded, settings, options.directory, options)
    else:
        reports = evaluate_own_documents(loaded, settings, options.collection or "", options)
    by_name = {report.profile: report for report in reports}
    compared = compare_reports(by_name[first], by_name[second], options.seed) if options.compare else None
    failed = shortfalls([by_name[name] for name in named or (DEFAULT_PROFILE,)], thresholds)
    outcome = render.EvaluationOutcome(reports, compared, bool(thresholds), failed)
    return render.print_evaluation(outcome, options.per_query, options.html, as_json=options.as_json)


def evaluate_labelled_set(
    loaded: "LoadedSettings", profiles: "Mapping[str, Settings]", directory: Path, options: EvaluationOptions
) -> "list[ProfileReport]":
    """Measure retrieval with the questions of a labelled set, by profile. Its corpus is ingested if it has changed."""
    from elt_llm_query.evaluate.datasets import read_dataset
    from elt_llm_query.evaluate.runner import evaluate

    dataset = read_dataset(directory)
    with (
        open_labelled_set(loaded, dataset, options) as (generation, embedding),
        progress_display(quiet=options.as_json) as progress,
    ):
        return evaluate(dataset, generation, embedding, profiles, progress=progress)


@contextmanager
def open_labelled_set(
    loaded: "LoadedSettings", dataset: "Dataset", options: EvaluationOptions
) -> "Iterator[tuple[Searchable, EmbeddingModel]]":
    """Ingest a labelled set's corpus into a collection in the separate data directory `evaluation`, and open it."""
    from elt_llm_core.collection.lifecycle import open_generation
    from elt_llm_core.models.factory import create_embedding
    from elt_llm_core.store.lock import writer_lock
    from elt_llm_core.store.store import open_store
    from elt_llm_ingest.pipeline import TextDocument, ingest_texts

    settings, data_dir = loaded.settings, loaded.data_dir / "evaluation"
    name = re.sub(r"[^a-z0-9_-]", "-", dataset.name.lower()).lstrip("-_")[:63] or "dataset"
    embedding = create_embedding(settings)
    texts = (TextDocument(document.corpus_id, document.title, document.text) for document in dataset.documents)
    with writer_lock(data_dir, "elt-llm eval"), open_store(data_dir, for_writing=True) as store:
        with progress_display(quiet=options.as_json) as progress:
            ingest_texts(name, texts, settings, embedding, store, progress)
        with open_generation(store, name, embedding.fingerprint) as generation:
            yield generation, embedding


def evaluate_own_documents(
    loaded: "LoadedSettings", profiles: "Mapping[str, Settings]", collection: str, options: EvaluationOptions
) -> "list[ProfileReport]":
    """Measure retrieval with questions that are generated from the documents of a collection, by profile."""
    with _open_collection(loaded, collection) as (_, generation, embedding):
        from elt_llm_query.evaluate.generated_questions import DEFAULT_NUMBER, evaluation_questions, generate_questions
        from elt_llm_query.evaluate.runner import measure_profiles

        generated = generate_questions(generation, options.questions or DEFAULT_NUMBER, options.seed)
        questions = evaluation_questions(generated)
        with progress_display(quiet=options.as_json) as progress:
            return measure_profiles(collection, questions, generation, embedding, profiles, progress)


def _profile_settings(loaded: "LoadedSettings", names: tuple[str, ...]) -> "dict[str, Settings]":
    """Return the settings of each name: a profile, or a strategy such as `hybrid` within the current settings."""
    from elt_llm_core.settings.profiles import load_profile, profile_names
    from elt_llm_core.settings.tree import STRATEGIES
    from elt_llm_query.evaluate.runner import comparison_profiles, with_strategy

    if not names:
        return comparison_profiles(loaded.settings)
    own = profile_names(loaded)
    return {
        name: with_strategy(loaded.settings, name)
        if name in STRATEGIES and name not in own
        else load_profile(name, loaded).apply_to(loaded.settings)
        for name in names
    }


@dataclass(frozen=True)
class RefusalSettings:
    """The options of one measurement of answers, the settings, and those of the profile that is measured."""

    options: EvaluationOptions
    loaded: "LoadedSettings"
    settings: "Settings"


def measure_refusals_of_set(asking: RefusalSettings, directory: Path) -> "RefusalReport":
    """Measure how often a set's unanswerable questions, and questions about other subjects (--foreign), are refused."""
    from elt_llm_query.evaluate import generated_questions, refusals
    from elt_llm_query.evaluate.datasets import QUERIES, read_dataset, read_questions

    dataset = read_dataset(directory)
    posed = refusals.questions_of_dataset(dataset, directory)
    foreign = asking.options.foreign
    asked_elsewhere = list(read_questions(foreign / QUERIES).values()) if foreign else None
    with open_labelled_set(asking.loaded, dataset, asking.options) as (generation, embedding):
        if asked_elsewhere is None:
            asked_elsewhere = generated_questions.foreign_questions(generation.passport.language)
        posed += refusals.questions_without_answer(asked_elsewhere)
        with refusals.QuotingSession(generation, embedding, asking.settings) as quoting:
            sample = refusals.sample_questions(posed, asking.options.questions, asking.options.seed)
            return refusals.refusal_report(dataset.name, _answer_questions(asking, quoting, sample))


def measure_gold_answers(asking: RefusalSettings, directory: Path) -> "GoldAnswerReport":
    """Measure how often the quotes in an answer contain the gold answer, which the labelled set gives."""
    from elt_llm_query.evaluate.answers import measure_gold_answers
    from elt_llm_query.evaluate.datasets import read_answers, read_dataset
    from elt_llm_query.evaluate.refusals import QuotingSession, questions_of_dataset, sample_questions

    dataset, answers = read_dataset(directory), read_answers(directory)
    having = [posed for posed in questions_of_dataset(dataset, directory) if posed.identity in answers]
    chosen = [posed.identity for posed in sample_questions(having, asking.options.questions, asking.options.seed)]
    with (
        open_labelled_set(asking.loaded, dataset, asking.options) as (generation, embedding),
        QuotingSession(generation, embedding, asking.settings) as quoting,
        progress_display(quiet=asking.options.as_json) as progress,
    ):
        return measure_gold_answers(dataset, answers, quoting, chosen, progress)


def measure_refusals_of_collection(
    asking: RefusalSettings, collection: str
) -> "tuple[RefusalReport, CalibrationState]":
    """Measure refusals with questions generated from a collection. Also return the state of its calibration."""
    from elt_llm_query.evaluate.refusals import QuotingSession, refusal_report
    from elt_llm_query.extractive.confidence import read_calibration

    with _open_collection(asking.loaded, collection) as (store, generation, embedding):
        calibration = read_calibration(asking.loaded.workspace, [generation], asking.settings)
        with QuotingSession(generation, embedding, asking.settings, calibration.weights) as quoting:
            outcomes = _answer_own_and_foreign(asking, store, generation, quoting)
        return refusal_report(collection, outcomes), calibration.state


def calibrate_collection(asking: RefusalSettings, collection: str) -> "FittedCalibration":
    """Calibrate the confidence of answers from a collection. Store the result for its generation and the profile.

    If the weights of confidence that elt-llm ships with are better, they stay in use, and the result records this.
    """
    from elt_llm_core.state.calibrations import CalibrationTable
    from elt_llm_core.state.database import open_state
    from elt_llm_query.evaluate.calibration import calibrate
    from elt_llm_query.evaluate.refusals import QuotingSession
    from elt_llm_query.extractive.confidence import calibration_json, settings_key

    with _open_collection(asking.loaded, collection) as (store, generation, embedding):
        with QuotingSession(generation, embedding, asking.settings) as quoting:
            fitted = calibrate(_answer_own_and_foreign(asking, store, generation, quoting))
        with closing(open_state(asking.loaded.workspace)) as state:
            key = settings_key(asking.settings)
            CalibrationTable(state).put(collection, generation.identity, key, calibration_json(fitted.weights))
        return fitted


def _answer_own_and_foreign(
    asking: RefusalSettings, store: "Store", generation: "Searchable", quoting: "QuotingSession"
) -> "list[RefusalOutcome]":
    from elt_llm_query.evaluate import generated_questions as generated
    from elt_llm_query.evaluate.refusals import questions_of_collection, questions_without_answer

    own = generated.generate_questions(
        generation, asking.options.questions or generated.DEFAULT_NUMBER, asking.options.seed
    )
    foreign = generated.foreign_questions(generation.passport.language)
    foreign += generated.questions_of_other_collections(store, generation, own, asking.options.seed)
    return _answer_questions(asking, quoting, [*questions_of_collection(own), *questions_without_answer(foreign)])


def _answer_questions(
    asking: RefusalSettings, quoting: "QuotingSession", posed: "Sequence[RefusalQuestion]"
) -> "list[RefusalOutcome]":
    from elt_llm_core.progress import track_progress

    with progress_display(quiet=asking.options.as_json) as progress:
        return quoting.ask(track_progress(posed, progress, "ask"))


@contextmanager
def _open_collection(loaded: "LoadedSettings", collection: str) -> "Iterator[tuple[Store, Searchable, EmbeddingModel]]":
    from elt_llm_core.store.store import open_store

    with open_store(loaded.workspace) as store:
        store.collections.get(collection)  # report an unknown name before heavy imports
        from elt_llm_core.collection.lifecycle import open_generation
        from elt_llm_core.models.factory import create_embedding

        embedding = create_embedding(loaded.settings)
        with open_generation(store, collection, embedding.fingerprint) as generation:
            yield store, generation, embedding


def _run_mode(context: CommandContext, mode: str, options: EvaluationOptions) -> None:
    from elt_llm_core.settings.profiles import load_profile

    _reject_other_options(mode, options)
    render.check_output_files(options.html)
    loaded, directory, collection = context.load(), options.directory, options.collection or ""
    [profile] = options.profiles or (DEFAULT_PROFILE,)
    asking = RefusalSettings(options, loaded, load_profile(profile, loaded).apply_to(loaded.settings))
    if mode == "--calibrate":
        render.print_calibration(calibrate_collection(asking, collection), collection, as_json=options.as_json)
    elif directory is None:
        report, weights = measure_refusals_of_collection(asking, collection)
        render.print_refusals(report, weights, options.html, as_json=options.as_json)
    elif mode == "--gold-answers":
        render.print_gold(measure_gold_answers(asking, directory), as_json=options.as_json)
    else:
        report = measure_refusals_of_set(asking, directory)
        render.print_refusals(report, "shipped", options.html, as_json=options.as_json)


def _reject_other_options(mode: str, options: EvaluationOptions) -> None:
    """Raise UsageError for options that cannot be combined with a mode such as --refusals."""
    named = [f"--{name.replace('_', '-')}" for name in _INCOMPATIBLE if getattr(options, name)]
    named += ["--html"] if options.html and mode != "--refusals" else []
    named += ["a second --profile"] if len(options.profiles) > 1 else []
    if named:
        raise UsageError(f"{mode} cannot be combined with {', '.join(named)}.", hint=_HINT)
    of_set, of_collection = options.directory is not None, options.collection is not None
    if mode == "--calibrate" and (of_set or not of_collection):
        raise UsageError("--calibrate needs -c NAME and no DIR.", hint="Run: elt-llm eval --calibrate -c NAME")
    if mode == "--gold-answers" and (of_collection or not of_set):
        raise UsageError("--gold-answers needs a DIR and no -c NAME.", hint="Run: elt-llm eval DIR --gold-answers")
    if of_set == of_collection:
        raise UsageError("--refusals needs a DIR, or -c NAME.", hint="Run: elt-llm eval --refusals -c NAME")
    if options.foreign is not None and not of_set:
        raise UsageError(
            "--foreign needs a DIR.", hint="For -c NAME, the foreign questions come from other collections."
        )


def evaluate_answers(context: CommandContext, file: Path, collection: str, options: EvaluationOptions) -> None:
    """Ask labelled questions, and print how often the right page is cited and how often questions are refused."""
    from elt_llm_core.text.stems import KeywordTokeniser
    from elt_llm_query.evaluate.answers import measure_answers
    from elt_llm_query.evaluate.datasets import read_labelled_questions

    if options.compare or options.fail_under or options.per_query or options.html or options.strategies:
        raise UsageError(
            "--answers cannot be combined with --strategy, --compare, --fail-under, --per-query or --html.",
            hint="These options measure retrieval. Use --json for a result per question.",
        )
    questions = read_labelled_questions(file)
    profile = options.profiles[0] if options.profiles else None
    with (
        open_engine_for(context, (collection,), profile) as engine,
        progress_display(quiet=options.as_json) as progress,
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
    print_result(report.to_json(), align_columns(figures), as_json=options.as_json)


_OUTPUT_FILE = click.Path(path_type=Path, dir_okay=False)


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
    "--fail-under", multiple=True, metavar="F=X", help="Exit with 1 if metric F is below X, such as ndcg@10=0.70."
)
@click.option("--per-query", metavar="FILE", type=_OUTPUT_FILE, help="Write each question's result as JSON lines.")
@click.option("--html", metavar="FILE", type=_OUTPUT_FILE, help="Write a report with plots.")
@click.option("--questions", metavar="N", type=WholeNumber(1, 5000), help="Maximum questions to generate; else 200.")
@click.option(
    "--seed", metavar="N", type=WholeNumber(0, 2**31), default=1, help="Seed of the generated questions; else 1."
)
@json_option
@click.option("--calibrate", is_flag=True, help="Calibrate the confidence of answers from -c NAME.")
@click.option(
    "--refusals",
    "--abstention",
    "refusals",
    is_flag=True,
    help="Measure how often unanswerable questions are refused, in DIR or -c NAME.",
)
@click.option(
    "--foreign", metavar="DIR", type=click.Path(path_type=Path), help="Set of questions about other subjects."
)
@click.option("--gold-answers", is_flag=True, help="Measure how often quotes contain the gold answers in DIR.")
@pass_command_context
def command(context: CommandContext, /, **given: Any) -> int:
    """Print nDCG@10, recall, precision, MRR, hit rate and latency on the set in DIR (BEIR layout).

    Without --profile or --strategy, each retriever, their fusion, and the profiles default and classic are measured.
    The corpus stays in a collection of its own, so that a second run embeds nothing.

    --from-documents -c NAME generates questions from the headings, definitions and tables of the collection.
    --answers FILE -c NAME measures how often the right page is cited and questions without answer are refused.
    --refusals, --gold-answers and --calibrate measure answers without manual labels.
    """
    paths = {name: context.working_directory / value for name, value in given.items() if isinstance(value, Path)}
    options = EvaluationOptions(**{**given, **paths})
    if mode := options.answer_mode():
        _run_mode(context, mode, options)
        return 0
    sources = (options.directory is not None) + (options.answers is not None) + options.from_documents
    if sources != 1 or (options.directory is None) == (options.collection is None):
        raise UsageError("Name a DIR, or --from-documents with -c NAME, or --answers FILE with -c NAME.", hint=_HINT)
    if options.questions is not None and not options.from_documents:
        raise UsageError("--questions needs --from-documents.", hint=_HINT)
    if options.answers is not None and options.collection is not None:
        evaluate_answers(context, options.answers, options.collection, options)
        return 0
    return evaluate_retrieval(context, options)
