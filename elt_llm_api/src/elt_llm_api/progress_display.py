"""Progress of an ingest on stderr: a live line on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from elt_llm_api.render import one_line, plain

if TYPE_CHECKING:
    from elt_llm_core.progress import Progress
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

_SECONDS_BETWEEN_LINES = 1.0
_WORDS = {"read": "Reading files", "embed": "Embedding passages", "index": "Building the index"}


@contextmanager
def progress_display(*, quiet: bool) -> Iterator["Progress"]:
    """A listener for the time of the work; it says nothing if `quiet`."""
    if quiet:
        from elt_llm_core.progress import SilentProgress

        yield SilentProgress()
    elif sys.stderr.isatty():
        with _bars() as bars:
            yield LiveProgress(bars)
    else:
        yield LineProgress()


class LineProgress:
    """At most a line a second, each with count, rate and the time that is left."""

    def __init__(self) -> None:
        self._name, self._total, self._done = "", 0, 0
        self._began = self._said = time.monotonic()

    def stage(self, name: str, total: int) -> None:
        """Name the stage, if there is anything to do."""
        self._name, self._total, self._done = _WORDS.get(name, name), total, 0
        self._began = self._said = time.monotonic()
        if total:
            click.echo(f"{self._name}: {total}", err=True)

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """Count, and say so now and then."""
        self._done += amount
        now = time.monotonic()
        if now - self._said >= _SECONDS_BETWEEN_LINES:
            self._said = now
            rate = self._done / (now - self._began)
            left = (self._total - self._done) / rate if rate else 0.0
            where = f" {one_line(detail)}" if detail else ""
            click.echo(f"  {self._done}/{self._total}, {rate:.0f}/s, {left:.0f} s left{where}", err=True)

    def note(self, message: str) -> None:
        """One sentence on a line of its own."""
        click.echo(plain(message), err=True)


class LiveProgress:
    """One bar a stage, drawn by rich."""

    def __init__(self, bars: "Bars") -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def stage(self, name: str, total: int) -> None:
        """Begin a bar, if there is anything to do."""
        if self._task is not None:
            self._bars.update(self._task, detail="")
        self._task = self._bars.add_task(_WORDS.get(name, name), total=total, detail="") if total else None

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """Move the bar."""
        if self._task is not None:
            self._bars.update(self._task, advance=amount, detail=one_line(detail))

    def note(self, message: str) -> None:
        """One sentence above the bars."""
        self._bars.console.print(plain(message), markup=False, highlight=False)


def _bars() -> "Bars":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description:<20}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
        console=Console(stderr=True),
    )
