"""An ingest on a Ray cluster gives the same collection as one on this machine, whatever happens to the workers."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.errors import IngestError
from elt_llm_core.progress import ProgressListener, SilentListener
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.settings.tree import EmbeddingSettings, IngestSettings, Settings
from elt_llm_ingest.compute import ray_cluster
from elt_llm_ingest.run.report import IngestReport
from elt_llm_ingest.sandbox.guards import _PIN_FOLDER, _PREFIX, ParseLimits
from elt_llm_ingest.sandbox.parser import ParseRequest
from elt_llm_ingest.session import CollectionTask, IngestSession
from optional import needs
from processes.ray_clusters import actors_of, hidden_from_children, two_nodes
from stored.folders import generated_files, write_files

needs("ray")

FILES = 40


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ray-home")


@pytest.fixture(scope="module")
def cluster(home: Path) -> Iterator[Any]:
    with two_nodes(home) as started:
        yield started


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_files(tmp_path / "docs", generated_files(FILES))


class Interrupter(SilentListener):
    """A progress listener that calls a function after `after` steps of progress."""

    def __init__(self, after: int, action: Callable[[], object]) -> None:
        self._left, self._action = after, action

    def advance(self, amount: int = 1, detail: str = "") -> None:
        self._left -= 1
        if self._left == 0:
            self._action()


def ingest(
    folder: Path, docs: Path, address: str = "", listener: ProgressListener | None = None, **settings: str
) -> IngestReport:
    """Ingest as the command does, on this machine or on a cluster, with many small batches."""
    environment = {"ELT_LLM_EMBEDDING__PROVIDER": "fake", "ELT_LLM_EMBEDDING__BATCH_SIZE": "8", **settings}
    if address:
        # The cluster listens at every address of this machine; the tests may use loopback only.
        address = f"127.0.0.1:{address.rpartition(':')[2]}"
        environment |= {"ELT_LLM_INGEST__COMPUTE": "ray", "ELT_LLM_INGEST__RAY_ADDRESS": address}
    folder.mkdir(exist_ok=True)

    @contextmanager
    def progress() -> Iterator[ProgressListener]:
        yield listener or SilentListener()

    task = CollectionTask("docs", (docs,))
    with IngestSession(task, load_settings(None, environment, folder), {}, "test") as session:
        [report] = session.run(progress)
    assert isinstance(report, IngestReport)
    return report


def kill_an_actor(cluster: Any) -> None:
    actors = actors_of(cluster)
    assert len(actors) == 2
    os.kill(actors[0], signal.SIGKILL)


def test_a_collection_made_on_a_ray_cluster_has_the_same_hash_as_one_made_locally(
    cluster: Any, home: Path, tmp_path: Path, docs: Path
) -> None:
    (docs / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing more\n%%EOF\n")
    here = ingest(tmp_path / "local", docs)
    there = ingest(tmp_path / "ray", docs, cluster.address)
    assert there.collection_hash == here.collection_hash
    assert [(it.path, it.status, it.reason) for it in there.files] == [
        (it.path, it.status, it.reason) for it in here.files
    ]
    assert there.embedded == here.embedded >= FILES
    assert list(home.iterdir()) == []


@pytest.mark.ray
@pytest.mark.parametrize("after", [1, FILES + 2])
def test_an_ingest_gives_the_same_collection_if_an_actor_is_killed(
    cluster: Any, tmp_path: Path, docs: Path, after: int
) -> None:
    """The first actor is killed among the files, the second among the embedding batches."""
    here = ingest(tmp_path / "local", docs)
    killer = Interrupter(after, lambda: kill_an_actor(cluster))
    there = ingest(tmp_path / "ray", docs, cluster.address, killer)
    assert (there.collection_hash, there.exit_code) == (here.collection_hash, 0)
    ingest(tmp_path / "again", docs, cluster.address)
    assert [path for path in _PIN_FOLDER.glob(f"{_PREFIX}*/*/*.md") if not path.is_symlink()] == []


@pytest.mark.ray
def test_an_interrupted_ingest_on_a_cluster_resumes_where_it_stopped(cluster: Any, tmp_path: Path, docs: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(tmp_path / "ray", docs, cluster.address, Interrupter(FILES + 3, interrupt))
    assert actors_of(cluster) == []
    there = ingest(tmp_path / "ray", docs, cluster.address)
    here = ingest(tmp_path / "local", docs)
    assert there.collection_hash == here.collection_hash
    assert there.embedded < here.embedded


@pytest.mark.ray
def test_a_cluster_compute_works_again_after_each_kind_of_failure(
    cluster: Any, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"127.0.0.1:{cluster.address.rpartition(':')[2]}"
    settings = Settings(embedding=EmbeddingSettings(provider="fake"), ingest=IngestSettings(ray_address=address))
    requests = [ParseRequest(path, within=docs) for path in sorted(docs.rglob("*.md"))]
    with ray_cluster.RayCompute(settings, ParseLimits()) as compute:
        with monkeypatch.context() as patch:
            patch.setattr(ray_cluster, "_versions", lambda: {"Python": "0.0"})
            with pytest.raises(IngestError, match=r"but this machine has \w+ 0\.0"):
                compute.start()
        with monkeypatch.context() as patch:
            patch.setattr(ray_cluster, "_MOST_TRIES", 1)
            outcomes = compute.read_all(requests)
            next(outcomes)
            for actor in actors_of(cluster):
                os.kill(actor, signal.SIGKILL)
            with pytest.raises(IngestError, match="ended while they worked on the same batch"):
                list(outcomes)
        assert len(list(compute.read_all(requests))) == FILES


@pytest.mark.ray
def test_an_ingest_gives_the_same_collection_if_a_node_is_killed(home: Path, tmp_path: Path, docs: Path) -> None:
    here = ingest(tmp_path / "local", docs)
    with two_nodes(home) as own:
        node = own.list_all_nodes()[-1]
        killer = Interrupter(1, lambda: own.remove_node(node, allow_graceful=False))
        there = ingest(tmp_path / "ray", docs, own.address, killer)
        assert (there.collection_hash, there.exit_code) == (here.collection_hash, 0)


@pytest.mark.ray
def test_ray_actors_without_access_to_the_store_and_the_documents_give_the_same_collection(
    home: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    with ExitStack() as opened:
        with hidden_from_children(own):
            cluster = opened.enter_context(two_nodes(home))
        docs = write_files(own / "docs", generated_files(FILES))
        views: list[tuple[list[str], bool, Path]] = []

        def look() -> None:
            for actor in actors_of(cluster):
                process = Path(f"/proc/{actor}")
                seen = process / "root" / own.relative_to("/")
                views.append(([it.name for it in seen.iterdir()], any(own.iterdir()), (process / "cwd").readlink()))

        there = ingest(own / "ray", docs, cluster.address, Interrupter(1, look))
    here = ingest(own / "local", docs)
    assert (there.collection_hash, there.exit_code) == (here.collection_hash, 0)
    assert [(names, here) for names, here, _ in views] == [([], True), ([], True)]
    assert not [folder for *_, folder in views if folder.is_relative_to(own)]


@pytest.mark.ray
def test_ray_writes_nothing_into_the_home_folder_and_leaves_the_sigterm_handler_unchanged(
    cluster: Any, home: Path, tmp_path: Path, docs: Path
) -> None:
    handler = signal.getsignal(signal.SIGTERM)
    ingest(tmp_path / "ray", docs, cluster.address)
    assert signal.getsignal(signal.SIGTERM) == handler
    assert list(home.iterdir()) == []
    assert list(Path(os.environ["HOME"]).iterdir()) == []
