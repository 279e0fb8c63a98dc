"""`elt-llm eval`: measure how well passages are found, on a labelled set in the BEIR layout."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.progress_display import progress_display
from elt_llm_api.render import aligned, print_json

if TYPE_CHECKING:
    from elt_llm_core.settings import Settings
    from elt_llm_core.settings_loader import LoadedSettings
    from elt_llm_query.evaluate.runner import ProfileReport


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--profile", "profiles", multiple=True, metavar="P", help="Profiles to measure; else the comparison.")
@json_option
@pass_command_context
def command(context: CommandContext, directory: Path, profiles: tuple[str, ...], as_json: bool) -> int:
    """Print nDCG@10, recall, MRR and latency on the set in DIR.

    Without --profile, each leg alone, their fusion alone, the default and the classic profile are compared. The corpus
    is kept in a data directory of its own, so that a second run embeds nothing.
    """
    loaded = context.load()
    reports = measure(loaded, context.working_directory / directory, _named(loaded, profiles), quiet=as_json)
    if as_json:
        print_json([report.to_json() for report in reports])
        return 0
    header = ["profile", "nDCG@10", "recall@10", "recall@100", "MRR@10", "p50 ms", "p95 ms"]
    click.echo(f"{reports[0].dataset}: {reports[0].queries} questions")
    for line in aligned([header, *(_row(report) for report in reports)]):
        click.echo(line)
    for note in dict.fromkeys(note for report in reports for note in report.notes):
        click.echo(note)
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
