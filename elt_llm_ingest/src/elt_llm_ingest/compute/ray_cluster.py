"""Parse and embed in actors of a Ray cluster. Needs the extra `ray`.

Actors get the names and bytes of files, or texts, and return JSON and arrays. They never get the store, its path or the
path of a source. Ray only runs the actors: this module retries batches, keeps their order and compares versions.
"""

import importlib.metadata
import logging
import os
import platform
import re
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from elt_llm_core.errors import EltError, IngestError, UnreadableDocument, UsageError
from elt_llm_core.models.embedding_model import EmbeddingModel, WrappedEmbedding
from elt_llm_core.models.factory import create_embedding
from elt_llm_core.settings.tree import EmbeddingSettings, Settings
from elt_llm_core.utilities import install_command, installed_version
from numpy.typing import NDArray
from pydantic import PrivateAttr

from elt_llm_ingest.compute import Compute
from elt_llm_ingest.readers import ReaderOptions
from elt_llm_ingest.sandbox.guards import ParseLimits, check_file, own_folder, pin_file, remove_pinned
from elt_llm_ingest.sandbox.messages import (
    MalformedAnswer,
    decode_document,
    encode_document,
    encode_json,
    parse_json,
    printable_reason,
)
from elt_llm_ingest.sandbox.parser import ParseOutcome, ParseRequest
from elt_llm_ingest.sandbox.pool import ParsePool

_MOST_FILES, _MOST_BYTES = 8, 8 << 20  # per batch of files
_AHEAD = 2  # batches per actor that are being processed, or whose result waits for that of an earlier batch
_MOST_ACTORS = 256
_MOST_TRIES = 4  # for one batch, if its actor is lost each time
_SECONDS_TO_CONNECT = 5
_SECONDS_TO_START = 120.0  # within which an actor must be ready if none is working
_HAS_MODEL = frozenset(("embedded", "fake"))  # providers whose model runs in this process; others call a server
_START_HEAD = "ray start --head --disable-usage-stats"
_START_NODE = "On each node, run: ray start --address=ADDRESS; see docs/ray.md"
_END_OF_NAME = re.compile(r"[^\w.-]")

Payload = list[Any]
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class PackedFile:
    """A file as it is sent to an actor: its name without folders, its bytes, and how to read it."""

    name: str
    content: bytes
    reader: str
    options: Mapping[str, Any]


class RayActor:
    """The code of an actor. It parses files in a restricted child process, like an ingest on one machine."""

    def __init__(self, limits: ParseLimits, embedding: EmbeddingSettings | None) -> None:
        remove_pinned()  # files that killed actors left behind
        self._pool = ParsePool(limits, 1)
        self._model = create_embedding(Settings(embedding=embedding), threads=1) if embedding else None

    def describe(self) -> dict[str, str]:
        """Return the versions that must be equal on all nodes, the identity of the model, and the name of the node."""
        return _versions() | {"model": _identity(self._model), "node": platform.node()}

    def parse(self, files: Sequence[PackedFile]) -> list[bytes]:
        """Return the document of each file, or the reason why there is none, as JSON."""
        with own_folder() as folder:
            requests = []
            for number, file in enumerate(files):
                path = folder / str(number) / file.name
                path.parent.mkdir()
                path.write_bytes(file.content)
                requests.append(ParseRequest(path, file.reader, ReaderOptions(**file.options)))
            return [_encode_outcome(outcome) for outcome in self._pool.read_all(requests)]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, shape (len(texts), dimension)."""
        if self._model is None:
            raise IngestError("A Ray actor without an embedding model was asked to embed texts.")
        return self._model.embed_texts(texts)


def require_ray(address: str | None) -> None:
    """Raise UsageError unless Ray is installed and the cluster's address is set."""
    if find_spec("ray") is None:
        raise UsageError("ingest.compute is ray, but Ray is not installed.", hint=f"Run: {install_command('ray')}")
    if not address:
        raise UsageError(
            "ingest.compute is ray, but ingest.ray_address is not set.",
            hint=f"Start a cluster with: {_START_HEAD}; and set ingest.ray_address to the address that it prints",
        )


@dataclass
class _Call:
    """A batch that an actor processes or that waits for an actor. `number` is its place in the order of results."""

    number: int
    payload: Payload
    tries: int = 0


class RayCompute(Compute):
    """Uses one actor per processor of a Ray cluster. A lost actor is replaced, and its batch is sent to another."""

    def __init__(self, settings: Settings, limits: ParseLimits) -> None:
        self._address = str(settings.ingest.ray_address)
        self._settings, self._limits = settings, limits
        self._distributes_model = settings.embedding.provider in _HAS_MODEL
        self._actors: Any = None
        self._size = 0
        self._alive: list[Any] = []
        self._idle: list[Any] = []
        self._starting: dict[Any, Any] = {}
        self._failed_starts = 0
        self._expected: dict[str, str] = {}

    def start(self) -> None:
        """Connect to the cluster, start an actor for each processor, and compare all versions.

        Raises IngestError if nothing listens at the address, no actor starts, or a node and this machine have different
        versions of Python, Ray, elt-llm, a library that reads files, or the embedding model.
        """
        if self._actors is not None:
            return
        _refuse_silent_address(self._address)
        embedding = self._settings.embedding if self._distributes_model else None
        self._expected = _versions() | {"model": _identity(create_embedding(self._settings) if embedding else None)}
        # If `uv run` started this process, Ray would start its workers with uv too, in a copy of the working directory
        # and an environment that each node downloads. Ray reads these variables when it is imported.
        os.environ |= {"RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        with _kept_signal_handler(), _named_failures(self._address):
            ray.init(address=self._address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
        self._actors = ray.remote(num_cpus=1, max_restarts=0)(RayActor)
        resources: Callable[[], dict[str, float]] = ray.cluster_resources
        self._size = max(1, min(_MOST_ACTORS, int(resources().get("CPU", 1))))
        with self._closed_on_failure():
            self._hire()
            while self._starting:
                self._await({})

    def close(self) -> None:
        """End the actors and leave the cluster."""
        if self._actors is None:
            return
        import ray

        self._dismiss(self._alive)
        self._actors = None
        self._idle.clear()
        self._failed_starts = 0
        with _kept_signal_handler():
            ray.shutdown()

    @contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        """Leave the cluster after an error, so that the next call connects again and starts new actors."""
        try:
            yield
        except EltError:
            self.close()
            raise

    def embedding(self, model: EmbeddingModel) -> EmbeddingModel:
        """Return a model whose batches the actors embed, or `model` itself if it calls a model server."""
        return ComputedEmbedding(model, self) if self._distributes_model else model

    def read_all(self, requests: Iterable[ParseRequest]) -> Iterator[ParseOutcome]:
        """Yield the document or the error of each file, in the order of the requests."""
        unread: deque[list[UnreadableDocument | None]] = deque()

        def payloads() -> Iterator[Payload]:
            for batch in self._file_batches(requests):
                unread.append([item if isinstance(item, UnreadableDocument) else None for item in batch])
                yield [item for item in batch if isinstance(item, PackedFile)]

        for answers in self._stream("parse", payloads()):
            outcomes = iter(answers)
            yield from [error or self._decode(next(outcomes)) for error in unread.popleft()]

    def embed_batches(self, batches: Iterable[Sequence[str]], dimension: int) -> Iterator[Vectors]:
        """Yield the vectors of each batch of texts, in the order of the batches."""
        sizes: deque[int] = deque()

        def payloads() -> Iterator[Payload]:
            for batch in batches:
                sizes.append(len(batch))
                yield list(batch)

        for answer in self._stream("embed", payloads()):
            shape = (sizes.popleft(), dimension)
            if not isinstance(answer, np.ndarray) or answer.shape != shape or answer.dtype != np.float32:
                raise IngestError("A Ray actor returned vectors of the wrong shape or type.", hint=_START_NODE)
            yield answer

    def _file_batches(self, requests: Iterable[ParseRequest]) -> Iterator[list[PackedFile | UnreadableDocument]]:
        """Yield batches of files. A batch is complete when it has 8 files or 8 MiB."""
        batch: list[PackedFile | UnreadableDocument] = []
        size = 0
        for request in requests:
            batch.append(packed := self._pack(request))
            size += len(packed.content) if isinstance(packed, PackedFile) else 0
            if len(batch) == _MOST_FILES or size >= _MOST_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _pack(self, request: ParseRequest) -> PackedFile | UnreadableDocument:
        """Read a file to send to an actor, after the same checks (size, links) as for parsing on this machine."""
        try:
            check_file(request.path, request.within, self._limits.file_mb)
            with pin_file(request.path, request.within) as pinned:
                content = pinned.read_bytes()
        except UnreadableDocument as error:
            return error
        except OSError as error:
            return UnreadableDocument(f"cannot be opened: {error.strerror or error}")
        return PackedFile(request.path.name, content, request.reader, asdict(request.options))

    def _decode(self, payload: bytes) -> ParseOutcome:
        """Validate an actor's result like that of a local child process, and decode it."""
        try:
            answer = parse_json(payload)
            if "document" in answer:
                return decode_document(answer["document"], self._limits.characters)
        except MalformedAnswer as error:
            return UnreadableDocument(f"the result of the reader is not a valid document: {error}")
        return UnreadableDocument(printable_reason(answer.get("unreadable")), hint=printable_reason(answer.get("hint")))

    def _stream(self, method: str, payloads: Iterator[Payload]) -> Iterator[Any]:
        """Yield the result of each payload in order. At most two payloads per actor are in memory."""
        self.start()
        self._hire()
        calls = (_Call(number, payload) for number, payload in enumerate(payloads))
        again: deque[_Call] = deque()
        running: dict[Any, tuple[Any, _Call]] = {}
        results: dict[int, Any] = {}
        following, sent = 0, 0
        try:
            while True:
                while self._idle and (again or sent - following < _AHEAD * self._size):
                    call = again.popleft() if again else next(calls, None)
                    if call is None:
                        break
                    sent = max(sent, call.number + 1)
                    if call.payload:
                        actor = self._idle.pop()
                        running[getattr(actor, method).remote(call.payload)] = actor, call
                    else:
                        results[call.number] = []
                if following in results:
                    yield results.pop(following)
                    following += 1
                elif following == sent and self._idle:
                    return
                else:
                    with self._closed_on_failure():
                        self._take(self._await(running), running, results, again)
        finally:
            self._dismiss(actor for actor, _ in running.values())

    def _take(
        self,
        ready: Iterable[Any],
        running: dict[Any, tuple[Any, _Call]],
        results: dict[int, Any],
        again: deque[_Call],
    ) -> None:
        """Store the results of finished calls. If an actor was lost, replace it and queue its batch again."""
        for reference in ready:
            actor, call = running.pop(reference)
            try:
                results[call.number] = _result(reference)
            except _ActorLost as lost:
                call.tries += 1
                if call.tries == _MOST_TRIES:
                    raise IngestError(
                        f"{_MOST_TRIES} Ray actors ended while they worked on the same batch: {lost}",
                        hint="Run ray status and read the logs in /tmp/ray. Run the same ingest again to continue",
                    ) from lost
                again.append(call)
                self._dismiss([actor])
                self._hire()
            else:
                self._idle.append(actor)

    def _await(self, running: Mapping[Any, object]) -> list[Any]:
        """Wait until a call ends or an actor is ready; return ended calls. Raises IngestError if no actor starts."""
        import ray

        patience = None if running else _SECONDS_TO_START
        ready, _ = ray.wait([*running, *self._starting], num_returns=1, timeout=patience, fetch_local=True)
        if not ready and not self._idle:
            raise IngestError(
                f"No Ray actor was ready within {_SECONDS_TO_START:g} s.",
                hint="Run ray status: does the cluster have free processors? Then run the same command again",
            )
        if not ready:  # some actors are ready, and the cluster has no room for the others yet
            self._dismiss(self._starting.values())
        for reference in [it for it in ready if it in self._starting]:
            actor = self._starting.pop(reference)
            try:
                self._check_versions(_result(reference))
                self._idle.append(actor)
                self._failed_starts = 0
            except _ActorLost as lost:
                self._dismiss([actor])
                self._failed_starts += 1
                if self._failed_starts > self._size + _MOST_TRIES:
                    raise IngestError(f"Ray actors do not start: {lost}", hint=_SAME_VERSIONS) from lost
                self._hire()
        return [reference for reference in ready if reference in running]

    def _check_versions(self, found: Mapping[str, str]) -> None:
        for name, here in self._expected.items():
            if (there := found.get(name, "")) != here:
                has, ours = (f"{name} {version}" if version else f"no {name}" for version in (there, here))
                raise IngestError(
                    f"The Ray node {found['node']} has {has}, but this machine has {ours}.",
                    hint=_SAME_VERSIONS,
                )

    def _hire(self) -> None:
        """Request as many actors as are missing. They start when the cluster has room for them."""
        while len(self._alive) < self._size:
            actor = self._actors.remote(self._limits, self._settings.embedding if self._distributes_model else None)
            self._alive.append(actor)
            self._starting[actor.describe.remote()] = actor

    def _dismiss(self, actors: Iterable[Any]) -> None:
        """Kill actors, even while they work. After `close`, when all actors have ended, do nothing."""
        if self._actors is None:
            return
        import ray

        for actor in list(actors):
            ray.kill(actor)
            self._alive = [other for other in self._alive if other is not actor]
        self._starting = {it: actor for it, actor in self._starting.items() if any(actor is on for on in self._alive)}


class ComputedEmbedding(WrappedEmbedding):
    """An embedding model whose batches are embedded by actors. The wrapped model does everything else."""

    _compute: RayCompute = PrivateAttr()

    def __init__(self, model: EmbeddingModel, compute: RayCompute) -> None:
        super().__init__(model)
        self._compute = compute

    def embed_batches(self, batches: Iterable[Sequence[str]]) -> Iterator[Vectors]:
        """Yield the vectors of each batch, in the order of the batches."""
        return self._compute.embed_batches(batches, self.fingerprint.dimension)


_SAME_VERSIONS = (
    "Install the same versions of Python and of all packages, with the same extras, on every node, "
    "then restart its Ray: ray stop; ray start --address=ADDRESS"
)


class _ActorLost(Exception):
    """The actor or its node ended before the call was finished."""


def _result(reference: Any) -> Any:
    """Return the result of a finished call. Raises _ActorLost if there is none, and IngestError if the call failed."""
    import ray

    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, EltError):
            raise cause from None
        raise IngestError(f"A Ray actor failed: {type(cause).__name__}: {cause}", hint=_SAME_VERSIONS) from error
    except ray.exceptions.RayError as error:
        raise _ActorLost(" ".join(str(error).split())[:300]) from error


def _versions() -> dict[str, str]:
    """Return the versions that must be equal on all nodes, as they affect parsing. A missing package has version ""."""
    needed = importlib.metadata.requires("elt-llm-ingest") or []
    libraries = {_END_OF_NAME.split(it, maxsplit=1)[0] for it in needed if "remote" not in it}  # nodes fetch no URLs
    distributions = {"Ray": "ray", "elt-llm": "elt-llm-ingest"}
    distributions |= {name: name for name in sorted({*libraries, "docling"} - {"ray"})}
    found = {shown: installed_version(name) or "" for shown, name in distributions.items()}
    return {"Python": platform.python_version()} | found


def _identity(model: EmbeddingModel | None) -> str:
    return f"{model.fingerprint.model}:{model.fingerprint.digest[:16]}" if model else ""


def _encode_outcome(outcome: ParseOutcome) -> bytes:
    if isinstance(outcome, UnreadableDocument):
        return encode_json({"unreadable": str(outcome), "hint": outcome.hint})
    return encode_json({"document": encode_document(outcome)})


def _refuse_silent_address(address: str) -> None:
    """Raise an error if the address is not HOST:PORT or nothing listens there. Ray would retry for minutes."""
    host, _, port = address.rpartition(":")
    if not (host and port.isdigit()) or "/" in host:
        raise UsageError(
            f"ingest.ray_address is '{address}', which is not HOST:PORT.",
            hint="Set it to the address that ray start --head printed, such as 10.0.0.5:6379",
        )
    try:
        socket.create_connection((host, int(port)), _SECONDS_TO_CONNECT).close()
    except (OSError, OverflowError) as error:
        raise IngestError(
            f"Nothing listens at {address} (ingest.ray_address): {error}.",
            hint=f"Start the cluster with: {_START_HEAD}; or set ingest.compute to local",
        ) from error


@contextmanager
def _named_failures(address: str) -> Iterator[None]:
    """Raise IngestError with the reason if this process cannot join the cluster."""
    try:
        yield
    except RuntimeError as error:
        text = " ".join(str(error).split())
        hint = _SAME_VERSIONS if "ersion mismatch" in text else _START_NODE.replace("ADDRESS", address)
        raise IngestError(f"This machine cannot join the Ray cluster at {address}: {text[:400]}", hint=hint) from error
    except (OSError, ValueError) as error:
        raise IngestError(
            f"This machine cannot join the Ray cluster at {address}: {error}",
            hint=f"This machine must be a node. {_START_NODE.replace('ADDRESS', address)}",
        ) from error


@contextmanager
def _kept_signal_handler() -> Iterator[None]:
    """Restore this process's SIGTERM handler, which Ray replaces with its own."""
    in_main = threading.current_thread() is threading.main_thread()
    handler: Callable[..., Any] | int | None = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if in_main:
            signal.signal(signal.SIGTERM, handler)
