"""Questions to an open engine build no model, open no index, import no module and start no thread.

The tests replace no code. A profile function records every call, and an audit hook records every opened file. Both also
record the opening of the engine, which proves that they work.
"""

import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.index.vector_index import VectorIndexPool
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.settings.tree import EmbeddingSettings, QuerySettings, Settings, StorageSettings
from elt_llm_core.store.store import open_store
from elt_llm_query.engine import Engine, open_engine
from model_servers.tiny_cross_encoder import write_tiny_cross_encoder
from sampling import FULL
from stored.filtered_library import FISH, fill
from stored.shelf import writing

pytestmark = pytest.mark.halved


QUESTIONS = [f"{FISH[number % 8]} {FISH[number // 8]} number {number}" for number in range(50 if FULL else 8)]
THREADS = 4
OWN_THREADS = {"ThreadPoolExecutor.__init__": 1}  # the threads of this test that ask
# Functions of our packages that make a model, an index, a client or a connection.
_FACTORIES = ("create_", "open_", "_open_", "build_", "load_", "_load_", "read_arrays", "read_keyword", "_connect")
# Classes whose objects must be built only once. Classes of results are made for every question, and are not listed.
_BUILT = re.compile(
    r"(?:Retriever|Reranker|Scorer|Answerer|Index|Store|Pool|Pipeline|Shaper|Selector|Reader|Caches?|Engine|Generation|"
    r"Database|Tokeni[sz]er|Embedding|Client|Executor|BM25|LLM|Strategy|Collection|CrossEncoder|Session)$"
)

_PER_QUESTION = {"build_messages", "SourceIndex.__init__"}  # made for each question, in spite of their names


class Watch:
    """A recorder of calls and audit events by phase; it ignores events between phases."""

    def __init__(self) -> None:
        self.phase = ""
        self.made: dict[str, Counter[str]] = {}
        self.opened: dict[str, list[str]] = {}

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Record events of all threads that started since `listening` under the name of the phase."""
        self.made[phase], self.opened[phase] = Counter(), []
        self.phase = phase
        try:
            yield
        finally:
            self.phase = ""

    def on_call(self, frame: FrameType, event: str, _: Any) -> None:
        """Record a call; `threading.setprofile` gets this function."""
        if self.phase and event == "call" and _makes(frame.f_code.co_filename, frame.f_code.co_qualname):
            self.made[self.phase][frame.f_code.co_qualname] += 1

    def on_event(self, event: str, given: tuple[Any, ...]) -> None:
        """Record an audit event; `sys.addaudithook` gets this function."""
        if self.phase and event in ("open", "import", "subprocess.Popen", "socket.connect"):
            self.opened[self.phase].append(f"{event} {given[0]}")


def _makes(path: str, name: str) -> bool:
    owner, _, method = name.rpartition(".")
    if name in _PER_QUESTION:
        return False
    if method == "__init__":
        return bool(_BUILT.search(owner)) and "/re/" not in path  # the module `re` has its own Tokenizer
    return "/elt_llm_" in path and method.startswith(_FACTORIES)


_WATCH = Watch()
_hooked: list[bool] = []


@pytest.fixture
def watch() -> Iterator[Watch]:
    """A recorder for this thread and all threads that start during the test."""
    if not _hooked:
        sys.addaudithook(_WATCH.on_event)  # a hook cannot be removed, hence only one
        _hooked.append(True)
    threading.setprofile(_WATCH.on_call)
    sys.setprofile(_WATCH.on_call)
    yield _WATCH
    sys.setprofile(None)
    threading.setprofile(None)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rebuilt")
    with writing(folder) as store:
        fill(store, FakeEmbedding())
    write_tiny_cross_encoder(folder / "models" / "ms-marco-MiniLM-L-6-v2", FISH)
    return folder


def ask_all(engine: Engine, questions: Sequence[str]) -> None:
    """Search and answer each question, with and without filters, from several threads."""

    def ask(question: str) -> None:
        engine.search(question, top_k=3)
        engine.search(question, where=["year>=2000", "kind in table,text"])
        engine.ask(question)

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(ask, questions))


def of_data(opened: Sequence[str], folder: Path) -> list[str]:
    """Return the events on stores, models, processes and the network, without files of the test runner."""
    ours = ("elt_llm", "llama_index", "chromadb", "bm25s", "onnxruntime", "tokenizers", "numpy", "pydantic")
    return [
        one
        for one in opened
        if not one.startswith(("open ", "import "))
        or one.startswith(f"open {folder}")
        or (one.startswith("import ") and one.split()[1].startswith(ours))
    ]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "query",
    [
        {},
        {"reranker_strategy": "cross-encoder"},
        {"reranker_strategy": "llm"},
        {"read_parents": True, "widen_sentences": 1, "use_mmr": True, "full_context_max_chunks": 10},
    ],
    ids=str,
)
def test_many_questions_from_four_threads_build_no_model_and_open_no_index(
    watch: Watch, data_dir: Path, query: dict[str, Any]
) -> None:
    settings = Settings(
        embedding=EmbeddingSettings(provider="fake"),
        query=QuerySettings.model_validate({"cache_size": 0, **query}),
        storage=StorageSettings(models_dir=data_dir / "models"),
    )
    llm = ScriptedLLM(["1: 7\n2: 3"] * 10_000)
    with watch.during("opening"):
        engine = open_engine(settings, data_dir, ["harbour", "market"], llm=llm)
    with engine:
        ask_all(engine, QUESTIONS[:8])  # the first questions read filter fields and start threads
        with watch.during("asking"):
            ask_all(engine, QUESTIONS)
    made = watch.made["opening"]
    assert {"create_embedding", "open_generation", "_connect", "BM25.__init__"} <= made.keys()
    assert {"SearchPipeline.__init__", "ThreadPoolExecutor.__init__", "create_reranker"} <= made.keys()
    assert any(one.startswith(f"open {data_dir}") for one in watch.opened["opening"])
    assert watch.made["asking"] == OWN_THREADS
    assert of_data(watch.opened["asking"], data_dir) == []


def test_the_first_search_opens_a_shared_index_once(watch: Watch, data_dir: Path) -> None:
    model = FakeEmbedding()
    with ExitStack() as opened:
        store = opened.enter_context(open_store(data_dir))
        indexes = opened.enter_context(VectorIndexPool(exact_below=0))
        generations = [
            opened.enter_context(open_generation(store, name, model.fingerprint, indexes))
            for name in ("harbour", "market")
        ]
        engine = opened.enter_context(Engine(generations, model, Settings(query=QuerySettings(cache_size=0))))
        with watch.during("first"):
            ask_all(engine, QUESTIONS[:8])
        with watch.during("asking"):
            ask_all(engine, QUESTIONS)
    assert watch.made["first"]["ChromaIndex.__init__"] == len(generations)
    assert watch.made["asking"] == OWN_THREADS


def test_questions_start_no_thread_beyond_the_threads_of_the_engine(data_dir: Path) -> None:
    settings = Settings(embedding=EmbeddingSettings(provider="fake"), query=QuerySettings(cache_size=0))
    count: Callable[[], int] = lambda: sum(one.name.startswith("retrieval") for one in threading.enumerate())  # noqa: E731
    before = count()
    with open_engine(settings, data_dir, ["harbour", "market"]) as engine:
        for _ in range(3):
            ask_all(engine, QUESTIONS[:10])
        assert count() - before <= 2 * 2  # two retrievers for each of two collections
    assert count() == before
