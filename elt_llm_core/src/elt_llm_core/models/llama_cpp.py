"""A language model from a GGUF file, run in this process by llama.cpp (extra `llama-cpp`)."""

import os
import queue
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import util
from pathlib import Path
from typing import Any

from llama_index.core.base.llms.generic_utils import chat_to_completion_decorator, stream_chat_to_completion_decorator
from llama_index.core.llms import (
    ChatMessage,
    ChatResponse,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseGen,
    CustomLLM,
    MessageRole,
)
from pydantic import PrivateAttr

from elt_llm_core.errors import ModelBroken, ModelError, ModelMissing, ModelTimeout
from elt_llm_core.models.model_files import model_folders
from elt_llm_core.models.served_llm import ServedLlm
from elt_llm_core.models.server import ModelServer, error_from_status
from elt_llm_core.settings.tree import LlamaCppSettings, Settings
from elt_llm_core.utilities import install_command

MAX_THREADS = 8
_LIBRARY = "xllamacpp"
_SILENT = -1


def open_engine(path: Path, chosen: LlamaCppSettings) -> Any:
    """Load the model as an `xllamacpp.Server`.

    Loading takes seconds and as much memory as the file's size. Raises ModelBroken if the file is not a model or the
    memory is too small.
    """
    import xllamacpp

    parameters: Any = xllamacpp.CommonParams()
    threads = chosen.threads or min(os.cpu_count() or 1, MAX_THREADS)
    parameters.model.path = str(path)
    parameters.n_ctx = chosen.context_window
    parameters.n_parallel = 1  # parallel answers would share the window
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.verbosity = _SILENT
    parameters.warmup = False
    parameters.offline = True
    # Refuse long prompts: shifting the context would remove the instructions at its start.
    parameters.ctx_shift = False
    parameters.cache_ram_mib = 0
    # The library always listens on a loopback port. Only this process knows the key for that port.
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [secrets.token_hex(32)]
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.endpoint_props = False
    parameters.endpoint_metrics = False
    try:
        return xllamacpp.Server(parameters)
    except RuntimeError as error:
        hint = "Check that it is a complete GGUF file and that it fits into this machine's memory"
        raise ModelBroken(f"llama.cpp cannot load {path}", hint=hint) from error


StreamChunk = dict[str, Any]
ChunkCallback = Callable[[StreamChunk], bool]
"""A function that receives each piece of the answer and returns whether to stop."""


def iterate_callback(run: Callable[[ChunkCallback], object], timeout: float) -> Iterator[StreamChunk]:
    """Yield the pieces that `run` passes to its callback, as they arrive. `run` is called in its own thread.

    Raises queue.Empty after `timeout` seconds without a piece. If the caller closes the iterator early, `run` stops at
    its next piece.
    """
    pieces: queue.Queue[StreamChunk | None] = queue.Queue()
    closed = threading.Event()

    def take(chunk: StreamChunk | list[StreamChunk]) -> bool:
        for piece in chunk if isinstance(chunk, list) else [chunk]:
            pieces.put(piece)
        return closed.is_set()

    def work() -> None:
        try:
            run(take)
        except (RuntimeError, ValueError, TypeError) as error:
            pieces.put({"error": {"code": 500, "message": str(error)}})
        finally:
            pieces.put(None)

    # Not a daemon: Python would abort if it exited during the thread's native code. The thread ends at its next piece.
    threading.Thread(target=work, name="llama.cpp", daemon=False).start()
    try:
        while (piece := pieces.get(timeout=timeout)) is not None:
            yield piece
    finally:
        closed.set()


_ENDING = ".gguf"


class LlamaCppLlm(ServedLlm, CustomLLM):
    """A language model that runs in this process and is loaded at first use. It writes one answer at a time."""

    _settings: Settings = PrivateAttr()
    _path: Path = PrivateAttr()
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)
    _engine: Any = PrivateAttr(default=None)

    def __init__(self, settings: Settings, path: Path) -> None:
        super().__init__()
        self._settings = settings
        self._path = path
        self._answer_tokens = settings.llama_cpp.num_predict
        self._server = ModelServer(
            name="llama.cpp",
            address=str(path),
            model=path.name,
            section="llama_cpp",
            start="Check llama_cpp.model_path",
            fetch="Set llama_cpp.model_path to a GGUF file",
            answer_timeout=settings.llm.answer_timeout,
            context_window=settings.llama_cpp.context_window,
        )

    def close(self) -> None:
        """Release the model and its memory. The next request loads the model again."""
        with self._lock:
            self._engine = None

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        """Return the whole answer to chat messages."""
        pieces = list(self.stream_chat(messages))
        # Later chunks report the finish reason and the usage.
        raw = {key: value for piece in pieces for key, value in (piece.raw or {}).items() if value}
        return ChatResponse(message=_assistant_message("".join(piece.delta or "" for piece in pieces)), raw=raw)

    def stream_chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponseGen:
        """Yield the answer piece by piece as it is written. Raises ModelMissing, ModelBroken or PromptTooLong."""
        text = ""
        for chunk in self._chunks(messages):
            choices = chunk.get("choices") or []
            piece = str((choices[0].get("delta") or {}).get("content") or "") if choices else ""
            text += piece
            yield ChatResponse(message=_assistant_message(text), delta=piece, raw=chunk)

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        """Return the answer to a prompt, which is sent as a user message."""
        return chat_to_completion_decorator(self.chat)(prompt)

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponseGen:
        """Return the pieces of the answer to a prompt, as the model writes them."""
        return stream_chat_to_completion_decorator(self.stream_chat)(prompt)

    def _chunks(self, messages: Sequence[ChatMessage]) -> Iterator[dict[str, Any]]:
        chosen, llm = self._settings.llama_cpp, self._settings.llm
        with self._lock:
            engine = self._engine = self._engine or open_engine(self._path, chosen)
        request = {
            "messages": [{"role": message.role.value, "content": message.content or ""} for message in messages],
            "max_tokens": chosen.num_predict,
            "temperature": llm.temperature,
            "top_p": llm.top_p,
            "stream": True,
            "stream_options": {"include_usage": True},
            **({} if chosen.seed is None else {"seed": chosen.seed}),
        }
        waiting = chosen.request_timeout
        try:
            for chunk in iterate_callback(lambda take: engine.handle_chat_completions(request, take), waiting):
                if error := chunk.get("error"):
                    raise error_from_status(int(error.get("code") or 500), str(error.get("message")), self._server)
                yield chunk
        except queue.Empty as error:
            raise ModelTimeout(
                f"{self._server} computed for {waiting:g} seconds without output",
                hint="Raise llama_cpp.request_timeout, or choose a smaller model",
            ) from error


def create_llama_cpp_llm(settings: Settings) -> LlamaCppLlm:
    """Create the configured language model. Its file is located but not loaded.

    Raises ModelError if the extra llama-cpp is not installed, and ModelMissing if the file does not exist.
    """
    if util.find_spec(_LIBRARY) is None:
        raise ModelError(
            "llm.provider is llama_cpp, and llama.cpp is not installed", hint=f"Run: {install_command('llama-cpp')}"
        )
    return LlamaCppLlm(settings, find_model_file(settings))


def find_model_file(settings: Settings) -> Path:
    """Return the GGUF file that the settings name. Raises ModelMissing if it is not on this machine."""
    chosen, name = settings.llama_cpp.model_path, settings.llm.model
    if chosen is not None:
        paths = [chosen.expanduser()]
    else:
        names = [name, f"{name}{_ENDING}"] if name else []
        paths = [path for each in names for path in model_folders(each, settings.storage.models_dir)]
    if (path := next((path for path in paths if path.is_file()), None)) is not None:
        return path
    searched = ", ".join(map(str, paths)) or "llama_cpp.model_path and llm.model are not set"
    raise ModelMissing(
        f"llm.provider is llama_cpp, and there is no model file: {searched}",
        hint="Set llama_cpp.model_path to a GGUF file; nothing is downloaded",
    )


def _assistant_message(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.ASSISTANT, content=text)
