"""Measure every regular expression of packages on texts that provoke backtracking; run as a separate process.

`python regex_sweep.py LENGTH LIMIT TEXTS SEED PACKAGES` prints, for each package, the number of patterns and a list of
those that took longer than LIMIT seconds. Each pattern is tried on TEXTS texts chosen with SEED, or on all of them if
TEXTS is 0.
"""

import ast
import importlib
import inspect
import json
import pkgutil
import random
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from elt_llm_api.serve.ui.mounting import import_gradio

_PIECES = (
    " ", "\n", "1", "1.", "1, ", ".", "- ", "-", "a", "A", "Aa Bb ", "a-", "a.", "(", "[1]", "<a ", "| ", "# a\n",
    "*", "a: ", "\"", "\u201ea ", "of the ", "1 of ", "a, ", "Source 1 ", "\u00a0", "\n- a", " \n", "_", "a/",
)  # fmt: skip
_ENDS = ("!\nZ",)
_ANCHORED = {"match", "fullmatch"}
Found = dict[str, Any]
Methods = Mapping[str, set[str]]


class _TookTooLong(Exception):
    """The alarm signal, which interrupts a running regular expression."""


def patterns_of(package: str) -> Iterator[tuple[str, "re.Pattern[str]"]]:
    """Return each pattern that a module of the package defines at import, with its location."""
    seen: set[tuple[str, int]] = set()
    root = importlib.import_module(package)
    for info in pkgutil.walk_packages(root.__path__, f"{package}."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for name, pattern in (*_held(module), *_written(module)):
            key = (str(pattern.pattern), pattern.flags)
            if isinstance(pattern.pattern, str) and key not in seen:
                seen.add(key)
                yield f"{info.name}.{name}", pattern


def _held(module: ModuleType) -> Iterator[tuple[str, "re.Pattern[Any]"]]:
    for name, value in vars(module).items():
        if not isinstance(value, type):
            yield from ((name, one) for one in _within(value, 4))
        elif value.__module__ == module.__name__:
            for field, inner in vars(value).items():
                yield from ((f"{name}.{field}", one) for one in _within(inner, 3))


def _written(module: ModuleType) -> Iterator[tuple[str, "re.Pattern[Any]"]]:
    """Return the patterns that functions compile when they are called."""
    source = inspect.getsource(module)
    for node in ast.walk(ast.parse(source if "re." in source else "")):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        owner, first = node.func.value, node.args[0]
        literal = isinstance(first, ast.Constant) and isinstance(first.value, str)
        if isinstance(owner, ast.Name) and owner.id == "re" and node.func.attr != "escape" and literal:
            flags = next((it for it in node.args[1:] if "re." in ast.unparse(it)), None)
            folded = re.IGNORECASE if flags and "IGNORECASE" in ast.unparse(flags) else 0
            yield f"line {node.lineno}", re.compile(str(ast.literal_eval(first)), folded)


def _within(value: object, depth: int) -> Iterator["re.Pattern[Any]"]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, tuple | list | set | frozenset):
        for one in value:
            yield from _within(one, depth - 1)
    elif depth and isinstance(value, Mapping):
        for pair in value.items():
            yield from _within(pair, depth)
    elif depth and hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        for one in vars(value).values() if hasattr(value, "__dict__") else ():
            yield from _within(one, depth - 1)


def _methods_called(sources: Iterable[str]) -> dict[str, set[str]]:
    """Return, for each name, the methods of regular expressions that the sources call on it."""
    methods: dict[str, set[str]] = {}
    call = re.compile(r"\b(\w+)\.(match|fullmatch|search|finditer|findall|sub|subn|split)\b")
    for source in sources:
        for name, method in call.findall(source):
            methods.setdefault(name, set()).add(method)
    return methods


def _ways(place: str, pattern: "re.Pattern[str]", called: Methods) -> Iterable[tuple[str, Callable[[str], object]]]:
    yield "fullmatch", pattern.fullmatch
    yield "match", pattern.match
    methods = called.get(place.rpartition(".")[2], set())
    # Patterns that are only matched at the start of a line are not searched for.
    if methods - _ANCHORED or not methods:
        yield "finditer", lambda text: sum(1 for _ in pattern.finditer(text))


def _slow(
    place: str, pattern: "re.Pattern[str]", texts: Iterable[tuple[str, str]], limit: float, called: Methods
) -> Iterator[Found]:
    for way, run in _ways(place, pattern, called):
        for piece, text in texts:
            signal.setitimer(signal.ITIMER_PROF, limit)
            try:
                run(text)
            except _TookTooLong:
                yield {"place": place, "pattern": pattern.pattern, "way": way, "text": piece, "length": len(text)}
                return
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)


def sweep(package: str, length: int, limit: float, sample: int, seed: int) -> tuple[int, list[Found]]:
    """Return the number of patterns, and those that took longer than `limit` CPU seconds for a text."""

    def too_long(*_: object) -> None:
        raise _TookTooLong

    signal.signal(signal.SIGPROF, too_long)
    texts = [(piece + end, piece * (length // len(piece)) + end) for piece in _PIECES for end in _ENDS]
    patterns = list(patterns_of(package))
    sources = [inspect.getsource(module) for name, module in sys.modules.items() if name.startswith("elt_llm_")]
    called = _methods_called(sources)
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    chosen = [chance.sample(texts, sample or len(texts)) for _ in patterns]
    slow = [_slow(place, it, tried, limit, called) for (place, it), tried in zip(patterns, chosen, strict=True)]
    return len(patterns), [found for every in slow for found in every]


if __name__ == "__main__":
    length, limit, sample, seed, *packages = sys.argv[1:]
    import_gradio()
    found = {package: sweep(package, int(length), float(limit), int(sample), int(seed)) for package in packages}
    sys.stdout.write(json.dumps(found))
