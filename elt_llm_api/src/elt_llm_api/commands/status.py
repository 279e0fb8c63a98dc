"""`elt-llm status`: what a collection holds, what it was built with and what happened last."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from elt_llm_api.calibration_lines import calibration_line, calibrations_of
from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.render import aligned, counted, local_time, one_line, plain, print_json

if TYPE_CHECKING:
    from elt_llm_query.calibration import ProfileCalibration


@click.command()
@click.option("-c", "--collection", metavar="NAME", help="One collection; else all.")
@json_option
@pass_command_context
def command(context: CommandContext, collection: str | None, as_json: bool) -> int:
    """Show size, generations, passport, calibration, last run, and files that failed or are stale."""
    from elt_llm_core.store.lock import holder
    from elt_llm_core.store.status import collection_status
    from elt_llm_core.store.store import open_store

    loaded = context.load()
    data_dir = loaded.data_dir
    with open_store(data_dir) as store:
        records = [store.collections.get(collection)] if collection else store.collections.all()
        statuses = [collection_status(store, record).to_json() for record in records]
        fitted = {record.name: calibrations_of(loaded, store, record) for record in records}
    writer = holder(data_dir)
    if as_json:
        calibrations = {name: [asdict(one) for one in found] for name, found in fitted.items()}
        told = {"data_dir": str(data_dir), "writer": str(writer) if writer else None, "collections": statuses}
        print_json({**told, "calibrations": calibrations})
        return 0
    click.echo(f"data directory   {plain(str(data_dir))}")
    click.echo(f"being written    {plain(f'by {writer}') if writer else 'no'}")
    for status in statuses:
        click.echo(f"\n{click.style(status['collection'], bold=True)}")
        for line in (
            *aligned(_rows(status, fitted[status["collection"]], writing=writer is not None)),
            *_trouble(status),
        ):
            click.echo(f"  {one_line(line)}")
    return 0


def _rows(status: dict[str, Any], fitted: "list[ProfileCalibration]", *, writing: bool) -> list[tuple[str, str]]:
    kept = ", ".join(map(str, status["kept_generations"]))
    state = "rolled back, " if status["rolled_back"] else ""
    unfinished = "going on" if writing else "cut off: the same command again goes on from there"
    published = f"{status['generation']}, {state}made {local_time(status['published_at'])}; kept: {kept}"
    contents = f"{counted(status['documents'], 'document')}, {counted(status['nodes'], 'passage')}"
    return [
        ("generation", published if status["generation"] is not None else "none is published yet"),
        ("contents", f"{contents}, {status['size'] / 1e6:.1f} MB of indexes"),
        ("hash", status["collection_hash"] or "-"),
        ("embedding", f"{status['embedding']}, {status['dimension']} numbers" if status["dimension"] else "-"),
        ("chunker", f"{status['chunker']}, language {status['language']}"),
        ("calibrated", calibration_line(fitted, status["collection"])),
        *((("besides", _besides(status)),) if _besides(status) else ()),
        *(("folder", root) for root in status["roots"]),
        ("last run", f"{local_time(status['last_run'])}{f', {unfinished}' if status['unfinished_run'] else ''}"),
    ]


def _besides(status: dict[str, Any]) -> str:
    told = [f"artefacts: {', '.join(status['artefacts'])}"] if status["artefacts"] else []
    told += [f"{counted(status['duplicates'], 'duplicate')} indexed once"] if status["duplicates"] else []
    told += [f"{counted(status['forgotten'], 'document')} forgotten"] if status["forgotten"] else []
    return "; ".join(told)


def _trouble(status: dict[str, Any]) -> list[str]:
    return aligned([(file["outcome"], file["path"], file["reason"]) for file in status["files_in_trouble"]])
