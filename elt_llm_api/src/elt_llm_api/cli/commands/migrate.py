"""`elt-llm migrate`: move a workspace from SQLite into a PostgreSQL database."""

from dataclasses import asdict, replace

import click
from elt_llm_core.settings.workspace import StorageBackend

from elt_llm_api.cli.options import CommandContext, json_command
from elt_llm_api.display.progress import progress_display
from elt_llm_api.display.text import count_noun, print_result


@json_command
@click.option("--to", "backend", type=click.Choice(["postgres"]), required=True, help="The database to move to.")
def command(context: CommandContext, backend: StorageBackend, as_json: bool) -> None:
    """Copy documents, vectors, conversations and keys into the PostgreSQL database of ELT_LLM_DSN or storage.dsn_file.

    Nothing is embedded. The hash of each collection is computed again from the copy before the copy is stored. The
    database must be empty; a second run changes nothing. The files of SQLite stay as a backup.
    """
    from elt_llm_core.collection.migrating import migrate_to_server

    workspace = replace(context.load().workspace, backend=backend)
    with progress_display(quiet=as_json) as progress:
        report = migrate_to_server(workspace, progress)
    hashes = [f"{name}: {digest}" for name, digest in report.hashes.items()]
    if report.was_done:
        lines = [f"{report.database} already has everything."]
    else:
        lines = [f"{count_noun(sum(report.rows.values()), 'row')} copied into {report.database}. Verified hashes:"]
    lines += [*hashes, "Set storage.backend: postgres, here and on every machine that uses this database."]
    print_result(asdict(report), lines, as_json=as_json)
