"""`elt-llm chat`: a conversation in the terminal or as JSON lines, with slash commands and an export to Markdown."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click
from elt_llm_core.errors import EltError, StoreError, UsageError
from elt_llm_core.results import QueryResult, TraceStage
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.state.database import has_state, open_state
from elt_llm_core.state.sessions import ConversationTurn, SessionRecord, SessionTable
from elt_llm_core.utilities import Closeable

from elt_llm_api.cli.commands.ask import open_engine_for
from elt_llm_api.cli.options import CommandContext, confirm_or_abort, pass_command_context, profile_option, yes_option
from elt_llm_api.cli.render.answers import StreamPrinter, answer_lines, chunk_lines
from elt_llm_api.cli.render.messages import message_lines
from elt_llm_api.display.text import (
    align_columns,
    count_noun,
    error_json,
    local_time,
    one_line,
    print_error,
    print_json,
    print_result,
    shorten_middle,
    strip_control_characters,
)

if TYPE_CHECKING:
    from elt_llm_query.engine import Engine

DEFAULT_PROFILE = "default"
_LATEST = "latest"
_ID_LETTERS = 8


@click.command()
@click.option("-c", "--collection", "collections", multiple=True, metavar="NAME", help="Collection; may be repeated.")
@profile_option
@click.option(
    "--continue",
    "continued",
    is_flag=False,
    flag_value=_LATEST,
    metavar="[ID]",
    help="Continue conversation ID, by default the latest.",
)
@click.option("--list", "listed", is_flag=True, help="List the conversations.")
@click.option("--delete", "deleted", metavar="ID", help="Delete conversation ID.")
@yes_option
@click.option("--json", "as_json", is_flag=True, help="Read one question per line, print one JSON document per line.")
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
    """Have a conversation. A follow-up such as "And for juniors?" becomes a full question, which is shown.

    Conversations are stored on this machine, beside the collections. Type /help for the commands.
    """
    workspace = context.load().workspace
    if not has_state(workspace) and (listed or deleted or continued):
        if not listed:
            raise _no_session_error()
        return _list_sessions([], as_json=as_json)
    if listed or deleted:
        with closing(open_state(workspace)) as database:
            sessions = SessionTable(database)
            if deleted:
                return _delete_session(sessions, deleted, yes, as_json)
            return _list_sessions(sessions.all(), as_json=as_json)
    record = _find_session(workspace, continued) if continued else None
    profile = profile or (record.profile if record else DEFAULT_PROFILE)
    return _run_chat(context, collections or (record.collections if record else ()), profile, record, as_json=as_json)


def _run_chat(
    context: CommandContext, collections: Sequence[str], profile: str, record: SessionRecord | None, *, as_json: bool
) -> int:
    # Open the engine first: an unknown name must not leave an empty state database behind.
    engine = open_engine_for(context, tuple(collections), profile)
    try:
        database = open_state(context.load().workspace)
    except StoreError:
        engine.close()
        raise
    session_id = record.session_id if record else ""
    with (
        closing(database),
        ChatSession(context, SessionTable(database), engine, tuple(collections), profile, session_id) as session,
    ):
        return converse_in_json(session) if as_json else converse(session)


def _find_session(workspace: Workspace, continued: str) -> SessionRecord:
    with closing(open_state(workspace)) as database:
        sessions = SessionTable(database)
        if continued != _LATEST:
            return sessions.get(continued)
        if not (records := sessions.all()):
            raise _no_session_error()
        return records[0]


def _no_session_error() -> UsageError:
    return UsageError("There is no conversation yet.", hint="Start one with: elt-llm chat -c NAME")


def _list_sessions(records: Sequence[SessionRecord], *, as_json: bool) -> int:
    rows = [("id", "last used", "turns", "collections", "first question")]
    for it in records:
        names, last_used = one_line(", ".join(it.collections)) or "-", local_time(it.updated_at)
        rows.append((it.session_id[:_ID_LETTERS], last_used, str(it.turns), names, one_line(it.title)))
    lines = align_columns(rows) if records else ["No conversations yet."]
    print_result([asdict(record) for record in records], lines, as_json=as_json)
    return 0


def _delete_session(sessions: SessionTable, session_id: str, yes: bool, as_json: bool) -> int:
    record = sessions.get(session_id)
    if not yes:
        confirm_or_abort(f"Delete the conversation '{one_line(record.title)}' for good?", as_json=as_json)
    sessions.delete(record.session_id)
    print_result({"deleted": record.session_id}, [f"Deleted {count_noun(record.turns, 'turn')}."], as_json=as_json)
    return 0


@dataclass
class ChatSession(Closeable):
    """The conversation of a running chat, with its engine. The conversation is stored from its first answer on."""

    context: CommandContext
    sessions: SessionTable
    engine: "Engine"
    collections: tuple[str, ...]
    profile: str
    session_id: str = ""
    """Id of the conversation, empty before its first turn."""

    @property
    def turns(self) -> list[ConversationTurn]:
        """The turns (questions with their answers) of this conversation, in order."""
        return self.sessions.turns(self.session_id) if self.session_id else []

    @property
    def last(self) -> ConversationTurn:
        """The last question with its answer. Raises UsageError if no question has been asked yet."""
        if not (turns := self.turns):
            raise UsageError("No question has been asked yet.", hint="Ask something first.")
        return turns[-1]

    def ask(self, question: str, **options: Any) -> QueryResult:
        """Answer a question and store the turn. `options` are passed to the engine's `ask`. Raises EltError.

        After Ctrl-C nothing is stored.
        """
        from elt_llm_query.conversation.conversation import Conversation
        from elt_llm_query.synthesis.prompts import load_prompts

        llm = self.engine.llm
        prompt = load_prompts(self.context.load().config_dir)["follow_up"] if llm else None
        session_id = self.session_id or self.sessions.create(self.collections, self.profile)
        try:
            result = Conversation(self.engine, self.sessions, session_id, llm=llm, prompt=prompt).ask(
                question, **options
            )
        except (EltError, KeyboardInterrupt):
            if not self.session_id:
                self.sessions.delete(session_id)
            raise
        self.session_id = session_id
        return result

    def explained(self) -> tuple[TraceStage, ...]:
        """Search again for the last question, and return the trace of its answer with the details of every chunk.

        The stored trace omits chunks that the answer does not use, because a purge, which erases deleted documents,
        could not find them in a trace.
        Raises UsageError before the first answer, and RetrievalError.
        """
        last = self.last
        stages = self.engine.search(last.understood, explain=True).stages
        stored = last.result.trace.stages
        return (*(stage for stage in stored[:1] if stage.name == "follow up"), *stages, *stored[-1:])

    def move(self, collections: Sequence[str], profile: str) -> None:
        """Switch to other collections and another profile. Nothing changes if they cannot be opened."""
        engine = open_engine_for(self.context, tuple(collections), profile)
        self.engine.close()
        self.engine, self.collections, self.profile = engine, tuple(collections), profile
        if self.session_id:
            self.sessions.move(self.session_id, collections, profile)

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()


_MARKDOWN_CHARACTERS = re.compile(r"([\\`*_<>\[\]#|])")


def conversation_markdown(turns: Sequence[ConversationTurn]) -> str:
    """Format every question with its answer and citations as Markdown."""

    def escape(text: str) -> str:
        return _MARKDOWN_CHARACTERS.sub(r"\\\1", text)

    def escaped_lines(text: str) -> list[str]:
        """Escape lines that Markdown would read as a heading, a list, a quote or HTML."""
        lines = strip_control_characters(text).splitlines()
        return [re.sub(r"^(\s{0,8})([#>*+-])", r"\1\\\2", line).replace("<", "\\<") for line in lines]

    return "\n".join(message_lines("conversation", turns=turns, escape=escape, escaped_lines=escaped_lines))


_QUESTION_WIDTH = 60


class ChatExit(Exception):
    """Raised by `/quit` to end the chat."""


@dataclass(frozen=True)
class SlashCommand:
    """A command of the chat, such as `/save FILE`. `run` carries it out and returns the lines to print."""

    name: str
    argument: str
    help: str
    run: Callable[[ChatSession, str], Iterable[str]]


def run_slash_command(session: ChatSession, line: str) -> Iterable[str]:
    """Run a slash command, whose name may be abbreviated, and return its lines. Raises EltError, ChatExit."""
    name, _, argument = line.removeprefix("/").partition(" ")
    matches = [it for it in SLASH_COMMANDS if name and it.name.startswith(name)]
    if len(matches) > 1:
        names = " or ".join(f"/{it.name}" for it in matches)
        raise UsageError(f"'/{name}' is ambiguous.", hint=f"Did you mean {names}?")
    if not matches:
        raise UsageError(f"There is no command '/{name}'.", hint="Type /help for the list.")
    [command] = matches
    if command.argument and not argument.strip():
        raise UsageError(f"/{command.name} needs {command.argument}.", hint=command.help)
    return command.run(session, argument.strip())


def _help(_session: ChatSession, _argument: str) -> Iterator[str]:
    yield from align_columns([(f"/{it.name} {it.argument}".strip(), it.help) for it in SLASH_COMMANDS])
    yield "Anything else is a question. Ctrl-C stops an answer, Ctrl-D quits."


def _explain(session: ChatSession, _argument: str) -> Iterator[str]:
    from elt_llm_api.display.explain import explanation_lines

    yield from explanation_lines(session.explained())


def _sources(session: ChatSession, _argument: str) -> Iterator[str]:
    yield from chunk_lines(session.last.result.chunks, ())


def _collection(session: ChatSession, argument: str) -> Iterator[str]:
    names = tuple(dict.fromkeys(name.strip() for name in argument.split(",") if name.strip()))
    session.move(names, session.profile)
    yield f"Asking {', '.join(names)} from now on."


def _profile(session: ChatSession, argument: str) -> Iterator[str]:
    session.move(session.collections, argument)
    yield f"Asking with profile {argument} from now on."


def _history(session: ChatSession, _argument: str) -> Iterator[str]:
    turns = session.turns
    if not turns:
        yield "No questions yet."
    for turn in turns:
        yield f"{turn.number:>3}  {shorten_middle(one_line(turn.asked), _QUESTION_WIDTH)}"
        if turn.understood != turn.asked:
            yield f"     understood as: {shorten_middle(one_line(turn.understood), _QUESTION_WIDTH)}"


def _save(session: ChatSession, argument: str) -> Iterator[str]:
    turns = session.turns
    if not turns:
        raise UsageError("There is no answer to save yet.", hint="Ask something first.")
    target = session.context.working_directory / argument
    try:
        if not target.parent.is_dir():
            raise UsageError(f"There is no folder {target.parent}.", hint="Name a file in an existing folder.")
        with target.open("x", encoding="utf-8") as stream:  # mode "x" never overwrites a file nor follows a link
            stream.write(conversation_markdown(turns))
    except FileExistsError as error:
        raise UsageError(f"{target} exists and is not overwritten.", hint="Name another file.") from error
    except (OSError, ValueError) as error:  # ValueError: NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{target} cannot be written: {reason}.", hint="Name another file.") from error
    yield strip_control_characters(f"{count_noun(len(turns), 'turn')} in {target}")


def _new(session: ChatSession, _argument: str) -> Iterator[str]:
    note = " The last one is stored: elt-llm chat --list" if session.session_id else ""
    session.session_id = ""
    yield f"New conversation.{note}"


def _quit(_session: ChatSession, _argument: str) -> Iterator[str]:
    raise ChatExit


SLASH_COMMANDS = (
    SlashCommand("help", "", "List the commands.", _help),
    SlashCommand("sources", "", "Show the chunks for the last question.", _sources),
    SlashCommand("explain", "", "Show how the chunks were found.", _explain),
    SlashCommand("history", "", "List the questions of this conversation.", _history),
    SlashCommand("collection", "NAME[,NAME]", "Ask other collections.", _collection),
    SlashCommand("profile", "NAME", "Use another profile: fast, thorough, ...", _profile),
    SlashCommand("save", "FILE", "Save the conversation as Markdown.", _save),
    SlashCommand("new", "", "Start a new conversation.", _new),
    SlashCommand("quit", "", "Quit; also Ctrl-D.", _quit),
)


_REWRITTEN_PREFIX = "Understood as: "


def converse(session: ChatSession) -> int:
    """Answer questions until the input ends or the user quits, and return the exit code. At a terminal the code is 0.

    Without a terminal, each input line is a question or a command, and the exit code is 1 if any of them failed.
    """
    return _converse_at_terminal(session) if sys.stdin.isatty() else _converse_with_pipe(session)


def question_lines() -> Iterator[str]:
    """Return the non-empty lines of standard input; invalid UTF-8 is replaced."""
    for line in sys.stdin.buffer:
        if text := line.decode("utf-8", "replace").strip():
            yield text


def _converse_with_pipe(session: ChatSession) -> int:
    printed: set[str] = set()
    failed = False
    for line in question_lines():
        click.echo(f"> {strip_control_characters(line)}")
        try:
            failed |= not _handle_line(session, line, printed)
        except ChatExit:
            break
    return int(failed)


def _converse_at_terminal(session: ChatSession) -> int:
    import readline  # enables line editing; the arrow keys recall earlier questions

    readline.clear_history()
    for turn in session.turns:
        readline.add_history(one_line(turn.asked))
    source = ", ".join(session.collections) or "the collections of the profile"
    turns = f" {count_noun(len(session.turns), 'turn')} so far." if session.turns else ""
    click.echo(f"Asking {source}, profile {session.profile}.{turns} Type /help for commands, Ctrl-D to quit.\n")
    printed: set[str] = set()
    while True:
        try:
            if (line := _read_line()) is None:
                return 0
            if line:
                _handle_line(session, line, printed)
                click.echo()
        except ChatExit:
            return 0
        except KeyboardInterrupt:  # Ctrl-C stops the current answer, not the chat
            click.echo("\nStopped.\n")


def _handle_line(session: ChatSession, line: str, printed: set[str]) -> bool:
    """Answer an input line, and print the reply or the error. Return whether it succeeded. Raises ChatExit."""
    try:
        for reply in _answer(session, line, printed):
            click.echo(reply)
    except EltError as error:
        print_error(error, as_json=False)
        return False
    return True


def _read_line() -> str | None:
    """Read a line. Return an empty text after Ctrl-C, and None after Ctrl-D."""
    try:
        typed: str = click.prompt("", prompt_suffix="> ", default="", show_default=False)
    except click.Abort as end:
        click.echo()
        return None if isinstance(end.__context__, EOFError) else ""
    return typed.encode("utf-8", "replace").decode().strip()


def _answer(session: ChatSession, line: str, printed: set[str]) -> Iterable[str]:
    if line.startswith("/"):
        return run_slash_command(session, line)
    if session.engine.llm is not None and sys.stdout.isatty():
        printer = StreamPrinter()
        return printer.after(_with_new_notes(session.ask(line, listen=printer), printed))
    result = session.ask(line)
    rewritten = [note for note in result.notes if note.startswith(_REWRITTEN_PREFIX)]
    return (
        *(click.style(strip_control_characters(note), dim=True) for note in rewritten),
        *answer_lines(_with_new_notes(result, printed)),
    )


def _with_new_notes(result: QueryResult, printed: set[str]) -> QueryResult:
    """Return the result without notes "Understood as" and notes in `printed`, and add its other notes to `printed`."""
    notes = tuple(note for note in result.notes if note not in printed and not note.startswith(_REWRITTEN_PREFIX))
    printed.update(notes)
    return result.model_copy(update={"notes": notes})


def converse_in_json(session: ChatSession) -> int:
    """Answer every input line as JSON. Return the exit code: 1 if any line failed, else 0."""
    failed = False
    for line in question_lines():
        try:
            if line.startswith("/"):
                raise UsageError("Slash commands do not work with --json.", hint="Send questions, or remove --json.")
            result = session.ask(line)
        except EltError as error:
            failed = True
            reply = {"asked": line, **error_json(error)}
        else:
            reply = {"session": session.session_id, "asked": line, "result": result.model_dump(mode="json")}
        print_json(reply, indent=None)
    return int(failed)
