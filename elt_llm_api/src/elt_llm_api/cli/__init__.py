"""The `elt-llm` command: read global options, run one command, turn errors into messages and exit codes."""

import os
import signal
import sys
import threading
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click
from elt_llm_core.errors import EltError, UsageError
from elt_llm_core.utilities import import_llama_index_on_demand

from elt_llm_api.cli.options import CommandContext, CommandEntry, LazyGroup, global_options
from elt_llm_api.display.text import print_error

_TABLE = tomllib.loads(Path(__file__).with_name("command_table.toml").read_text(encoding="utf-8"))
_JOBS = ("glossary", "catalog", "coverage", "handbook")
_MODULES = {
    **dict.fromkeys(_JOBS, "job_commands"),
    "migrate-config": "commands.migrate_config",
    "replay": "commands.review",
    "search": "commands.ask",
    **dict.fromkeys(("collections", "status", "rollback", "drop", "export", "import"), "commands.collections"),
}
COMMANDS = tuple(
    CommandEntry(
        name,
        f"elt_llm_api.cli.{_MODULES.get(name, f'commands.{name}')}",
        description,
        heading,
        f"{name}_command" if name in _MODULES and name != "migrate-config" else "command",
    )
    for heading, commands in _TABLE.items()
    for name, description in commands.items()
)

RESUME_NOTE = "Run the same command again to continue where it stopped."
_RESUMABLE = frozenset(("demo", "ingest", *_JOBS, "verify", "recover", "migrate", "forget", "drop", "purge"))
_METHODS = vars(threading.Condition)
_LOCKING = [_METHODS[name].__code__ for name in ("__enter__", "__exit__", "_release_save", "_acquire_restore")]
_WAITING = _METHODS["wait"].__code__
INTERRUPTED, TERMINATED, PIPE_CLOSED = 128 + signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGPIPE


class TerminationRequested(BaseException):
    """SIGTERM was received. It is a BaseException, so that `except Exception` does not catch it."""


group = LazyGroup(
    "elt-llm",
    COMMANDS,
    help="Answer questions from your documents with citations; nothing leaves this machine.",
    epilog="Exit codes: 0 done, 1 work failed, 2 wrong usage, 75 another process is writing, 130 and 143 interrupted.",
    params=[*global_options(hidden=False)],
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(package_name="elt-llm-api", prog_name="elt-llm")(group)


def main() -> NoReturn:
    """Run the command in `sys.argv`, and exit with its exit code. This is the console script `elt-llm`."""
    signal.signal(signal.SIGTERM, stop_on_signal)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # otherwise a shell ignores it
        signal.signal(signal.SIGINT, stop_on_signal)
    import_llama_index_on_demand()
    if "_ELT_LLM_COMPLETE" in os.environ:
        group.main(prog_name="elt-llm")
    sys.exit(run(sys.argv[1:], os.environ, Path.cwd()))


def run(arguments: Sequence[str], environment: Mapping[str, str], working_directory: Path) -> int:
    """Run one command and return its exit code. Expected errors are printed without a traceback."""
    try:
        return _invoke(arguments, CommandContext(None, None, 0, environment, working_directory))
    except click.exceptions.Exit as error:
        return error.exit_code
    except (KeyboardInterrupt, click.Abort) as stopped:
        click.echo(_with_notes("\nInterrupted.", stopped), err=True)
        return INTERRUPTED
    except TerminationRequested as stopped:
        click.echo(_with_notes("Terminated.", stopped), err=True)
        return TERMINATED
    except BrokenPipeError:
        # Redirect stdout to the null device, so that Python's final flush does not fail on the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except (EltError, click.ClickException, OSError) as error:
        expected = _as_elt_error(error)
        print_error(expected, as_json="--json" in arguments, color=_color(environment))
        return expected.exit_code


def _invoke(arguments: Sequence[str], context: CommandContext) -> int:
    color = _color(context.environment)
    with group.make_context("elt-llm", list(arguments) or ["--help"], obj=context, color=color) as call:
        try:
            result = group.invoke(call)
        except (KeyboardInterrupt, click.Abort, TerminationRequested) as stopped:
            if call.invoked_subcommand in _RESUMABLE:
                stopped.add_note(RESUME_NOTE)
            raise
    sys.stdout.flush()
    return result if isinstance(result, int) else 0


def _with_notes(message: str, stopped: BaseException) -> str:
    return " ".join((message, *getattr(stopped, "__notes__", ())))


def _color(environment: Mapping[str, str]) -> bool | None:
    """Return False if NO_COLOR is set (no-color.org). Otherwise return None, so that only a terminal gets colours."""
    return False if environment.get("NO_COLOR") else None


def _as_elt_error(error: EltError | click.ClickException | OSError) -> EltError:
    """Convert an error to an EltError with its exit code."""
    if isinstance(error, EltError):
        return error
    if isinstance(error, click.ClickException):
        call = error.ctx if isinstance(error, click.UsageError) else None
        return UsageError(error.format_message(), hint=f"Help: {call.command_path} --help" if call else "")
    where = f"{error.filename}: " if error.filename else ""
    return EltError(f"{where}{error.strerror or error}", hint="Run: elt-llm doctor")


def stop_on_signal(number: int, frame: FrameType | None, tries: int = 100) -> None:
    """Raise KeyboardInterrupt or TerminationRequested, but later if an error here would be lost or leave a lock locked.

    Threads would wait for such a lock for ever (python/cpython#74174). It is tried again every 10 ms, `tries` times.
    """
    if tries and frame is not None and _cannot_raise(frame):
        signal.signal(signal.SIGALRM, lambda _, later: stop_on_signal(number, later, tries - 1))
        signal.setitimer(signal.ITIMER_REAL, 0.01)
    elif number == signal.SIGINT:
        raise KeyboardInterrupt
    else:
        raise TerminationRequested


def _cannot_raise(frame: FrameType) -> bool:
    # `Condition.wait` sets the variable `gotit` when it has released its lock, just before it waits. Callbacks of weak
    # references swallow errors.
    locking = frame.f_code in _LOCKING or (frame.f_code is _WAITING and "gotit" not in frame.f_locals)
    return locking or frame.f_globals.get("__name__") in ("weakref", "_weakrefset")
