"""Show the progress of long work on stderr: a live bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from elt_llm_api.display.text import STAGE_WORDS, count_noun, one_line, shorten_middle, strip_control_characters

if TYPE_CHECKING:
    from elt_llm_core.progress import ProgressListener
    from rich.progress import Progress, TaskID

_SECONDS_BETWEEN_LINES, _MOST_SECONDS_BETWEEN_LINES, _LINES_BY_TIME = 1.0, 30.0, 5
_BAR_WIDTH, _WIDTH_WITHOUT_DETAIL, _NARROWEST_DETAIL = 12, 78, 12  # characters


@contextmanager
def progress_display(*, quiet: bool) -> Iterator["ProgressListener"]:
    """Yield a listener that shows progress while the work runs; it shows nothing if `quiet`."""
    if quiet:
        from elt_llm_core.progress import SilentListener

        yield SilentListener()
    elif sys.stderr.isatty():
        with _create_bars() as bars:
            live = LiveProgress(bars)
            yield live
            live.finish()
    else:
        lines = LineProgress()
        yield lines
        lines.finish()


class LineProgress:
    """Prints count, rate and remaining time of a stage at growing intervals, and the total when the stage has ended."""

    def __init__(self) -> None:
        self._name, self._unit, self._total, self._done = "", "", 0, 0
        self._started = self._printed = time.monotonic()

    def stage(self, name: str, total: int) -> None:
        """Print the name of the stage, if there is anything to do."""
        self.finish()
        self._name, self._unit = STAGE_WORDS.get(name, (name, "step"))
        self._total, self._done = total, 0
        self._started = self._printed = time.monotonic()
        if total:
            click.echo(f"{self._name}: {total:,}", err=True)

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """Count finished items, and print the progress from time to time."""
        self._done += amount
        now = time.monotonic()
        interval = min(_MOST_SECONDS_BETWEEN_LINES, (now - self._started) / _LINES_BY_TIME)
        if now - self._printed >= max(_SECONDS_BETWEEN_LINES, interval):
            self._printed = now
            rate = self._done / (now - self._started)
            left = (self._total - self._done) / rate if rate else 0.0
            where = f", {one_line(detail)}" if detail else ""
            click.echo(f"  {self._done:,}/{self._total:,}, {rate:,.0f}/s, {left:.0f} s left{where}", err=True)

    def note(self, message: str) -> None:
        """Print one sentence on a line of its own."""
        click.echo(strip_control_characters(message), err=True)

    def finish(self) -> None:
        """Print the total of the stage, if it took at least a second."""
        seconds = time.monotonic() - self._started
        if self._done and seconds >= _SECONDS_BETWEEN_LINES:
            rate = self._done / seconds
            click.echo(f"  {count_noun(self._done, self._unit)} in {seconds:.1f} s, {rate:,.0f}/s", err=True)
        self._done = 0


class LiveProgress:
    """Shows a progress bar for each stage. The bar of a finished stage stays on the screen, with its duration."""

    def __init__(self, bars: "Progress") -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def stage(self, name: str, total: int) -> None:
        """Start a progress bar for the stage, if there is anything to do."""
        self.finish()
        words, unit = STAGE_WORDS.get(name, (name, "step"))
        if total:
            self._task = self._bars.add_task(words, total=total, unit=unit, detail="")

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """Advance the progress bar of the current stage."""
        if self._task is not None:
            room = max(_NARROWEST_DETAIL, self._bars.console.width - _WIDTH_WITHOUT_DETAIL)
            self._bars.update(self._task, advance=amount, detail=shorten_middle(one_line(detail), room))

    def note(self, message: str) -> None:
        """Print one sentence above the progress bars."""
        self._bars.console.print(strip_control_characters(message), markup=False, highlight=False)

    def finish(self) -> None:
        """Stop the bar of the current stage and leave it on the screen."""
        if self._task is not None:
            self._bars.update(self._task, detail="")
            self._bars.stop_task(self._task)
        self._task = None


def _create_bars() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
    from rich.table import Column
    from rich.text import Text

    class Figures(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(_progress_text(task))

    return Progress(
        TextColumn("{task.description}", table_column=Column(min_width=18, no_wrap=True)),
        BarColumn(_BAR_WIDTH, complete_style="cyan", finished_style="green", table_column=Column(min_width=_BAR_WIDTH)),
        Figures(table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[detail]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
        console=Console(stderr=True),
    )


def _progress_text(task: Any) -> str:
    """Return `120/400 files, 60/s, 5 s left` for a running stage, `400 files in 6.8 s, 59/s` for a finished one."""
    done, total, unit = int(task.completed), int(task.total), task.fields["unit"]
    seconds = task.elapsed or 0.0
    rate = f", {done / seconds:,.0f}/s" if seconds else ""
    if task.stop_time is not None:
        return f"{count_noun(done, unit)} in {seconds:.1f} s{rate}"
    left = f", {task.time_remaining:.0f} s left" if task.time_remaining is not None else ""
    return f"{done:,}/{count_noun(total, unit)}{rate}{left}"
