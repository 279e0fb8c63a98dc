"""Every kind of Compute gives the same documents and vectors, and an unusable cluster is refused with a hint."""

import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elt_llm_core.errors import IngestError, UnreadableDocument, UsageError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import EmbeddingSettings, IngestSettings, Settings
from elt_llm_ingest.compute import Compute, LocalCompute, create_compute
from elt_llm_ingest.compute.ray_cluster import RayActor, RayCompute
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers import ReaderOptions
from elt_llm_ingest.sandbox.guards import ParseLimits
from elt_llm_ingest.sandbox.parser import ParseRequest
from stored.folders import generated_files, write_files

LIMITS = ParseLimits(file_mb=1)
FAKE = EmbeddingSettings(provider="fake")


class ActorHere(RayCompute):
    """A Ray compute without Ray: the code of its actor runs in this process."""

    def __init__(self) -> None:
        super().__init__(Settings(embedding=FAKE, ingest=IngestSettings(ray_address="nowhere:1")), LIMITS)
        self.sent: list[Any] = []
        self._actor = RayActor(LIMITS, FAKE)

    def _stream(self, method: str, payloads: Iterator[list[Any]]) -> Iterator[Any]:
        for payload in payloads:
            self.sent.append(payload)
            yield getattr(self._actor, method)(payload)

    def close(self) -> None:
        self._actor._pool.close()


@pytest.fixture(params=["local", "ray"])
def compute(request: pytest.FixtureRequest) -> Iterator[Compute]:
    opened: Compute = LocalCompute(LIMITS, 1) if request.param == "local" else ActorHere()
    with opened:
        yield opened


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_files(tmp_path / "docs", generated_files(10))


def requests_of(docs: Path) -> list[ParseRequest]:
    return [ParseRequest(path, options=ReaderOptions(), within=docs) for path in sorted(docs.rglob("*.*"))]


def test_documents_are_returned_in_the_order_of_the_requests(compute: Compute, docs: Path) -> None:
    requests = requests_of(docs)
    for request, outcome in zip(requests, compute.read_all(requests), strict=True):
        assert isinstance(outcome, ParsedDocument)
        assert outcome.title == f"Note {int(request.path.stem.removeprefix('note-'))}"


def test_a_file_that_cannot_be_read_gives_a_reason_in_place_of_its_document(compute: Compute, docs: Path) -> None:
    (docs / "a-broken.pdf").write_bytes(b"%PDF-1.4\nnothing\n%%EOF\n")
    (docs / "b-large.md").write_bytes(b"x" * (1 << 21))
    (docs / "c-link.md").symlink_to("/etc/hostname")
    outcomes = list(compute.read_all(requests_of(docs)))
    reasons = [str(outcome) for outcome in outcomes if isinstance(outcome, UnreadableDocument)]
    assert len(outcomes) == 13
    assert [isinstance(outcome, UnreadableDocument) for outcome in outcomes[:3]] == [True, True, True]
    assert "PDF" in reasons[0] or "damaged" in reasons[0]
    assert reasons[1:] == ["is 2 MB, more than the limit of 1 MB", "is a symbolic link that leads out of the folder"]


def test_a_path_that_the_system_refuses_to_examine_does_not_affect_other_files(compute: Compute, docs: Path) -> None:
    requests = [ParseRequest(docs / f"{'x' * 300}.md", within=docs), *requests_of(docs)]
    first, *others = compute.read_all(requests)
    assert "File name too long" in str(first)
    assert all(isinstance(outcome, ParsedDocument) for outcome in others)


def test_vectors_are_returned_in_the_order_of_the_batches(compute: Compute) -> None:
    model = FakeEmbedding()
    batches: list[Sequence[str]] = [["One mast.", "Two keels."], ["Three sails."]]
    for batch, vectors in zip(batches, compute.embedding(model).embed_batches(batches), strict=True):
        assert np.array_equal(vectors, model.embed_texts(batch))


def test_an_embedding_model_gives_the_same_vectors_in_this_process_and_in_a_ray_actor(compute: Compute) -> None:
    model = FakeEmbedding()
    used = compute.embedding(model)
    [vectors] = used.embed_batches([["One mast."]])
    assert np.array_equal(vectors, model.embed_texts(["One mast."]))
    assert used.fingerprint == model.fingerprint
    assert used.token_spans("One mast.") == model.token_spans("One mast.")
    assert np.array_equal(used.embed_question("mast"), model.embed_question("mast"))


def test_a_ray_actor_gets_the_names_and_bytes_of_files_but_no_paths(docs: Path, tmp_path: Path) -> None:
    with ActorHere() as compute:
        list(compute.read_all(requests_of(docs)))
        list(compute.embedding(FakeEmbedding()).embed_batches([["One mast."]]))
        assert len(compute.sent) == 3  # two batches of files, one of texts
        assert str(tmp_path) not in repr(compute.sent)
        assert str(tmp_path) not in repr(vars(compute._actor))


def test_a_ray_actor_removes_the_temporary_files_of_a_killed_actor() -> None:
    code = "from elt_llm_ingest.sandbox.guards import own_folder; import os, signal; made = own_folder()"
    code += "; print(made.__enter__(), flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    folder = Path(killed.stdout.strip())
    assert folder.is_dir()
    ActorHere().close()
    assert not folder.exists()


def test_an_altered_result_of_a_ray_actor_is_refused(docs: Path) -> None:
    class Liar(ActorHere):
        def _stream(self, method: str, payloads: Iterator[list[Any]]) -> Iterator[Any]:
            for payload in payloads:
                yield [b'{"document": {"text": 7}}' for _ in payload] if method == "parse" else np.ones((1, 3))

    with Liar() as compute:
        outcomes = list(compute.read_all(requests_of(docs)))
        assert {str(outcome)[:52] for outcome in outcomes} == {"the result of the reader is not a valid document: a "}
        with pytest.raises(IngestError, match="vectors of the wrong shape"):
            list(compute.embedding(FakeEmbedding()).embed_batches([["One mast."]]))


def test_the_ingest_process_itself_calls_a_model_server_instead_of_the_ray_actors() -> None:
    settings = Settings(embedding=EmbeddingSettings(provider="ollama"), ingest=IngestSettings(ray_address="nowhere:1"))
    model = FakeEmbedding()
    assert RayCompute(settings, LIMITS).embedding(model) is model


@pytest.mark.network
def test_a_cluster_address_where_nothing_listens_is_reported_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    compute = create_compute(Settings(ingest=IngestSettings(compute="ray", ray_address=address)))
    with pytest.raises(IngestError, match=f"Nothing listens at {address}") as raised:
        compute.start()
    assert "ray start --head" in raised.value.hint


@pytest.mark.parametrize("address", ["auto", "ray://10.0.0.5:10001", "10.0.0.5", "10.0.0.5:port"])
def test_an_address_without_host_and_port_is_refused(address: str) -> None:
    compute = create_compute(Settings(ingest=IngestSettings(compute="ray", ray_address=address)))
    with pytest.raises(UsageError, match="not HOST:PORT"):
        compute.start()


def test_ray_without_an_address_is_refused_with_the_command_that_starts_a_cluster() -> None:
    with pytest.raises(UsageError, match="ray_address is not set") as raised:
        create_compute(Settings(ingest=IngestSettings(compute="ray")))
    assert "ray start --head" in raised.value.hint


@pytest.mark.parametrize("part", ["Python", "Ray", "elt-llm", "pypdfium2", "kreuzberg", "model"])
def test_a_cluster_node_with_another_version_is_reported_with_a_hint(part: str) -> None:
    compute = ActorHere()
    compute._expected = compute._actor.describe()
    with pytest.raises(IngestError, match=f"has {part} 0.0, but this machine has") as raised:
        compute._check_versions({**compute._actor.describe(), part: "0.0"})
    assert "same versions" in raised.value.hint
    with pytest.raises(IngestError, match=f"has no {part}, but this machine has"):
        compute._check_versions({**compute._actor.describe(), part: ""})
    compute.close()
