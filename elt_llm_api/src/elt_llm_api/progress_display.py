"""Progress of long work on stderr: a live line on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from elt_llm_api.render import counted, one_line, plain, shortened

if TYPE_CHECKING:
    from elt_llm_core.progress import Progress
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

_SECONDS_BETWEEN_LINES, _MOST_SECONDS_BETWEEN_LINES, _LINES_BY_TIME = 1.0, 30.0, 5
_BAR, _BESIDE_THE_DETAIL, _NARROWEST_DETAIL = 12, 78, 12  # characters
STAGE_WORDS = {
    "read": ("Reading files", "file"),
    "enrich": ("Asking the language model", "call"),
    "embed": ("Embedding passages", "passage"),
    "index": ("Building the index", "passage"),
    "ask": ("Asking questions", "question"),
    "gather": ("Gathering texts", "row"),
    "rows": ("Making rows", "row"),
}
"""What each stage is called, and one of what is counted in it."""


@contextmanager
def progress_display(*, quiet: bool) -> Iterator["Progress"]:
    """A listener for the time of the work; it says nothing if `quiet`."""
    if quiet:
        from elt_llm_core.progress import SilentProgress

        yield SilentProgress()
    elif sys.stderr.isatty():
        with _bars() as bars:
            live = LiveProgress(bars)
            yield live
            live.finish()
    else:
        lines = LineProgress()
        yield lines
        lines.finish()


class LineProgress:
    """Lines with count, rate and the time that is left, fewer as time goes on; one at the end of each stage."""

    def __init__(self) -> None:
        self._name, self._unit, self._total, self._done = "", "", 0, 0
        self._began = self._said = time.monotonic()

    def stage(self, name: str, total: int) -> None:
        """Name the stage, if there is anything to do."""
        self.finish()
        self._name, self._unit = STAGE_WORDS.get(name, (name, "step"))
        self._total, self._done = total, 0
        self._began = self._said = time.monotonic()
        if total:
            click.echo(f"{self._name}: {total:,}", err=True)

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """Count, and say so now and then."""
        self._done += amount
        now = time.monotonic()
        longer = min(_MOST_SECONDS_BETWEEN_LINES, (now - self._began) / _LINES_BY_TIME)
        if now - self._said >= max(_SECONDS_BETWEEN_LINES, longer):
            self._said = now
            rate = self._done / (now - self._began)
            left = (self._total - self._done) / rate if rate else 0.0
            where = f", {one_line(detail)}" if detail else ""
            click.echo(f"  {self._done:,}/{self._total:,}, {rate:,.0f}/s, {left:.0f} s left{where}", err=True)

    def note(self, message: str) -> None:
        """One sentence on a line of its own."""
        click.echo(plain(message), err=True)

    def finish(self) -> None:
        """Say what the stage came to, unless it took no time."""
        seconds = time.monotonic() - self._began
        if self._done and seconds >= _SECONDS_BETWEEN_LINES:
            rate = self._done / seconds
            click.echo(f"  {counted(self._done, self._unit)} in {seconds:.1f} s, {rate:,.0f}/s", err=True)
        self._done = 0


class LiveProgress:
    """One bar a stage, drawn by rich; when it is full it tells how long it took."""

    def __init__(self, bars: "Bars") -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def stage(self, name: str, total: int) -> None:
        """Begin a bar, if there is anything to do."""
        self.finish()
        words, unit = STAGE_WORDS.get(name, (name, "step"))
        if total:
            self._task = self._bars.add_task(words, total=total, unit=unit, detail="")

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """Move the bar."""
        if self._task is not None:
            room = max(_NARROWEST_DETAIL, self._bars.console.width - _BESIDE_THE_DETAIL)
            self._bars.update(self._task, advance=amount, detail=shortened(one_line(detail), room))

    def note(self, message: str) -> None:
        """One sentence above the bars."""
        self._bars.console.print(plain(message), markup=False, highlight=False)

    def finish(self) -> None:
        """Leave the bar of the present stage as it is."""
        if self._task is not None:
            self._bars.update(self._task, detail="")
            self._bars.stop_task(self._task)
        self._task = None


def _bars() -> "Bars":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
    from rich.table import Column
    from rich.text import Text

    class Figures(ProgressColumn):
        """Count, rate, and the time that is left or was taken."""

        def render(self, task: Any) -> Text:
            """The figures of one bar."""
            return Text(_figures(task))

    return Progress(
        TextColumn("{task.description}", table_column=Column(min_width=18, no_wrap=True)),
        BarColumn(_BAR, complete_style="cyan", finished_style="green", table_column=Column(min_width=_BAR)),
        Figures(table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[detail]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
        console=Console(stderr=True),
    )


def _figures(task: Any) -> str:
    """`120/400 files, 60/s, 5 s left` of a bar under way, `400 files in 6.8 s, 59/s` of one that ended."""
    done, total, unit = int(task.completed), int(task.total), task.fields["unit"]
    seconds = task.elapsed or 0.0
    rate = f", {done / seconds:,.0f}/s" if seconds else ""
    if task.stop_time is not None:
        return f"{counted(done, unit)} in {seconds:.1f} s{rate}"
    left = f", {task.time_remaining:.0f} s left" if task.time_remaining is not None else ""
    return f"{done:,}/{counted(total, unit)}{rate}{left}"
