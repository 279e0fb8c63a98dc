"""`elt-llm eval`: measure how well passages are found, on a labelled set in the BEIR layout."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.commands.ask import open_asked
from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.progress_display import progress_display
from elt_llm_api.render import aligned, print_json

if TYPE_CHECKING:
    from elt_llm_core.settings import Settings
    from elt_llm_core.settings_loader import LoadedSettings
    from elt_llm_query.evaluate.runner import ProfileReport


@click.command()
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--profile", "profiles", multiple=True, metavar="P", help="Profiles to measure; else the comparison.")
@click.option("--answers", metavar="FILE", type=click.Path(path_type=Path), help="Labelled questions to ask -c NAME.")
@click.option("-c", "--collection", metavar="NAME", help="Collection to ask, with --answers.")
@json_option
@pass_command_context
def command(
    context: CommandContext,
    directory: Path | None,
    profiles: tuple[str, ...],
    answers: Path | None,
    collection: str | None,
    as_json: bool,
) -> int:
    """Print nDCG@10, recall, MRR and latency on the set in DIR (BEIR layout).

    Without --profile, each leg alone, their fusion alone, the default and the classic profile are compared. The corpus
    is kept in a data directory of its own, so that a second run embeds nothing.

    With --answers FILE -c NAME: how often the right page is cited, and how often what has no answer is refused.
    """
    if (directory is None) == (answers is None) or (answers is None) != (collection is None):
        raise UsageError("There must be a DIR, or --answers FILE with -c NAME.", hint="Help: elt-llm eval --help")
    if directory is None and answers is not None and collection is not None:
        return print_answers(context, context.working_directory / answers, collection, profiles, as_json=as_json)
    return print_retrieval(context, context.working_directory / (directory or ""), profiles, as_json=as_json)


def print_retrieval(context: CommandContext, directory: Path, profiles: tuple[str, ...], *, as_json: bool) -> int:
    """Measure profiles on a labelled set."""
    loaded = context.load()
    reports = measure(loaded, directory, _named(loaded, profiles), quiet=as_json)
    if as_json:
        print_json([report.to_json() for report in reports])
        return 0
    header = ["profile", "nDCG@10", "recall@10", "recall@100", "MRR@10", "p50 ms", "p95 ms"]
    click.echo(f"{reports[0].dataset}: {reports[0].queries} questions")
    for line in aligned([header, *(_row(report) for report in reports)]):
        click.echo(line)
    for report in reports:
        for note in report.notes:
            click.echo(f"{report.profile}: {note}")
    return 0


def print_answers(
    context: CommandContext, file: Path, collection: str, profiles: tuple[str, ...], *, as_json: bool
) -> int:
    """Measure answers on labelled questions."""
    from elt_llm_core.text.stems import KeywordTokeniser
    from elt_llm_query.evaluate.answers import measure_answers
    from elt_llm_query.evaluate.questions import read_questions

    questions = read_questions(file)
    with open_asked(context, (collection,), profiles[0] if profiles else None) as engine:
        report = measure_answers(questions, engine.ask, KeywordTokeniser())
    if as_json:
        print_json(report.to_json())
        return 0
    figures = [
        (f"{len(report.judged)} questions", f"{report.answerable} answerable"),
        ("a right page is cited", f"{report.right_page_cited:.1%} of the answerable"),
        ("and it is not refused", f"{report.answered_from_right_page:.1%}"),
        ("and every right page is", f"{report.answered_from_every_page:.1%}"),
        ("wrongly refused", f"{report.wrongly_refused:.1%} of the answerable"),
        *((f"refused: {kind}", f"{share:.1%}") for kind, share in report.refused.items()),
        ("question words in the gold", f"{report.overlap:.1%} (median)"),
    ]
    for line in aligned(figures):
        click.echo(line)
    return 0


def measure(
    loaded: "LoadedSettings", directory: Path, profiles: "dict[str, Settings]", *, quiet: bool
) -> "list[ProfileReport]":
    """Ingest the set's corpus, unless that was done before, and ask its questions by each profile."""
    from elt_llm_core.collection import open_generation
    from elt_llm_core.models.embeddings import create_embedding
    from elt_llm_core.store.lock import writer_lock
    from elt_llm_core.store.store import open_store
    from elt_llm_ingest.texts import GivenText, ingest_texts
    from elt_llm_query.evaluate.datasets import read_dataset
    from elt_llm_query.evaluate.runner import evaluate

    dataset = read_dataset(directory)
    data_dir = loaded.data_dir / "evaluation"
    name = re.sub(r"[^a-z0-9_-]", "-", dataset.name.lower()).lstrip("-_")[:63] or "dataset"
    embedding = create_embedding(loaded.settings)
    texts = (GivenText(document.corpus_id, document.title, document.text) for document in dataset.documents)
    with writer_lock(data_dir, "elt-llm eval"), open_store(data_dir, for_writing=True) as store:
        with progress_display(quiet=quiet) as progress:
            ingest_texts(name, texts, loaded.settings, embedding, store, progress)
        with open_generation(store, name, embedding.fingerprint) as generation:
            return evaluate(dataset, generation, embedding, profiles)


def _named(loaded: "LoadedSettings", names: tuple[str, ...]) -> "dict[str, Settings]":
    from elt_llm_core.settings_loader import load_profile
    from elt_llm_query.evaluate.profiles import comparison_profiles

    if not names:
        return comparison_profiles(loaded.settings)
    return {name: load_profile(name, loaded).apply_to(loaded.settings) for name in names}


def _row(report: "ProfileReport") -> list[str]:
    figures = (report.ndcg_at_10, report.recall_at_10, report.recall_at_100, report.mrr_at_10)
    times = (report.latency_p50_ms, report.latency_p95_ms)
    return [report.profile, *(f"{value:.4f}" for value in figures), *(f"{value:.1f}" for value in times)]
