"""Run work in a process that is killed after a time, or exactly before one of its steps.

The processes are forked from one that has the heavy libraries imported, so that a kill costs little.
"""

import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing.context import ForkServerContext
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, Literal

import numpy as np
from elt_llm_core.collection.exporting import export_collection
from elt_llm_core.collection.forgetting import forget
from elt_llm_core.collection.importing import import_collection
from elt_llm_core.collection.lifecycle import collect_garbage, drop, open_generation, roll_back
from elt_llm_core.collection.purging import purge
from elt_llm_core.collection.verification import repair, verify_collection
from elt_llm_core.errors import EltError, StoreError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import GRAPH_FROM, IndexSettings
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.database import STORE_NAME, SqliteDatabase
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.migrations import migrate
from elt_llm_core.store.store import Store, open_store
from elt_llm_core.utilities import FAILPOINT_VARIABLE
from llama_index.core.vector_stores.types import VectorStoreQuery
from numpy.typing import NDArray
from stored.folders import run_ingest
from stored.shelf import COLLECTION, writing

Action = Literal["create", "ingest", "heal", "roll_back", "drop", "forget", "purge", "import", "export"]
Listener = Callable[[str], None]
HEAVY = (
    "elt_llm_core.collection.forgetting",
    "elt_llm_core.collection.importing",
    "elt_llm_core.collection.purging",
    "elt_llm_core.collection.verification",
    "elt_llm_core.index.chroma",
    "elt_llm_core.models.fakes",
    "elt_llm_ingest.pipeline",
    "elt_llm_ingest.chunkers.markdown",
    "elt_llm_ingest.readers.markdown",
)


@dataclass(frozen=True)
class Work:
    """One command on one data directory; `folder` is the input of an ingest or an import.

    `document` is the document to forget, `failpoint` the name of a step to fail at; see `elt_llm_core.utilities`.
    """

    action: Action
    data_dir: Path
    folder: Path | None = None
    document: str = ""
    failpoint: str = ""
    workspace: Workspace | None = None
    """The workspace of an ingest, if it is not one with SQLite in `data_dir`."""
    graph_from: int = GRAPH_FROM
    index: IndexSettings | None = None


@dataclass(frozen=True)
class Scene:
    """One ingest to kill: the data directory it starts from (None: a new one), its folder, and the expected result.

    `hashes` are those of the published collection before and after; `seconds` is roughly its duration. Vectors are
    searched with usearch from `graph_from` chunks on, and with Chroma below.
    """

    before: Path | None
    folder: Path
    hashes: tuple[str | None, str]
    seconds: float
    graph_from: int = GRAPH_FROM

    def set_up(self, place: Path) -> Work:
        """Prepare the ingest in a separate data directory."""
        if self.before is not None:
            shutil.copytree(self.before, place)
        return Work("ingest", place, self.folder, graph_from=self.graph_from)


@dataclass(frozen=True)
class Moment:
    """The moment before the `count`-th (from 1) SQL statement starting with `what`, or audit event of this name."""

    kind: Literal["statement", "event"]
    what: str
    count: int = 1


class SlowEmbedding(FakeEmbedding):
    """A fake embedding that takes a hundredth of a second per batch, so that kills also happen while embedding."""

    def embed_texts(self, texts: Any) -> NDArray[np.float32]:
        """Embed like the fake, after a pause."""
        time.sleep(0.01)
        return super().embed_texts(texts)


def do(work: Work, listener: Listener | None = None) -> None:
    """Run the command of `work` in this process. `listener` gets each SQL statement before it runs."""
    if work.failpoint:
        os.environ[FAILPOINT_VARIABLE] = work.failpoint
    if work.action == "create":
        _create(work.data_dir, listener)
    elif work.action == "ingest":
        assert work.folder is not None
        run_ingest(
            work.workspace or work.data_dir,
            work.folder,
            embedding=SlowEmbedding(),
            batch_size=16,
            listener=listener,
            graph_from=work.graph_from,
            index=work.index,
        )
    else:
        with writing(work.data_dir, listener) as store:
            _change(store, work)


def do_unless_cut(work: Work) -> None:
    """Run the command of `work`. If the connection to the database is lost, end without an error."""
    with suppress(StoreError):
        do(work)


def _create(data_dir: Path, listener: Listener | None) -> None:
    """Create a store, as the first opening does."""
    with writer_lock(data_dir, "test"):
        database = SqliteDatabase(data_dir / STORE_NAME, for_writing=True)
        database._connection.set_trace_callback(listener)
        migrate(database)
        database.close()


def _change(store: Store, work: Work) -> None:
    match work.action:
        case "heal":
            repair(store, verify_collection(store, COLLECTION).damage, SilentListener())
            collect_garbage(store, 2)
        case "roll_back":
            roll_back(store, COLLECTION)
        case "forget":
            forget(store, COLLECTION, work.document, SilentListener())
        case "purge":
            purge(store, [], SilentListener())
        case "import":
            assert work.folder is not None
            import_collection(store, work.folder, SilentListener())
        case "export":
            assert work.folder is not None
            export_collection(store, COLLECTION, work.folder, force=True)
        case _:
            drop(store, COLLECTION)


@cache
def processes() -> ForkServerContext:
    """Return the context that forks processes from a server with the heavy libraries imported."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(HEAVY))
    return context


def killed_after(work: Work, seconds: float) -> bool:
    """Start the work and kill it after a time; return whether it was still running."""
    began = processes().Event()
    process = processes().Process(target=_begin, args=(work, began))
    process.start()
    assert began.wait(60)
    process.join(seconds)
    alive = process.is_alive()
    process.kill()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return alive


def killed_within(set_up: Callable[[Path], Work], place: Path, seconds: float, number: int) -> Work:
    """Kill work at a moment within its duration that depends on the number, and return what was killed.

    `set_up` prepares the work in a folder. If the work ends before its moment, it is repeated with an earlier one.
    """
    share = random.Random(number).random()  # noqa: S311 - repeatable, not secret
    for attempt in range(8):
        (folder := place / f"attempt-{attempt}").mkdir()
        work = set_up(folder)
        if killed_after(work, share * seconds):
            return work
        share /= 2
    raise AssertionError("the work always ended before it was killed")


def seconds_of(work: Work) -> float:
    """Do the work in a process, and return its duration without the start of the process."""
    taken = processes().Value("d", 0.0)
    process = processes().Process(target=_measure, args=(work, taken))
    process.start()
    process.join()
    assert process.exitcode == 0
    return float(taken.value)


def killed_while_building(work: Work, share: float, seconds: float) -> bool:
    """Start an ingest and kill it `share` of `seconds` after the first byte of its generation.

    Returns whether the generation was not yet published.
    """
    began, published = processes().Event(), processes().Event()
    process = processes().Process(target=_build, args=(work, began, published))
    process.start()
    assert began.wait(60)
    time.sleep(share * seconds)
    unfinished = not published.is_set()
    process.kill()
    process.join()
    return unfinished and not published.is_set()


def seconds_to_build(work: Work) -> float:
    """Ingest in a process, and return the time from the first byte of the generation to the end of publishing."""
    began, published = processes().Event(), processes().Event()
    process = processes().Process(target=_build, args=(work, began, published))
    process.start()
    assert began.wait(60)
    started = time.monotonic()
    assert published.wait(60)
    taken = time.monotonic() - started
    process.join()
    return taken


def killed_at(work: Work, moment: Moment) -> bool:
    """Start the work, which kills itself at a moment; return whether the moment was reached."""
    process = processes().Process(target=_do_until, args=(work, moment))
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return process.exitcode != 0


def killed_by_failpoint(work: Work) -> bool:
    """Do the work in a process with its failpoint set; return whether the failpoint killed it."""
    process = processes().Process(target=do, args=(work,))
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return process.exitcode != 0


def _begin(work: Work, began: Event) -> None:
    began.set()
    do(work)


def _measure(work: Work, taken: Any) -> None:
    started = time.monotonic()
    do(work)
    taken.value = time.monotonic() - started


def _build(work: Work, began: Event, published: Event) -> None:
    def notice_folder(event: str, arguments: tuple[object, ...]) -> None:
        if event == "os.mkdir" and "building-" in str(arguments[0]):
            began.set()

    def notice_statement(statement: str) -> None:
        if statement.startswith("INSERT INTO files"):
            published.set()

    sys.addaudithook(notice_folder)
    do(work, notice_statement)


def _do_until(work: Work, moment: Moment) -> None:
    countdown = _Countdown(moment)
    if moment.kind == "event":
        sys.addaudithook(lambda event, _: countdown.step(event))
        do(work)
    else:
        do(work, countdown.step)


class _Countdown:
    def __init__(self, moment: Moment) -> None:
        self._what, self._left = moment.what, moment.count

    def step(self, name: str) -> None:
        if name.startswith(self._what):
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def ask(data_dir: str, questions: list[str], start: Any, answers: Any) -> None:
    """Wait for the start, then search the published generation; report ids and texts for each question, or an error."""
    model = FakeEmbedding()
    start.wait(60)
    try:
        with open_store(Path(data_dir)) as store, open_generation(store, COLLECTION, model.fingerprint) as generation:
            found = []
            for question in questions:
                vector = model.embed_question(question).tolist()
                result = generation.vector_store.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=5))
                words = generation.keyword.scores(question)
                texts = [node.text for node in generation.nodes(result.ids or [])]
                found.append((result.ids, texts, int(words.argmax())))
            answers.put((list(generation.notes), found))
    except EltError as error:
        answers.put(([repr(error)], []))


def read_repeatedly(data_dir: str, stop: Any, answers: Any) -> None:
    """Open and read the published generation until the stop event; report the generations seen, and the errors.

    Generation n must contain n documents of four chunks each.
    """
    seen: set[int] = set()
    faults: list[str] = []
    with open_store(Path(data_dir)) as store:
        answers.put("reading")
        while not stop.is_set():
            try:
                with open_generation(store, COLLECTION) as generation:
                    nodes = generation.nodes(generation.ids)
                    if len(nodes) != 4 * generation.number or generation.notes:
                        faults.append(f"generation {generation.number}: {len(nodes)} nodes, {generation.notes}")
                    seen.add(generation.number)
            except EltError as error:
                faults.append(repr(error))
    answers.put((sorted(seen), faults))


def ingest_within(data_dir: str, folder: str, most_bytes: int, answers: Any) -> None:
    """Ingest in a process that cannot write a file longer than `most_bytes`; return the outcome."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    try:
        report = run_ingest(Path(data_dir), Path(folder))
        answers.put(("ok", report.collection_hash, ""))
    except EltError as error:
        answers.put((type(error).__name__, str(error), error.hint))
