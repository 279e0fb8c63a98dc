"""`elt-llm recover`: save what can still be read from a damaged store, and read lost documents again."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from elt_llm_api.cli.options import CommandContext, json_command
from elt_llm_api.cli.render.messages import message_lines
from elt_llm_api.display.progress import progress_display
from elt_llm_api.display.text import print_result

if TYPE_CHECKING:
    from elt_llm_core.collection.recovery import RecoveryReport


@json_command
@click.option("--no-ingest", is_flag=True, help="Do not read lost documents again from their files.")
def command(context: CommandContext, no_ingest: bool, as_json: bool) -> int:
    """Save every undamaged row of a damaged store.sqlite3 into a new one, and read lost documents again.

    The damaged file is kept in the folder backups. Stop the server first. Exit code 1 if documents remain lost.
    """
    from elt_llm_core.collection.recovery import recover
    from elt_llm_core.errors import UsageError
    from elt_llm_core.store.lock import writer_lock

    workspace = context.load().workspace
    if workspace.is_shared:
        raise UsageError(
            "elt-llm recover repairs SQLite files only.", hint="Restore the PostgreSQL database from its backup."
        )
    data_dir = workspace.folder
    with writer_lock(data_dir, "elt-llm recover"), progress_display(quiet=as_json) as progress:
        report = recover(data_dir, progress)
    if report is None:
        print_result({"damaged": False}, [f"{data_dir}: store.sqlite3 is undamaged."], as_json=as_json)
        return 0
    reasons = {} if no_ingest else _ingest_again(context, report, quiet=as_json)
    left = _still_lost(context, report)
    shown = {"left": left, "reasons": reasons, "ingested": not no_ingest}
    lines = message_lines("recover", report=report, **shown)
    print_result({"damaged": True, **asdict(report), **shown}, lines, as_json=as_json)
    return int(bool(left or reasons))


def _ingest_again(context: CommandContext, report: "RecoveryReport", *, quiet: bool) -> dict[str, str]:
    """Ingest the incomplete collections from their sources. Return the error of each that failed, by its name."""
    from elt_llm_core.errors import EltError
    from elt_llm_ingest.session import CollectionTask, IngestSession

    reasons = {}
    for name in report.incomplete:
        try:
            with IngestSession(
                CollectionTask(name, ()), context.load(), {"resume": True}, f"elt-llm ingest -c {name}"
            ) as session:
                session.run(lambda: progress_display(quiet=quiet))
        except EltError as error:
            reasons[name] = f"{error} {error.hint}".strip()
    return reasons


def _still_lost(context: CommandContext, report: "RecoveryReport") -> list[dict[str, Any]]:
    """Return collection and path of each lost document that is still not in its published generation."""
    with context.open_store() as store:
        there = {
            (record.name, document.source)
            for record in store.collections.all()
            for document in store.documents.in_generation(record.id, record.published or 0)
        }
    return [
        {"collection": lost.collection, "path": lost.path}
        for lost in report.documents
        if (lost.collection, lost.path) not in there
    ]
