"""Watch files and run an ingest after each change. Between runs, no lock is held and no store is open."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from elt_llm_core.errors import EltError, LockHeld, UsageError

from elt_llm_ingest.readers import SUPPORTED_SUFFIXES, readable_suffixes

Result = TypeVar("Result")
Result_contra = TypeVar("Result_contra", contravariant=True)

_SETTLE_MS = 300  # changes that follow each other within this time start only one run
_LOOK_SECONDS = 0.5
_RETRY_SECONDS = 1.0
_TICK_MS = 100
_READY_SECONDS = 60.0  # it takes time to start watching very many folders
_TEMPORARY_SUFFIXES = frozenset({".tmp", ".temp", ".part", ".partial", ".crdownload", ".swp", ".swx", ".bak", ".lock"})


@dataclass(frozen=True)
class WatchScope:
    """What to watch: folders with everything below them, and single files, except in ignored folders."""

    folders: tuple[Path, ...]
    files: tuple[Path, ...] = ()
    ignored: tuple[Path, ...] = ()

    def concerns(self, path: Path, *, deleted: bool) -> bool:
        """Return whether a change of `path` may affect an ingest. Changes of hidden and temporary files do not."""
        if path in self.files:
            return True
        root = next((folder for folder in self.folders if path.is_relative_to(folder)), None)
        if root is None or any(path.is_relative_to(folder) for folder in self.ignored):
            return False
        if any(part.startswith(".") for part in path.relative_to(root).parts) or _is_temporary(path.name):
            return False
        # A deleted path may have been a folder.
        return deleted or path.suffix.lower() in SUPPORTED_SUFFIXES | readable_suffixes() or path.is_dir()


def _is_temporary(name: str) -> bool:
    return name.startswith(("~$", "#")) or name.endswith("~") or Path(name).suffix.lower() in _TEMPORARY_SUFFIXES


class WatchListener(Protocol[Result_contra]):
    """Receives a watcher's events. All calls come from one thread."""

    def waiting(self, scope: WatchScope) -> None:
        """Report that the collections are up to date and that the watcher waits for changes."""

    def ended(self, result: Result_contra, seconds: float | None) -> None:
        """Report the result of a run, which ended `seconds` after a change was noticed (None: the first run)."""

    def failed(self, error: Exception) -> None:
        """Report that a run failed. The next change starts another run."""

    def busy(self, error: LockHeld) -> None:
        """Report that another process is writing, and that the run waits for it."""


class FileWatcher(Generic[Result]):
    """Starts an ingest at once, and then after every change.

    `scope` returns the paths to watch. It is called before the first run and after each run, because a job may have
    changed. `run` runs one ingest: it takes the lock and opens the store.
    """

    def __init__(
        self, scope: Callable[[], WatchScope], run: Callable[[], Result], listener: WatchListener[Result]
    ) -> None:
        self._scope, self._run, self._listener = scope, run, listener
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Make `go` return soon. Any thread may call this method."""
        self._stopped.set()

    def go(self) -> None:
        """Run an ingest at once and after each change, until `stop` is called or the user interrupts.

        Raises the errors of the first call of `scope`, a UsageError of the first run, and an EltError if a path cannot
        be watched. Other failed runs are reported to the listener. If `scope` fails later, the last paths stay watched.
        """
        scope = self._scope()
        first: float | None = None
        while not self._stopped.is_set():
            with _watch_changes(scope) as changes:
                states = _folder_states(scope)
                self._run_once(first)
                scope = self._after(scope)
                while not self._stopped.is_set() and states == _folder_states(scope):
                    seen = _next_change(changes)
                    if seen is not None:
                        self._run_once(seen)
                        scope = self._after(scope)
            first = time.monotonic()

    def _after(self, before: WatchScope) -> WatchScope:
        """Return the paths to watch from now on. If they cannot be determined, these are the previous paths."""
        try:
            scope = self._scope()
        except (EltError, OSError):
            return before
        self._listener.waiting(scope)
        return scope

    def _run_once(self, seen: float | None) -> None:
        reported = False
        while not self._stopped.is_set():
            try:
                result = self._run()
            except LockHeld as error:
                if not reported:
                    self._listener.busy(error)
                reported = True
                self._stopped.wait(_RETRY_SECONDS)
            except (EltError, OSError) as error:
                if seen is None and isinstance(error, UsageError):
                    raise  # the request itself is invalid
                return self._listener.failed(error)
            else:
                return self._listener.ended(result, None if seen is None else time.monotonic() - seen)
        return None


def _next_change(changes: "queue.Queue[float | Exception]") -> float | None:
    """Return the time of the first waiting change, or None if there is no change within half a second."""
    first: float | None = None
    with suppress(queue.Empty):
        change = changes.get(timeout=_LOOK_SECONDS)
        while True:
            if isinstance(change, Exception):
                raise change
            first = change if first is None else first
            change = changes.get_nowait()
    return first


def _folder_states(scope: WatchScope) -> list[object]:
    """Return a value that changes if a watched folder itself is replaced or removed: no event reports that."""
    states: list[object] = [scope]
    for folder in scope.folders:
        try:
            status = folder.stat()
        except OSError:
            states.append(None)
        else:
            states.append((status.st_dev, status.st_ino))
    return states


@contextmanager
def _watch_changes(scope: WatchScope) -> "Iterator[queue.Queue[float | Exception]]":
    """Yield a queue of the times of changes, which threads fill even while an ingest runs."""
    changes: queue.Queue[float | Exception] = queue.Queue()
    stop = threading.Event()
    folders = [folder for folder in scope.folders if folder.is_dir()]
    around = sorted({file.parent for file in scope.files if file.parent.is_dir()})
    listened = [(paths, recursive) for paths, recursive in ((folders, True), (around, False)) if paths]
    ready = threading.Barrier(len(listened) + 1)
    threads = [
        threading.Thread(target=_collect_changes, args=(*what, scope, changes, stop, ready), daemon=True, name="watch")
        for what in listened
    ]
    for thread in threads:
        thread.start()
    try:
        with suppress(threading.BrokenBarrierError):  # the error is in the queue
            ready.wait(_READY_SECONDS)
        yield changes
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=1.0)


def _collect_changes(
    paths: list[Path],
    recursive: bool,
    scope: WatchScope,
    changes: "queue.Queue[float | Exception]",
    stop: threading.Event,
    ready: threading.Barrier,
) -> None:
    from watchfiles import Change, watch

    def concerns(change: Change, path: str) -> bool:
        return scope.concerns(Path(path), deleted=change is Change.deleted)

    started = False
    try:
        for seen in watch(
            *paths,
            watch_filter=concerns,
            debounce=_SETTLE_MS,
            stop_event=stop,
            rust_timeout=_TICK_MS,
            yield_on_timeout=True,
            recursive=recursive,
            ignore_permission_denied=True,
        ):
            if seen:
                changes.put(time.monotonic())
            if not started:
                started = True
                ready.wait(_READY_SECONDS)
    except (OSError, RuntimeError) as error:  # a broken barrier is a RuntimeError too
        hint = "On Linux, increase fs.inotify.max_user_watches, or watch fewer folders."
        changes.put(EltError(f"{', '.join(map(str, paths))} cannot be watched: {error}", hint=hint))
        ready.abort()
