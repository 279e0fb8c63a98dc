"""The commands collections, status, rollback, drop, export and import."""

from dataclasses import asdict
from pathlib import Path

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.cli.options import CommandContext, WholeNumber, confirm_or_abort, json_command, yes_option
from elt_llm_api.cli.render.messages import message_lines
from elt_llm_api.display.calibration import calibration_text, load_calibrations
from elt_llm_api.display.progress import progress_display
from elt_llm_api.display.text import (
    align_columns,
    count_noun,
    local_time,
    names_or_count,
    print_result,
    strip_control_characters,
)


@json_command
def collections_command(context: CommandContext, as_json: bool) -> None:
    """List the collections with their size and their published generation."""
    from elt_llm_core.store.store import collection_status

    with context.open_store() as store:
        statuses = [collection_status(store, record) for record in store.collections.all()]
    several = len({it.embedding for it in statuses}) > 1  # a line has only 80 columns, so equal models are not shown
    rows = [["collection", "generation", "documents", "chunks", "published", *["embedding"] * several]]
    for it in statuses:
        number = "-" if it.generation is None else str(it.generation)
        figures = [number, f"{it.documents:,}", f"{it.nodes:,}", local_time(it.published_at)]
        rows.append([it.collection, *figures, *[it.embedding] * several])
    lines = align_columns(rows) if statuses else ["There are no collections yet. Run: elt-llm ingest PATH -c NAME"]
    print_result([asdict(status) for status in statuses], lines, as_json=as_json)


@json_command
@click.option("-c", "--collection", metavar="NAME", help="One collection; else all.")
def status_command(context: CommandContext, collection: str | None, as_json: bool) -> None:
    """Show size, generations, embedding, calibration, last run, files that failed or are stale, and unread uploads."""
    from elt_llm_core.store.lock import lock_holder
    from elt_llm_core.store.store import collection_status
    from elt_llm_core.store.uploads import all_unread_uploads

    loaded = context.load()
    with context.open_store() as store:
        records = [store.collections.get(collection)] if collection else store.collections.all()
        statuses = [asdict(collection_status(store, record)) for record in records]
        fitted = {record.name: load_calibrations(loaded, store, record) for record in records}
        unread = all_unread_uploads(store)
    holder = lock_holder(loaded.workspace)
    unread = {name: names for name, names in unread.items() if collection in (None, name)}
    place = {"data_dir": str(loaded.data_dir), "writer": str(holder) if holder else None, "unread_uploads": unread}
    calibrations = {name: [asdict(one) for one in found] for name, found in fitted.items()}
    shown = [
        {
            **status,
            "calibrated": calibration_text(fitted[status["collection"]], status["collection"]),
            "problems": align_columns([(it["outcome"], it["path"], it["reason"]) for it in status["files_in_trouble"]]),
        }
        for status in statuses
    ]
    lines = message_lines("status", **place, statuses=shown)
    print_result({**place, "collections": statuses, "calibrations": calibrations}, lines, as_json=as_json)


@json_command
@click.option("-c", "--collection", required=True, metavar="NAME", help="Collection to roll back.")
@click.option("--to", type=WholeNumber(min=1), metavar="N", help="Generation to publish; else the previous one.")
@click.option("--again", is_flag=True, help="Undo a rollback: publish the generation that it replaced.")
def rollback_command(context: CommandContext, collection: str, to: int | None, again: bool, as_json: bool) -> None:
    """Publish a collection's previous generation, or generation N. The next ingest needs --resume or --rebuild.

    Repeating the command does not roll back further.
    """
    with context.open_store(f"elt-llm rollback -c {collection}") as store:
        from elt_llm_core.collection.lifecycle import roll_back

        left, now = roll_back(store, collection, to, again=again)
    lines = [f"{collection}: generation {now} is already published. To undo a rollback, add --again or --to N."]
    if left != now:
        undo = f"elt-llm rollback -c {collection} --to {left}"
        lines = [
            f"{collection}: generation {now} is now published instead of {left}.",
            f"To continue from here: elt-llm ingest -c {collection} --resume. To undo: {undo}",
        ]
    print_result({"collection": collection, "from": left, "to": now}, lines, as_json=as_json)


@json_command
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--prefix", metavar="P", help="Every collection whose name starts with P.")
@yes_option
def drop_command(context: CommandContext, names: tuple[str, ...], prefix: str | None, yes: bool, as_json: bool) -> None:
    """Delete collections: their indexes, their texts, and vectors that no other collection uses. Asks first."""
    if not names and not prefix:
        raise UsageError("No collection is named.", hint="Run: elt-llm drop NAME, or elt-llm drop --prefix P")
    with context.open_store() as store:
        matching = [record.name for record in store.collections.all() if prefix and record.name.startswith(prefix)]
        known = [name if store.is_half_dropped(name) else store.collections.get(name).name for name in names]
        chosen = list(dict.fromkeys([*known, *matching]))
    if not chosen:
        raise UsageError(f"No collection has a name that starts with '{prefix}'.", hint="Run: elt-llm collections")
    if not yes:
        _confirm_drop(chosen, as_json=as_json)
    with context.open_store("elt-llm drop") as store:
        from elt_llm_core.collection.lifecycle import drop

        for name in chosen:
            drop(store, name)
    text = f"Deleted {names_or_count(chosen, 'collection')}. To erase the bytes: elt-llm purge"
    print_result({"dropped": chosen}, [text], as_json=as_json)


def _confirm_drop(names: list[str], *, as_json: bool) -> None:
    """Ask for confirmation. If there are many names, list each on its own line."""
    short = names_or_count(names, "collection")
    if short != ", ".join(names) and not as_json:
        click.echo("\n".join(names), err=True)
    confirm_or_abort(f"Delete {short} for good?", as_json=as_json)


@json_command
@click.argument("name", metavar="NAME")
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path), metavar="[FILE]")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def export_command(context: CommandContext, name: str, file: Path | None, force: bool, as_json: bool) -> None:
    """Export documents, vectors and artefacts (data that readers extracted) to FILE, by default NAME.elt.zip here.

    The file contains no paths of this machine. `elt-llm import` reads it without embedding.
    """
    from elt_llm_core.collection.exporting import export_collection

    with context.open_store() as store:
        name = store.collections.get(name).name
        report = export_collection(store, name, context.working_directory / (file or f"{name}.elt.zip"), force=force)
    contents = f"{count_noun(report.documents, 'document')}, {count_noun(report.nodes, 'chunk')}"
    written = f"{name}: {contents} in {strip_control_characters(report.file)} ({report.size / 1e6:.1f} MB)"
    print_result(asdict(report), [written, f"sha256 {report.sha256}"], as_json=as_json)


@json_command
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
def import_command(context: CommandContext, file: Path, as_json: bool) -> None:
    """Import a collection from an exported FILE under its original name, without embedding.

    The whole file is checked before anything is stored. An existing collection is never replaced.
    """
    with context.open_store("elt-llm import") as store, progress_display(quiet=as_json) as progress:
        from elt_llm_core.collection.importing import import_collection

        settings = context.load().settings
        file = context.working_directory / file
        published = import_collection(store, file, progress, settings.index, settings.storage.graph_from)
    contents = f"{count_noun(published.documents, 'document')}, {count_noun(published.nodes, 'chunk')}"
    line = f"{published.collection}: {contents}, published as generation {published.number}."
    print_result(asdict(published), [line], as_json=as_json)
