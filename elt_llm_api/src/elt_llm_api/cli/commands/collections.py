"""The commands collections, status, rollback, drop, export and import."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.cli.options import CommandContext, WholeNumber, confirm_or_abort, json_option, pass_command_context
from elt_llm_api.display.calibration import calibration_text, load_calibrations
from elt_llm_api.display.progress import progress_display
from elt_llm_api.display.text import (
    align_columns,
    count_noun,
    local_time,
    names_or_count,
    one_line,
    print_json,
    strip_control_characters,
)

if TYPE_CHECKING:
    from elt_llm_query.extractive.confidence import ProfileCalibration


@click.command()
@json_option
@pass_command_context
def collections_command(context: CommandContext, as_json: bool) -> int:
    """List the collections with their size and their published generation."""
    from elt_llm_core.store.store import collection_status, open_store

    with open_store(context.load().data_dir) as store:
        statuses = [collection_status(store, record) for record in store.collections.all()]
    if as_json:
        print_json([status.to_json() for status in statuses])
        return 0
    several = len({it.embedding for it in statuses}) > 1  # a line has 80 columns
    rows = [["collection", "generation", "documents", "chunks", "published", *["embedding"] * several]]
    for it in statuses:
        number = "-" if it.generation is None else str(it.generation)
        figures = [number, f"{it.documents:,}", f"{it.nodes:,}", local_time(it.published_at)]
        rows.append([it.collection, *figures, *[it.embedding] * several])
    for line in align_columns(rows) if statuses else ["There are no collections yet. Run: elt-llm ingest PATH -c NAME"]:
        click.echo(line)
    return 0


@click.command()
@click.option("-c", "--collection", metavar="NAME", help="One collection; else all.")
@json_option
@pass_command_context
def status_command(context: CommandContext, collection: str | None, as_json: bool) -> int:
    """Show size, generations, embedding, calibration, last run, and files that failed or are stale."""
    from elt_llm_core.store.lock import lock_holder
    from elt_llm_core.store.store import collection_status, open_store

    loaded = context.load()
    data_dir = loaded.data_dir
    with open_store(data_dir) as store:
        records = [store.collections.get(collection)] if collection else store.collections.all()
        statuses = [collection_status(store, record).to_json() for record in records]
        fitted = {record.name: load_calibrations(loaded, store, record) for record in records}
    writer = lock_holder(data_dir)
    if as_json:
        calibrations = {name: [asdict(one) for one in found] for name, found in fitted.items()}
        facts = {"data_dir": str(data_dir), "writer": str(writer) if writer else None, "collections": statuses}
        print_json({**facts, "calibrations": calibrations})
        return 0
    click.echo(f"data directory   {strip_control_characters(str(data_dir))}")
    click.echo(f"writer           {strip_control_characters(str(writer)) if writer else 'none'}")
    for status in statuses:
        click.echo(f"\n{click.style(status['collection'], bold=True)}")
        for line in (
            *align_columns(_rows(status, fitted[status["collection"]], writing=writer is not None)),
            *_problems(status),
        ):
            click.echo(f"  {one_line(line)}")
    return 0


def _rows(status: dict[str, Any], fitted: "list[ProfileCalibration]", *, writing: bool) -> list[tuple[str, str]]:
    kept = ", ".join(map(str, status["kept_generations"]))
    state = "rolled back, " if status["rolled_back"] else ""
    unfinished = "in progress" if writing else "interrupted: run the same command again to continue"
    published = f"{status['generation']}, {state}created {local_time(status['published_at'])}; kept: {kept}"
    contents = f"{count_noun(status['documents'], 'document')}, {count_noun(status['nodes'], 'chunk')}"
    return [
        ("generation", published if status["generation"] is not None else "none published yet"),
        ("contents", f"{contents}, {status['size'] / 1e6:.1f} MB of indexes"),
        ("hash", status["collection_hash"] or "-"),
        ("embedding", f"{status['embedding']}, {status['dimension']} dimensions" if status["dimension"] else "-"),
        ("chunker", f"{status['chunker']}, language {status['language']}"),
        ("calibrated", calibration_text(fitted, status["collection"])),
        *((("also", _other_facts(status)),) if _other_facts(status) else ()),
        *(("folder", root) for root in status["roots"]),
        ("last run", f"{local_time(status['last_run'])}{f', {unfinished}' if status['unfinished_run'] else ''}"),
    ]


def _other_facts(status: dict[str, Any]) -> str:
    facts = [f"artefacts: {', '.join(status['artefacts'])}"] if status["artefacts"] else []
    facts += [f"{count_noun(status['duplicates'], 'duplicate')} indexed once"] if status["duplicates"] else []
    facts += [f"{count_noun(status['forgotten'], 'document')} forgotten"] if status["forgotten"] else []
    return "; ".join(facts)


def _problems(status: dict[str, Any]) -> list[str]:
    return align_columns([(file["outcome"], file["path"], file["reason"]) for file in status["files_in_trouble"]])


@click.command()
@click.option("-c", "--collection", required=True, metavar="NAME", help="Collection to roll back.")
@click.option("--to", type=WholeNumber(min=1), metavar="N", help="Generation to publish; else the previous one.")
@click.option("--again", is_flag=True, help="Undo a rollback: publish the generation from before it.")
@json_option
@pass_command_context
def rollback_command(context: CommandContext, collection: str, to: int | None, again: bool, as_json: bool) -> int:
    """Publish a collection's previous generation, or another kept one. Later ingests need --resume or --rebuild.

    Repeating the command does not roll back further.
    """
    from elt_llm_core.store.lock import writer_lock

    data_dir = context.load().data_dir
    with writer_lock(data_dir, f"elt-llm rollback -c {collection}"):
        from elt_llm_core.collection.lifecycle import roll_back
        from elt_llm_core.store.store import open_store

        with open_store(data_dir, for_writing=True) as store:
            left, now = roll_back(store, collection, to, again=again)
    if as_json:
        print_json({"collection": collection, "from": left, "to": now})
    elif left == now:
        click.echo(f"{collection}: generation {now} is already published. To undo a rollback: --again; or --to N.")
    else:
        click.echo(f"{collection}: generation {now} is now published instead of {left}.")
        click.echo(
            f"To continue from here: elt-llm ingest -c {collection} --resume."
            f" To undo: elt-llm rollback -c {collection} --to {left}"
        )
    return 0


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--prefix", metavar="P", help="Every collection whose name starts with P.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@pass_command_context
def drop_command(context: CommandContext, names: tuple[str, ...], prefix: str | None, yes: bool, as_json: bool) -> int:
    """Delete collections: their indexes, their texts, and vectors that no other collection uses. Asks first."""
    if not names and not prefix:
        raise UsageError("No collection is named.", hint="Run: elt-llm drop NAME, or elt-llm drop --prefix P")
    from elt_llm_core.store.store import open_store

    data_dir = context.load().data_dir
    with open_store(data_dir) as store:
        matching = [record.name for record in store.collections.all() if prefix and record.name.startswith(prefix)]
        known = [name if store.is_half_dropped(name) else store.collections.get(name).name for name in names]
        chosen = list(dict.fromkeys([*known, *matching]))
    if not chosen:
        raise UsageError(f"No collection starts with '{prefix}'.", hint="Run: elt-llm collections")
    if not yes:
        _confirm_drop(chosen, as_json=as_json)
    from elt_llm_core.store.lock import writer_lock

    with writer_lock(data_dir, "elt-llm drop"):
        from elt_llm_core.collection.lifecycle import drop

        with open_store(data_dir, for_writing=True) as store:
            for name in chosen:
                drop(store, name)
    if as_json:
        print_json({"dropped": chosen})
    else:
        click.echo(f"Deleted {names_or_count(chosen, 'collection')}.")
    return 0


def _confirm_drop(names: list[str], *, as_json: bool) -> None:
    """Ask for confirmation; many names are listed one per line."""
    short = names_or_count(names, "collection")
    if short != ", ".join(names) and not as_json:
        click.echo("\n".join(names), err=True)
    confirm_or_abort(f"Delete {short} for good?", as_json=as_json)


@click.command()
@click.argument("name", metavar="NAME")
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path), metavar="[FILE]")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@json_option
@pass_command_context
def export_command(context: CommandContext, name: str, file: Path | None, force: bool, as_json: bool) -> int:
    """Export documents, vectors and artefacts of a collection to FILE, by default NAME.elt.zip here.

    The file contains no paths of this machine. `elt-llm import` reads it without embedding.
    """
    from elt_llm_core.collection.exporting import export_collection
    from elt_llm_core.store.store import open_store

    with open_store(context.load().data_dir) as store:
        name = store.collections.get(name).name
        report = export_collection(store, name, context.working_directory / (file or f"{name}.elt.zip"), force=force)
    if as_json:
        print_json(asdict(report))
    else:
        contents = f"{count_noun(report.documents, 'document')}, {count_noun(report.nodes, 'chunk')}"
        click.echo(f"{name}: {contents} in {strip_control_characters(report.file)} ({report.size / 1e6:.1f} MB)")
        click.echo(f"sha256 {report.sha256}")
    return 0


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@json_option
@pass_command_context
def import_command(context: CommandContext, file: Path, as_json: bool) -> int:
    """Import a collection from an exported FILE under its original name, without embedding.

    The whole file is checked before anything is stored. An existing collection is never replaced.
    """
    from elt_llm_core.store.lock import writer_lock

    data_dir = context.load().data_dir
    with writer_lock(data_dir, "elt-llm import"):
        from elt_llm_core.collection.importing import import_collection
        from elt_llm_core.store.store import open_store

        with open_store(data_dir, for_writing=True) as store, progress_display(quiet=as_json) as progress:
            published = import_collection(store, context.working_directory / file, progress)
    if as_json:
        print_json(asdict(published))
    else:
        contents = f"{count_noun(published.documents, 'document')}, {count_noun(published.nodes, 'chunk')}"
        click.echo(f"{published.collection}: {contents}, published as generation {published.number}.")
    return 0
