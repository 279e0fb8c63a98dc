"""The `elt-llm` command: reads global options, calls one command, turns errors into sentences and exit codes."""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click
from elt_llm_core.errors import EltError, UsageError

from elt_llm_api.lazy_group import CommandEntry, LazyGroup
from elt_llm_api.options import CommandContext, global_options
from elt_llm_api.render import print_error

_BEGIN, _FILL, _ASK, _JOBS, _CARE, _REMOVE = "Begin", "Fill", "Ask", "Run jobs", "Look after", "Take out"
_SERVE = "Serve"
COMMANDS = (
    CommandEntry("init", "elt_llm_api.commands.init", "Write a commented configuration into a folder.", _BEGIN),
    CommandEntry("demo", "elt_llm_api.commands.demo", "Ingest the bundled samples and answer a question.", _BEGIN),
    CommandEntry(
        "doctor", "elt_llm_api.commands.doctor", "What works, what does not, and the command that mends it.", _BEGIN
    ),
    CommandEntry("ingest", "elt_llm_api.commands.ingest", "Read documents into a collection, or run a job.", _FILL),
    CommandEntry("import", "elt_llm_api.commands.import_collection", "Read a collection from an exported file.", _FILL),
    CommandEntry("export", "elt_llm_api.commands.export", "Write a collection into one file.", _FILL),
    CommandEntry("ask", "elt_llm_api.commands.ask", "Answer a question, with citations.", _ASK),
    CommandEntry("chat", "elt_llm_api.commands.chat", "Ask one question after the other, with history.", _ASK),
    CommandEntry("search", "elt_llm_api.commands.search", "Find passages.", _ASK),
    CommandEntry("show", "elt_llm_api.commands.show", "Show a document's text as citations see it.", _ASK),
    CommandEntry("eval", "elt_llm_api.commands.eval", "Measure how well passages are found and answers given.", _ASK),
    CommandEntry("glossary", "elt_llm_api.commands.glossary", "Collect the terms that the texts define.", _JOBS),
    CommandEntry("catalog", "elt_llm_api.commands.catalog", "Describe every entity of a model from the texts.", _JOBS),
    CommandEntry("coverage", "elt_llm_api.commands.coverage", "Show how well the texts cover each entity.", _JOBS),
    CommandEntry("handbook", "elt_llm_api.commands.handbook", "Draw up a model from the texts alone.", _JOBS),
    CommandEntry("review", "elt_llm_api.commands.review", "Take reviews of rows, and see how they stand.", _JOBS),
    CommandEntry("replay", "elt_llm_api.commands.replay", "Tell whether an output still holds.", _JOBS),
    CommandEntry("serve", "elt_llm_api.commands.serve", "Serve browsers, programs and agents over HTTP.", _SERVE),
    CommandEntry("keys", "elt_llm_api.commands.keys", "Who may ask the server, and what each may read.", _SERVE),
    CommandEntry("mcp", "elt_llm_api.commands.mcp", "Serve tools to an agent that starts this command.", _SERVE),
    CommandEntry("collections", "elt_llm_api.commands.collections", "List the collections.", _CARE),
    CommandEntry("status", "elt_llm_api.commands.status", "What a collection holds and what happened last.", _CARE),
    CommandEntry(
        "verify", "elt_llm_api.commands.verify", "Check collections against their record, and mend them.", _CARE
    ),
    CommandEntry("rollback", "elt_llm_api.commands.rollback", "Publish a collection's previous generation.", _CARE),
    CommandEntry("forget", "elt_llm_api.commands.forget", "Take a document out for good, and leave it out.", _REMOVE),
    CommandEntry("drop", "elt_llm_api.commands.drop", "Delete collections.", _REMOVE),
    CommandEntry("purge", "elt_llm_api.commands.purge", "Erase from the disk what is no longer published.", _REMOVE),
)

RESUME = "Running the same command again goes on where this one stopped."
_GOES_ON = frozenset(
    ("demo", "ingest", "glossary", "catalog", "coverage", "handbook", "verify", "forget", "drop", "purge")
)
INTERRUPTED, TERMINATED, PIPE_CLOSED = 128 + signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGPIPE


class Terminated(BaseException):
    """Somebody asked the process to end; passes every handler of errors, like KeyboardInterrupt."""


group = LazyGroup(
    "elt-llm",
    COMMANDS,
    help="Documents in, answers with citations out; nothing leaves this machine.",
    epilog="Exit codes: 0 done, 1 work failed, 2 wrong usage, 75 another process is writing, 130 and 143 interrupted.",
    params=[*global_options(hidden=False)],
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(package_name="elt-llm-api", prog_name="elt-llm")(group)


def main() -> NoReturn:
    """The console script."""
    signal.signal(signal.SIGTERM, _terminate)
    if "_ELT_LLM_COMPLETE" in os.environ:
        group.main(prog_name="elt-llm")
    sys.exit(run(sys.argv[1:], os.environ, Path.cwd()))


def run(arguments: Sequence[str], environment: Mapping[str, str], working_directory: Path) -> int:
    """One call of the command; returns its exit code. Errors that are expected leave no traceback."""
    try:
        return _call(arguments, CommandContext(None, None, 0, environment, working_directory))
    except click.exceptions.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, click.Abort) as stopped:
        click.echo(_with_notes("\nInterrupted.", stopped), err=True)
        return INTERRUPTED
    except Terminated as stopped:
        click.echo(_with_notes("Terminated.", stopped), err=True)
        return TERMINATED
    except BrokenPipeError:
        _leave_the_pipe()
        return PIPE_CLOSED
    except (EltError, click.ClickException, OSError) as error:
        expected = _as_expected(error)
        print_error(expected, as_json="--json" in arguments, color=_color(environment))
        return expected.exit_code


def _call(arguments: Sequence[str], context: CommandContext) -> int:
    color = _color(context.environment)
    with group.make_context("elt-llm", list(arguments) or ["--help"], obj=context, color=color) as call:
        try:
            result = group.invoke(call)
        except (KeyboardInterrupt, click.Abort, Terminated) as stopped:
            if call.invoked_subcommand in _GOES_ON:
                stopped.add_note(RESUME)
            raise
    sys.stdout.flush()
    return result if isinstance(result, int) else 0


def _with_notes(said: str, stopped: BaseException) -> str:
    return " ".join((said, *getattr(stopped, "__notes__", ())))


def _color(environment: Mapping[str, str]) -> bool | None:
    """False where NO_COLOR is set (no-color.org); None lets the terminal decide."""
    return False if environment.get("NO_COLOR") else None


def _as_expected(error: EltError | click.ClickException | OSError) -> EltError:
    """The error in the project's own shape, with its exit code."""
    if isinstance(error, EltError):
        return error
    if isinstance(error, click.ClickException):
        call = error.ctx if isinstance(error, click.UsageError) else None
        return UsageError(error.format_message(), hint=f"Help: {call.command_path} --help" if call else "")
    where = f"{error.filename}: " if error.filename else ""
    return EltError(f"{where}{error.strerror or error}", hint="Run: elt-llm doctor")


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    raise Terminated


def _leave_the_pipe() -> None:
    """Nobody reads on; what Python would still flush at its end goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
