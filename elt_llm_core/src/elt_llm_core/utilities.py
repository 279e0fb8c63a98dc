"""Helpers for all modules: closing resources, failpoints for crash tests, and similar names for hints."""

import difflib
import errno
import os
import signal
import sys
import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NoReturn, Self


def onnx_library() -> ModuleType:
    """Import onnxruntime without its telemetry. Every module must import it through this function.

    Since 2026, onnxruntime sends events to Microsoft on Linux and macOS, too, and writes an identifier of the machine
    to the home folder, unless ORT_DISABLE_TELEMETRY is set before the first import:
    https://github.com/microsoft/onnxruntime/pull/27379.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    return import_module("onnxruntime")


class Closeable:
    """A resource that a `with` statement closes at the end of its block."""

    @abstractmethod
    def close(self) -> None:
        """Release the resource. A second call has no effect."""

    def __enter__(self) -> Self:
        """Return the resource, at the start of a `with` block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the resource, at the end of a `with` block."""
        self.close()


def close_if_possible(thing: object) -> None:
    """Close `thing` if it has a `close` method, such as a model that keeps connections to a server."""
    if callable(close := getattr(thing, "close", None)):
        close()


FAILPOINT_VARIABLE = "ELT_LLM_FAILPOINT"


class Failpoint(StrEnum):
    """The stages at which tests can interrupt the process."""

    DISCOVER = "discover"
    PARSE = "parse"
    CHUNK = "chunk"
    WRITE = "write"
    ENRICH = "enrich"
    EMBED = "embed"
    INDEX = "index"
    VERIFY = "verify"
    PUBLISH = "publish"
    COLLECT = "collect"
    FORGET = "forget"
    PURGE = "purge"
    EXPORT = "export"
    IMPORT = "import"
    BACKUP = "backup"
    MIGRATE = "migrate"


@contextmanager
def failpoint(name: Failpoint) -> Iterator[None]:
    """Interrupt the process at the start or the successful end of a stage, if a test requests that."""
    _trigger(f"{name}-before")
    yield
    _trigger(f"{name}-after")


CONDITIONS_LEFT_OUT = "conditions:leave-out"


def leaves_out_conditions() -> bool:
    """Return whether a test switches off callers' conditions, to show that row-level security alone is enough."""
    return os.environ.get(FAILPOINT_VARIABLE) == CONDITIONS_LEFT_OUT


def _trigger(place: str) -> None:
    """Interrupt this process at the COUNT-th call if ELT_LLM_FAILPOINT is PLACE:COUNT:ACTION (index-before:1:kill)."""
    plan = os.environ.get(FAILPOINT_VARIABLE, "")
    if not plan.startswith(f"{place}:"):
        return
    _, count, action = plan.split(":")
    if int(count) > 1:
        os.environ[FAILPOINT_VARIABLE] = f"{place}:{int(count) - 1}:{action}"
        return
    match action:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            time.sleep(3600)
        case "enospc" | "eio":
            number = errno.ENOSPC if action == "enospc" else errno.EIO
            raise OSError(number, os.strerror(number), place)


def nearest_name(wrong: str, known: Sequence[str]) -> str | None:
    """Return the known name that is most similar to `wrong`, or None if none is similar."""
    return next(iter(difflib.get_close_matches(wrong, known, n=1)), None)


def find_clone() -> Path | None:
    """Return the folder of the git clone that contains this file, or None if the package is installed from a wheel."""
    folder = Path(__file__).resolve().parents[3]
    return folder if (folder / "uv.lock").is_file() else None


def install_command(extra: str, *, in_clone: bool | None = None) -> str:
    """Return the command that installs an extra: with uv if this file is in a clone (`in_clone`), else with pip."""
    if in_clone is None:
        in_clone = find_clone() is not None
    return f"uv sync --inexact --extra {extra}" if in_clone else f'pip install "elt-llm[{extra}]"'


def exit_with_replacement(old: str, new: str) -> NoReturn:
    """Print that the command `old` was replaced by `new`, and exit with code 2 (wrong usage)."""
    sys.stderr.write(f"Error: {old} was replaced by: {new}\nSee docs/coming-from-elt-llm-rag.md.\n")
    raise SystemExit(2)


def nearest_names(wrong: str, known: Sequence[str]) -> str:
    """Return a hint with the names similar to `wrong`; if none is, with the first five names; "" if none is known."""
    if near := difflib.get_close_matches(wrong, known, n=3, cutoff=0.5):
        return f"Nearest: {', '.join(near)}."
    more = f" and {len(known) - 5:,} more" if len(known) > 5 else ""
    return f"Known: {', '.join(known[:5])}{more}." if known else ""
