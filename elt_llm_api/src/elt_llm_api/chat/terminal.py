"""The conversation as somebody at a terminal holds it: errors are told, and it goes on."""

import sys
from collections.abc import Iterable, Iterator

import click
from elt_llm_core.errors import EltError
from elt_llm_core.results import QueryResult

from elt_llm_api.chat.room import ChatRoom
from elt_llm_api.chat.slash_commands import ChatEnded, run_slash_command
from elt_llm_api.render import counted, one_line, plain, print_error
from elt_llm_api.render_answer import answer_lines

_UNDERSTOOD = "Understood as: "


def converse(room: ChatRoom) -> int:
    """Ask and answer until the input ends or somebody quits. Returns the exit code: 0 at a terminal.

    Where no terminal is read, each line is a question or a command, and the code is 1 if one of them failed.
    """
    interactive = sys.stdin.isatty()
    told: set[str] = set()
    failed = False
    if interactive:
        click.echo(_greeting(room))
    for line in _typed_lines(room) if interactive else _piped_lines():
        try:
            for shown in _reply(room, line, told):
                click.echo(shown)
        except ChatEnded:
            break
        except EltError as error:
            print_error(error, as_json=False)
            failed = True
        except KeyboardInterrupt:
            if not interactive:
                raise
            click.echo("\nStopped.")
        if interactive:
            click.echo()
    return int(failed and not interactive)


def question_lines() -> Iterator[str]:
    """The lines of standard input that are not empty, without their ends; bytes that are no text become marks."""
    for line in sys.stdin.buffer:
        if text := line.decode("utf-8", "replace").strip():
            yield text


def _piped_lines() -> Iterator[str]:
    for line in question_lines():
        click.echo(f"> {plain(line)}")
        yield line


def _typed_lines(room: ChatRoom) -> Iterator[str]:
    """What is typed, with the line editing and the history of readline; Ctrl-C empties the line, Ctrl-D ends."""
    import readline

    readline.clear_history()
    for turn in room.turns:
        readline.add_history(one_line(turn.asked))
    while True:
        try:
            text = input("> ").encode("utf-8", "replace").decode().strip()
        except EOFError:
            click.echo()
            return
        except KeyboardInterrupt:
            click.echo()
            continue
        if text:
            yield text


def _greeting(room: ChatRoom) -> str:
    where = ", ".join(room.collections) or "the collections of the profile"
    begun = f" {counted(len(room.turns), 'turn')} so far." if room.turns else ""
    return f"Asking {where}, profile {room.profile}.{begun} /help tells what there is, Ctrl-D ends.\n"


def _reply(room: ChatRoom, line: str, told: set[str]) -> Iterable[str]:
    return run_slash_command(room, line) if line.startswith("/") else _answer_lines(room.ask(line), told)


def _answer_lines(result: QueryResult, told: set[str]) -> Iterator[str]:
    """What was understood first, so that a wrong guess is seen before its answer; a note that was told is left out."""
    for note in result.notes:
        if note.startswith(_UNDERSTOOD):
            yield click.style(plain(note), dim=True)
    notes = tuple(note for note in result.notes if note not in told and not note.startswith(_UNDERSTOOD))
    told.update(notes)
    yield from answer_lines(result.model_copy(update={"notes": notes}))
