"""A watcher runs after every relevant change, and only a stop request ends it."""

import queue
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from elt_llm_core.errors import IngestError, LockHeld, UsageError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_ingest.run.watch import FileWatcher, WatchScope
from stored.folders import run_ingest, statuses, write_files

PATIENCE = 60.0  # seconds; only a hang takes so long


@dataclass
class RecordingListener:
    """A listener that stores the events of a watcher in order."""

    events: "queue.Queue[tuple[str, object]]" = field(default_factory=queue.Queue)
    seconds: list[float | None] = field(default_factory=list)

    def waiting(self, scope: WatchScope) -> None:
        self.events.put(("waiting", scope))

    def ended(self, result: object, seconds: float | None) -> None:
        self.seconds.append(seconds)
        self.events.put(("ended", result))

    def failed(self, error: Exception) -> None:
        self.events.put(("failed", error))

    def busy(self, error: LockHeld) -> None:
        self.events.put(("busy", error))

    def next(self, what: str) -> object:
        """Return the value of the next event of this kind."""
        while True:
            kind, value = self.events.get(timeout=PATIENCE)
            if kind == what:
                return value

    def has_no_event(self, seconds: float = 1.5) -> bool:
        """Whether no event arrives for a while."""
        try:
            self.events.get(timeout=seconds)
        except queue.Empty:
            return True
        return False


@contextmanager
def watching(scope: Callable[[], WatchScope], run: Callable[[], object]) -> Iterator[RecordingListener]:
    """Run a watcher in a thread and wait until it waits for changes."""
    listener = RecordingListener()
    watch = FileWatcher(scope, run, listener)
    thread = threading.Thread(target=watch.go)
    thread.start()
    try:
        listener.next("waiting")
        yield listener
    finally:
        watch.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_files(tmp_path / "docs", {"a.md": "# A\n\nAn anchor.\n", "b.md": "# B\n\nA basin.\n"}).resolve()


def _counter() -> Callable[[], int]:
    counted = iter(range(1000))
    return lambda: next(counted)


@pytest.mark.parametrize(
    ("name", "deleted", "expected"),
    [
        ("a.md", False, True),
        ("sub/deep/a.PDF", False, True),
        ("a.exe", False, False),
        ("a.exe", True, True),
        (".a.md", False, False),
        (".git/a.md", True, False),
        ("~$a.docx", False, False),
        ("a.md~", False, False),
        ("#a.md#", False, False),
        ("a.md.tmp", False, False),
        ("a.part", True, False),
        ("data/a.md", False, False),
        ("../other/a.md", False, False),
        ("../job.yaml", False, True),
        ("../job.yml", False, False),
    ],
)
def test_only_changes_of_files_that_can_be_ingested_trigger_an_ingest(name: str, deleted: bool, expected: bool) -> None:
    scope = WatchScope((Path("/p/docs"),), (Path("/p/job.yaml"),), (Path("/p/docs/data"),))
    path = Path("/p/docs") / name
    resolved = Path("/p", *path.parts[4:]) if ".." in name else path
    assert scope.concerns(resolved, deleted=deleted) is expected


def test_a_change_publishes_a_generation_and_its_duration_is_reported(docs: Path, tmp_path: Path) -> None:
    embedding = FakeEmbedding()
    run = lambda: run_ingest(tmp_path / "data", docs, embedding=embedding)  # noqa: E731
    with watching(lambda: WatchScope((docs,)), run) as listener:
        (docs / "a.md").write_text("# A\n\nAnother anchor.\n")
        report = listener.next("ended")
        assert statuses(report) == {"a.md": "ok", "b.md": "unchanged"}  # type: ignore[arg-type]  # a report
        assert listener.seconds[0] is None
        assert listener.seconds[1] is not None


def test_new_folders_and_moved_files_trigger_an_ingest(docs: Path, tmp_path: Path) -> None:
    write_files(tmp_path / "outside", {"deep/c.md": "# C\n"})
    run = lambda: {path.name for path in docs.rglob("*.md")}  # noqa: E731
    with watching(lambda: WatchScope((docs,)), run) as listener:
        write_files(docs, {"new/folder/d.md": "# D\n"})
        while "d.md" not in listener.next("ended"):  # type: ignore[operator]  # a set of names
            pass
        (tmp_path / "outside").rename(docs / "outside")
        while "c.md" not in listener.next("ended"):  # type: ignore[operator]
            pass
        shutil.rmtree(docs / "outside")
        while "c.md" in listener.next("ended"):  # type: ignore[operator]
            pass


def test_hidden_temporary_and_unsupported_files_are_ignored(docs: Path) -> None:
    with watching(lambda: WatchScope((docs,)), _counter()) as listener:
        write_files(docs, {".h.md": "x", "a.md.tmp": "x", "~$a.docx": "x", "tool.exe": "x", ".git/x.md": "x"})
        assert listener.has_no_event()


def test_a_failed_ingest_is_reported_and_the_next_change_starts_another_ingest(docs: Path) -> None:
    fails = iter([False, True, False])

    def run() -> str:
        if next(fails, False):
            raise IngestError("It rains.")
        return "fine"

    with watching(lambda: WatchScope((docs,)), run) as listener:
        (docs / "a.md").write_text("one")
        assert str(listener.next("failed")) == "It rains."
        (docs / "a.md").write_text("two")
        assert listener.next("ended") == "fine"


def test_a_usage_error_in_the_first_ingest_ends_watching(docs: Path) -> None:
    def run() -> str:
        raise UsageError("No such thing.")

    with pytest.raises(UsageError):
        FileWatcher(lambda: WatchScope((docs,)), run, RecordingListener()).go()


def test_the_watcher_waits_for_another_writer_and_reports_the_lock_once(docs: Path) -> None:
    held = threading.Event()

    def run() -> str:
        if held.is_set():
            raise LockHeld("held by process 7")
        return "done"

    with watching(lambda: WatchScope((docs,)), run) as listener:
        held.set()
        (docs / "a.md").write_text("one")
        assert "process 7" in str(listener.next("busy"))
        assert listener.has_no_event(2.5)
        held.clear()
        assert listener.next("ended") == "done"


def test_a_watched_folder_that_is_removed_and_restored_is_watched_again(docs: Path, tmp_path: Path) -> None:
    with watching(lambda: WatchScope((docs,)), docs.is_dir) as listener:
        docs.rename(tmp_path / "away")
        while listener.next("ended"):
            pass
        (tmp_path / "away").rename(docs)
        while not listener.next("ended"):
            pass
        listener.next("waiting")
        (docs / "a.md").write_text("again")
        assert listener.next("ended")


def test_a_changed_job_file_changes_the_watched_folders(docs: Path, tmp_path: Path) -> None:
    other = write_files(tmp_path / "other", {"c.md": "# C\n"}).resolve()
    job = tmp_path.resolve() / "job.yaml"
    job.write_text("docs")
    named = {"docs": docs, "other": other}
    with watching(lambda: WatchScope((named[job.read_text() or "docs"],), (job,)), _counter()) as listener:
        job.write_text("other")
        while listener.next("waiting") != WatchScope((other,), (job,)):
            pass
        while not listener.has_no_event():
            pass
        (other / "c.md").write_text("again")
        listener.next("ended")
        while not listener.has_no_event():
            pass
        (docs / "a.md").write_text("no longer watched")
        assert listener.has_no_event()
