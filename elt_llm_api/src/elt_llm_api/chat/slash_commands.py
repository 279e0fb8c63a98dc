"""What begins with a slash in a conversation: commands that look at it, move it or end it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from elt_llm_core.errors import UsageError

from elt_llm_api.chat.markdown import as_markdown
from elt_llm_api.chat.room import ChatRoom
from elt_llm_api.render import aligned, counted, one_line, plain, shortened
from elt_llm_api.render_answer import passage_lines

_SHOWN = 60  # characters of a question in a list


class ChatEnded(Exception):
    """Somebody is done."""


@dataclass(frozen=True)
class SlashCommand:
    """One of them: what follows its name, what it does, and the lines it prints."""

    name: str
    argument: str
    help: str
    run: Callable[[ChatRoom, str], Iterable[str]]


def run_slash_command(room: ChatRoom, line: str) -> Iterable[str]:
    """The lines of what `line` commands; a name may be given short. Raises UsageError, ChatEnded, what opening does."""
    name, _, argument = line.removeprefix("/").partition(" ")
    known = [it for it in SLASH_COMMANDS if name and it.name.startswith(name)]
    if len(known) > 1:
        meant = " or ".join(f"/{it.name}" for it in known)
        raise UsageError(f"'/{name}' is too short.", hint=f"Did you mean {meant}?")
    if not known:
        raise UsageError(f"There is no command '/{name}'.", hint="Type /help for those there are.")
    if known[0].argument and not argument.strip():
        raise UsageError(f"/{known[0].name} needs {known[0].argument}.", hint=known[0].help)
    return known[0].run(room, argument.strip())


def _help(_room: ChatRoom, _argument: str) -> Iterator[str]:
    yield from aligned([(f"/{it.name} {it.argument}".strip(), it.help) for it in SLASH_COMMANDS])
    yield "Anything else is a question. Ctrl-C stops an answer, Ctrl-D ends."


def _explain(room: ChatRoom, _argument: str) -> Iterator[str]:
    from elt_llm_api.explain.lines import explanation_lines

    yield from explanation_lines(room.explained())


def _sources(room: ChatRoom, _argument: str) -> Iterator[str]:
    yield from passage_lines(room.last.result.contexts, ())


def _collection(room: ChatRoom, argument: str) -> Iterator[str]:
    names = tuple(dict.fromkeys(name.strip() for name in argument.split(",") if name.strip()))
    room.move(names, room.profile)
    yield f"Asking {', '.join(names)} from now on."


def _profile(room: ChatRoom, argument: str) -> Iterator[str]:
    room.move(room.collections, argument)
    yield f"Asking with profile {argument} from now on."


def _history(room: ChatRoom, _argument: str) -> Iterator[str]:
    turns = room.turns
    if not turns:
        yield "Nothing was asked yet."
    for turn in turns:
        yield f"{turn.number:>3}  {shortened(one_line(turn.asked), _SHOWN)}"
        if turn.understood != turn.asked:
            yield f"     understood as: {shortened(one_line(turn.understood), _SHOWN)}"


def _save(room: ChatRoom, argument: str) -> Iterator[str]:
    turns = room.turns
    if not turns:
        raise UsageError("There is nothing to save yet.", hint="Ask something first.")
    target = room.context.working_directory / argument
    try:
        if not target.parent.is_dir():
            raise UsageError(f"There is no folder {target.parent}.", hint="Name a file in a folder that is there.")
        with target.open("x", encoding="utf-8") as stream:  # never over a file, nor through a link
            stream.write(as_markdown(turns))
    except FileExistsError as error:
        raise UsageError(
            f"{target} is there already, and no file is written over.", hint="Name another one."
        ) from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in its name
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{target} cannot be written: {reason}.", hint="Name another file.") from error
    yield plain(f"{counted(len(turns), 'turn')} in {target}")


def _new(room: ChatRoom, _argument: str) -> Iterator[str]:
    kept = " The last one is kept: elt-llm chat --list" if room.turns else ""
    room.begin_anew()
    yield f"A new conversation.{kept}"


def _quit(_room: ChatRoom, _argument: str) -> Iterator[str]:
    raise ChatEnded


SLASH_COMMANDS = (
    SlashCommand("help", "", "These commands.", _help),
    SlashCommand("sources", "", "The passages found for the last question.", _sources),
    SlashCommand("explain", "", "What was understood; how these were found.", _explain),
    SlashCommand("history", "", "What was asked in this conversation.", _history),
    SlashCommand("collection", "NAME[,NAME]", "Ask other collections.", _collection),
    SlashCommand("profile", "NAME", "Ask in another way: fast, thorough, ...", _profile),
    SlashCommand("save", "FILE", "Write it all as Markdown, with citations.", _save),
    SlashCommand("new", "", "Begin another conversation.", _new),
    SlashCommand("quit", "", "End; so does Ctrl-D.", _quit),
)
