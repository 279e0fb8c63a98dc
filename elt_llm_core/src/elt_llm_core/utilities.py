"""Helpers for all modules: imports of libraries, closing, failpoints for crash tests, and similar names for hints."""

import ast
import difflib
import errno
import os
import signal
import sys
import time
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from importlib import import_module, metadata
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NoReturn, Self

from elt_llm_core.errors import UsageError


def onnx_library() -> ModuleType:
    """Import onnxruntime without its telemetry. Every module must import it through this function.

    Since 2026, onnxruntime sends events to Microsoft on Linux and macOS, too, and writes an identifier of the machine
    to the home folder, unless ORT_DISABLE_TELEMETRY is set before the first import:
    https://github.com/microsoft/onnxruntime/pull/27379.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    return import_module("onnxruntime")


def import_llama_index_on_demand() -> None:
    """Let the packages of LlamaIndex import their modules on first use. Call this before LlamaIndex is imported.

    The `__init__` files of llama-index-core import all of it, SQLAlchemy and its workflows included, although few of
    its classes are used here: 0.75 of the 2.6 seconds of `elt-llm ask`. It is for whole programs: only the process
    that calls it is changed, and a library would change the program of somebody else.
    """
    if not any(finder is _LlamaIndexFinder for finder in sys.meta_path):
        sys.meta_path.insert(0, _LlamaIndexFinder)


class _LlamaIndexFinder:
    """Finds the modules of llama-index-core as usual, and its packages with another loader."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, _target: ModuleType | None = None) -> ModuleSpec | None:
        if not name.startswith("llama_index.core"):
            return None
        spec = PathFinder.find_spec(name, path)
        if spec and spec.submodule_search_locations is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _OnDemandLoader(name, spec.loader.path)
        return spec


class _OnDemandLoader(SourceFileLoader):
    """Runs the `__init__` of a package without its imports of LlamaIndex, which `_OnDemandPackage` does later."""

    def __init__(self, name: str, path: str) -> None:
        super().__init__(name, path)
        self._origins: dict[str, tuple[str, str]] = {}

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if self._origins:
            module.__dict__["_origins"] = self._origins
            module.__class__ = _OnDemandPackage

    def get_code(self, fullname: str) -> CodeType | None:
        origins: dict[str, tuple[str, str]] = {}
        remaining: list[ast.stmt] = []
        for statement in ast.parse(self.get_data(self.path)).body:
            match statement:
                case ast.ImportFrom(module=str(source), names=names, level=0) if source.startswith("llama_index."):
                    origins |= {each.asname or each.name: (source, each.name) for each in names}
                case ast.Assign(targets=[ast.Name(alias)], value=ast.Name(name)) if name in origins:
                    origins[alias] = origins[name]
                case ast.AnnAssign(target=target, value=ast.expr() as value):  # the type may be a name to import later
                    remaining.append(ast.copy_location(ast.Assign([target], value), statement))
                case _:
                    remaining.append(statement)
        used = {node.id for statement in remaining for node in ast.walk(statement) if isinstance(node, ast.Name)}
        if used & origins.keys():
            return super().get_code(fullname)
        self._origins = origins
        return self.source_to_code(ast.fix_missing_locations(ast.Module(remaining, [])), self.path)


class _OnDemandPackage(ModuleType):
    """A package that imports each of its names from the module that defines it when the name is first used."""

    def __getattr__(self, name: str) -> Any:
        if name not in self.__dict__["_origins"]:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        source, original = self.__dict__["_origins"][name]
        value = getattr(import_module(source), original)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.__dict__["_origins"]]


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


def check_type(argument: str, value: object, kind: Any, wanted: str, hint: str = "") -> None:
    """Raise UsageError if an argument is not of these types, which `wanted` names. True and False are not numbers."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise UsageError(f"{argument} is {type_name(value)}, not {wanted}.", hint=hint)


def check_texts(argument: str, value: object) -> None:
    """Raise UsageError if an argument is not a list of texts. The letters of a text would be taken for its elements."""
    if isinstance(value, str):
        raise UsageError(f"{argument}={value!r} is a text, not a list.", hint=f"Write {argument}=[{value!r}].")
    check_type(argument, value, () if isinstance(value, Mapping) else Collection, "a list of texts")
    for place, item in enumerate(value):  # type: ignore[arg-type, var-annotated]  # as checked
        check_type(f"{argument}[{place}]", item, str, "a text")


def type_name(value: object) -> str:
    """Return the type of a value as error messages name it, such as `None` or `an object of type int`."""
    return "None" if value is None else f"an object of type {type(value).__name__}"


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


def installed_version(distribution: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


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
