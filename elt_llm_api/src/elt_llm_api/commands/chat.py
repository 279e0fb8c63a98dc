"""`elt-llm chat`: questions one after the other, each understood from those before it."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import click
from elt_llm_core.errors import StoreError, UsageError
from elt_llm_core.state.database import STATE_NAME, open_state
from elt_llm_core.state.sessions import SessionRecord, Sessions

from elt_llm_api.commands.ask import open_asked
from elt_llm_api.confirmation import confirm
from elt_llm_api.options import CommandContext, pass_command_context
from elt_llm_api.render import aligned, counted, local_time, one_line, print_json

DEFAULT_PROFILE = "default"
_LATEST = "latest"
_SHOWN = 8  # letters of an id: enough to name it by


@click.command()
@click.option("-c", "--collection", "collections", multiple=True, metavar="NAME", help="Collection; may be repeated.")
@click.option("--profile", metavar="P", help="A way of asking: default, classic, fast, thorough, or yours.")
@click.option(
    "--continue",
    "continued",
    is_flag=False,
    flag_value=_LATEST,
    metavar="[ID]",
    help="Go on with one; else the latest.",
)
@click.option("--list", "listed", is_flag=True, help="List the conversations there are.")
@click.option("--delete", "deleted", metavar="ID", help="Delete one for good.")
@click.option("--yes", is_flag=True, help="Do not ask before it is deleted.")
@click.option("--json", "as_json", is_flag=True, help="Read a question a line, print a JSON document a line.")
@pass_command_context
def command(  # noqa: PLR0913, PLR0917 - one parameter for each option
    context: CommandContext,
    collections: tuple[str, ...],
    profile: str | None,
    continued: str | None,
    listed: bool,
    deleted: str | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Ask one question after the other: "And for juniors?" is understood from the one before, and you see how.

    Conversations stay on this machine, beside the collections. In it, /help tells what there is besides questions.
    """
    data_dir = context.load().data_dir
    if not (data_dir / STATE_NAME).exists() and (listed or deleted or continued):
        return _nothing_kept(listed=listed, as_json=as_json)
    if listed or deleted:
        with closing(open_state(data_dir)) as database:
            sessions = Sessions(database)
            return _delete(sessions, deleted, yes, as_json) if deleted else _list(sessions, as_json=as_json)
    record = _found(data_dir, continued) if continued else None
    profile = profile or (record.profile if record else DEFAULT_PROFILE)
    return _converse(context, collections or (record.collections if record else ()), profile, record, as_json=as_json)


def _converse(
    context: CommandContext, collections: Sequence[str], profile: str, record: SessionRecord | None, *, as_json: bool
) -> int:
    from elt_llm_api.chat.json_lines import converse_in_json
    from elt_llm_api.chat.room import ChatRoom
    from elt_llm_api.chat.terminal import converse

    # Before any file of conversations: a mistyped name leaves none behind.
    engine = open_asked(context, tuple(collections), profile)
    try:
        database = open_state(context.load().data_dir)
    except StoreError:
        engine.close()
        raise
    session_id = record.session_id if record else ""
    with closing(database), ChatRoom(context, Sessions(database), engine, collections, profile, session_id) as room:
        return converse_in_json(room) if as_json else converse(room)


def _found(data_dir: Path, continued: str) -> SessionRecord:
    with closing(open_state(data_dir)) as database:
        sessions = Sessions(database)
        if continued != _LATEST:
            return sessions.get(continued)
        if not (records := sessions.all()):
            raise _none_yet()
        return records[0]


def _nothing_kept(*, listed: bool, as_json: bool) -> int:
    if not listed:
        raise _none_yet()
    _show([], as_json=as_json)
    return 0


def _none_yet() -> UsageError:
    return UsageError("There is no conversation yet.", hint="Begin one with: elt-llm chat -c NAME")


def _list(sessions: Sessions, *, as_json: bool) -> int:
    _show(sessions.all(), as_json=as_json)
    return 0


def _show(records: Sequence[SessionRecord], *, as_json: bool) -> None:
    if as_json:
        print_json([asdict(record) for record in records])
        return
    rows = [
        (
            it.session_id[:_SHOWN],
            local_time(it.updated_at),
            str(it.turns),
            one_line(", ".join(it.collections)) or "-",
            one_line(it.title),
        )
        for it in records
    ]
    for line in aligned([("id", "last used", "turns", "collections", "began with"), *rows]) if rows else ():
        click.echo(line)
    if not rows:
        click.echo("No conversations yet.")


def _delete(sessions: Sessions, session_id: str, yes: bool, as_json: bool) -> int:
    record = sessions.get(session_id)
    if not yes:
        confirm(f"Delete the conversation that began with '{one_line(record.title)}' for good?", as_json=as_json)
    sessions.delete(record.session_id)
    if as_json:
        print_json({"deleted": record.session_id})
    else:
        click.echo(f"Deleted {counted(record.turns, 'turn')}.")
    return 0
