"""`elt-llm ingest`: bring a collection up to date with files and folders."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.progress_display import progress_display
from elt_llm_api.render import aligned, counted, one_line, print_json

if TYPE_CHECKING:
    from elt_llm_ingest.report import FileOutcome, IngestReport

_COLOURS = {"failed": "red", "missing": "red", "skipped": "yellow", "empty": "yellow"}
_ORDER = ("failed", "missing", "empty", "skipped", "removed", "ok")
_QUIET = ("unchanged",)
_MOST_SHOWN = 40


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option("-c", "--collection", required=True, metavar="NAME", help="Collection to fill; made if it is new.")
@click.option("--rebuild", is_flag=True, help="Read and index everything anew; also after a change of embedding model.")
@click.option("--resume", is_flag=True, help="Go on after a rollback, from the generation that is published.")
@click.option("--allow-delete", is_flag=True, help="Remove documents even if many are gone at once.")
@json_option
@pass_command_context
def command(context: CommandContext, /, paths: tuple[Path, ...], collection: str, as_json: bool, **flags: bool) -> int:
    """Read documents into a collection.

    Without PATH, the folders it was filled from before are looked at again. What did not change is neither read nor
    embedded again. Cut it off at any time: readers keep the last published generation, and the same command goes on.
    """
    with_paths = " ".join(["elt-llm ingest", *map(str, paths), "-c", collection])
    report = run_ingest(context, collection, paths, command_line=with_paths, quiet=as_json, flags=flags)
    if as_json:
        print_json(report.to_json())
    else:
        print_report(report)
    return report.exit_code


def run_ingest(
    context: CommandContext,
    collection: str,
    paths: tuple[Path, ...],
    *,
    command_line: str,
    quiet: bool,
    flags: dict[str, Any],
) -> "IngestReport":
    """Take the lock before anything heavy is imported, then ingest."""
    from elt_llm_core.store.lock import writer_lock

    loaded = context.load()
    with writer_lock(loaded.data_dir, command_line):
        from elt_llm_core.models.embeddings import create_embedding
        from elt_llm_core.store.store import open_store
        from elt_llm_ingest.pipeline import IngestRequest, ingest
        from elt_llm_ingest.sandbox.pool import ParseLimits, ParsePool

        request = IngestRequest(
            collection=collection,
            paths=tuple(context.working_directory / path for path in paths),
            command=command_line,
            **flags,
        )
        limits, workers = ParseLimits.of(loaded.settings.ingest), loaded.settings.ingest.workers
        with (
            open_store(loaded.data_dir, for_writing=True) as store,
            ParsePool(limits, workers) as parser,
            progress_display(quiet=quiet) as progress,
        ):
            if not paths:
                store.collections.get(
                    collection
                )  # what it was filled from before can only be known of one that is there
            return ingest(request, loaded.settings, create_embedding(loaded.settings), store, progress, parser)


def print_report(report: "IngestReport") -> None:
    """Every file that is not simply unchanged, those in trouble first, then the sums."""
    told = sorted((it for it in report.files if it.status not in _QUIET), key=lambda it: _ORDER.index(it.status))
    for line, outcome in zip(aligned([_row(outcome) for outcome in told[:_MOST_SHOWN]]), told, strict=False):
        status = outcome.status
        click.echo(click.style(line[: len(status)], fg=_COLOURS.get(status, "green")) + line[len(status) :])
    if len(told) > _MOST_SHOWN:
        click.echo(f"... and {len(told) - _MOST_SHOWN} more: --json lists them all.")
    counts = ", ".join(f"{number} {status}" for status, number in sorted(report.counts.items()))
    what = "published as" if report.published else "nothing changed; still"
    size = f"{counted(report.documents, 'document')}, {counted(report.chunks, 'passage')}"
    click.echo(
        f"{report.collection}: {size}, {what} generation"
        f" {report.generation} in {report.seconds:.1f} s ({counts}; {report.embedded} embedded, {report.reused} reused)"
        if report.generation is not None
        else f"{report.collection}: nothing was published ({counts})"
    )


def _row(outcome: "FileOutcome") -> tuple[str, str, str]:
    passages = counted(outcome.chunks, "passage") if outcome.chunks and outcome.status == "ok" else ""
    stale = "its last good version stays" if outcome.stale else ""
    return outcome.status, one_line(outcome.path), one_line("; ".join(filter(None, (passages, outcome.reason, stale))))
