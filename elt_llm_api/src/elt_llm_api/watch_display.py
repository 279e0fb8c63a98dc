"""What a watch says: the first report in full, then a line for each change that was published."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING

import click

from elt_llm_api.progress_display import progress_display
from elt_llm_api.render import plain, print_error
from elt_llm_api.render_ingest import published_lines, trouble_lines

if TYPE_CHECKING:
    from elt_llm_core.errors import LockHeld
    from elt_llm_core.progress import Progress
    from elt_llm_ingest.jobs import JobReport
    from elt_llm_ingest.report import IngestReport
    from elt_llm_ingest.watch import Scope


class WatchDisplay:
    """Listens to a watch. `show` prints the reports of its first run."""

    def __init__(self, show: "Callable[[Sequence[IngestReport | JobReport]], None]") -> None:
        self._show = show
        self._watched: Scope | None = None
        self._shown = False
        self._trouble: frozenset[str] = frozenset()

    def progress(self) -> "AbstractContextManager[Progress]":
        """Progress is told for the first run only: a change takes no time to speak of."""
        return progress_display(quiet=self._shown)

    def waiting(self, scope: "Scope") -> None:
        """Say what is watched, once, and again if that changed."""
        if scope != self._watched:
            names = ", ".join(map(str, (*scope.folders, *scope.files)))
            click.echo(f"Watching {plain(names)}. Ctrl-C ends it.", err=True)
        self._watched = scope

    def ended(self, result: "Sequence[IngestReport | JobReport]", seconds: float | None) -> None:
        """The first report, or what changed."""
        before, self._trouble = self._trouble, frozenset(trouble_lines(result))
        if seconds is None or not self._shown:
            self._shown = True
            self._show(result)
            return
        for line in (*published_lines(result, seconds), *(it for it in trouble_lines(result) if it not in before)):
            click.echo(f"{_clock()}  {line}")

    def failed(self, error: Exception) -> None:
        """Why a run could not be done."""
        from elt_llm_core.errors import EltError

        expected = error if isinstance(error, EltError) else EltError(str(error))
        print_error(expected, as_json=False)

    def busy(self, error: "LockHeld") -> None:
        """Who is waited for."""
        click.echo(f"{_clock()}  Waiting: {plain(str(error))}", err=True)


def _clock() -> str:
    """The time of day here."""
    return datetime.now().astimezone().strftime("%H:%M:%S")
