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
from elt_llm_api.streaming import StreamPrinter

_UNDERSTOOD = "Understood as: "


def converse(room: ChatRoom) -> int:
    """Ask and answer until the input ends or somebody quits. Returns the exit code: 0 at a terminal.

    Where no terminal is read, each line is a question or a command, and the code is 1 if one of them failed.
    """
    return _converse_at_terminal(room) if sys.stdin.isatty() else _answer_lines_of_input(room)


def question_lines() -> Iterator[str]:
    """The lines of standard input that are not empty, without their ends; bytes that are no text become marks."""
    for line in sys.stdin.buffer:
        if text := line.decode("utf-8", "replace").strip():
            yield text


def _answer_lines_of_input(room: ChatRoom) -> int:
    told: set[str] = set()
    failed = False
    for line in question_lines():
        click.echo(f"> {plain(line)}")
        try:
            failed |= not _replied(room, line, told)
        except ChatEnded:
            break
    return int(failed)


def _converse_at_terminal(room: ChatRoom) -> int:
    _recall(room)
    click.echo(_greeting(room))
    told: set[str] = set()
    while True:
        try:
            if (line := _typed_line()) is None:
                return 0
            if line:
                _replied(room, line, told)
                click.echo()
        except ChatEnded:
            return 0
        except KeyboardInterrupt:  # at whatever moment: it stops what is being done, and nothing else
            click.echo("\nStopped.\n")


def _replied(room: ChatRoom, line: str, told: set[str]) -> bool:
    """Prints the reply to a line, or why there is none; returns whether there is. Raises ChatEnded."""
    try:
        for shown in _reply(room, line, told):
            click.echo(shown)
    except EltError as error:
        print_error(error, as_json=False)
        return False
    return True


def _recall(room: ChatRoom) -> None:
    """Line editing, and what was asked before at the arrow keys."""
    import readline

    readline.clear_history()
    for turn in room.turns:
        readline.add_history(one_line(turn.asked))


def _typed_line() -> str | None:
    """What is typed; empty after Ctrl-C, None after Ctrl-D."""
    try:
        typed: str = click.prompt("", prompt_suffix="> ", default="", show_default=False)
    except click.Abort as end:
        click.echo()
        return None if isinstance(end.__context__, EOFError) else ""
    return typed.encode("utf-8", "replace").decode().strip()


def _greeting(room: ChatRoom) -> str:
    where = ", ".join(room.collections) or "the collections of the profile"
    begun = f" {counted(len(room.turns), 'turn')} so far." if room.turns else ""
    return f"Asking {where}, profile {room.profile}.{begun} /help tells what there is, Ctrl-D ends.\n"


def _reply(room: ChatRoom, line: str, told: set[str]) -> Iterable[str]:
    if line.startswith("/"):
        return run_slash_command(room, line)
    return _streamed(room, line, told) if room.writes and sys.stdout.isatty() else _answer_lines(room.ask(line), told)


def _streamed(room: ChatRoom, line: str, told: set[str]) -> Iterable[str]:
    """The sources and the words as they come; what is known when all is said is left to print."""
    printer = StreamPrinter()
    result = room.ask(line, listen=printer)
    notes = tuple(note for note in result.notes if note not in told and not note.startswith(_UNDERSTOOD))
    told.update(notes)
    return printer.after(result.model_copy(update={"notes": notes}))


def _answer_lines(result: QueryResult, told: set[str]) -> Iterator[str]:
    """What was understood first, so that a wrong guess is seen before its answer; a note that was told is left out."""
    for note in result.notes:
        if note.startswith(_UNDERSTOOD):
            yield click.style(plain(note), dim=True)
    notes = tuple(note for note in result.notes if note not in told and not note.startswith(_UNDERSTOOD))
    told.update(notes)
    yield from answer_lines(result.model_copy(update={"notes": notes}))
