"""A GGUF file run in this process by llama.cpp, as a language model of LlamaIndex."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from llama_index.core.llms import (
    ChatMessage,
    ChatResponse,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseGen,
    CustomLLM,
    LLMMetadata,
    MessageRole,
)
from pydantic import PrivateAttr

from elt_llm_core.errors import ModelMissing, ModelTimeout
from elt_llm_core.models.callback_stream import NothingCame, chunks_of
from elt_llm_core.models.llama_cpp_engine import open_engine, require_library
from elt_llm_core.models.model_folder import places_of_model
from elt_llm_core.models.model_server import ModelServer
from elt_llm_core.models.server_failures import by_status
from elt_llm_core.settings import Settings

_ENDING = ".gguf"


class LlamaCppLlm(CustomLLM):
    """Chats with the model's own template. The file is loaded at first use and stays; answers are written in turn."""

    _settings: Settings = PrivateAttr()
    _server: ModelServer = PrivateAttr()
    _path: Path = PrivateAttr()
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)
    _engine: Any = PrivateAttr(default=None)

    def __init__(self, settings: Settings, path: Path) -> None:
        super().__init__()
        self._settings = settings
        self._path = path
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

    @property
    def server(self) -> ModelServer:
        """Who answers."""
        return self._server

    def close(self) -> None:
        """Lets go of the model and its memory; it is loaded again when asked again."""
        with self._lock:
            self._engine = None

    @property
    def metadata(self) -> LLMMetadata:
        """Window and length as set; known without loading the file."""
        chosen = self._settings.llama_cpp
        return LLMMetadata(
            context_window=chosen.context_window,
            num_output=chosen.num_predict,
            model_name=self._path.name,
            is_chat_model=True,
        )

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        """The whole answer."""
        pieces = list(self.stream_chat(messages))
        raw = _joined([piece.raw for piece in pieces])
        return ChatResponse(message=_said("".join(piece.delta or "" for piece in pieces)), raw=raw)

    def stream_chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponseGen:
        """The answer as it comes. Raises ModelMissing, ModelBroken, PromptTooLong."""
        said = ""
        for chunk in self._chunks(messages):
            piece = _text_of(chunk)
            said += piece
            yield ChatResponse(message=_said(said), delta=piece, raw=chunk)

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        """The answer to a prompt, which is given to the model as what its user says."""
        response = self.chat([ChatMessage(role=MessageRole.USER, content=prompt)])
        return CompletionResponse(text=response.message.content or "", raw=response.raw)

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponseGen:
        """The same as it comes."""
        for piece in self.stream_chat([ChatMessage(role=MessageRole.USER, content=prompt)]):
            yield CompletionResponse(text=piece.message.content or "", delta=piece.delta, raw=piece.raw)

    def _chunks(self, messages: Sequence[ChatMessage]) -> Iterator[dict[str, Any]]:
        engine, request = self._loaded(), self._request(messages)
        waiting = self._settings.llama_cpp.request_timeout
        try:
            for chunk in chunks_of(lambda take: engine.handle_chat_completions(request, take), waiting):
                if error := chunk.get("error"):
                    raise by_status(int(error.get("code") or 500), str(error.get("message")), self._server)
                yield chunk
        except NothingCame as error:
            raise ModelTimeout(
                f"{self._server} computed for {waiting:g} seconds without a word",
                hint="Raise llama_cpp.request_timeout, or choose a smaller model",
            ) from error

    def _request(self, messages: Sequence[ChatMessage]) -> dict[str, Any]:
        chosen, llm = self._settings.llama_cpp, self._settings.llm
        return {
            "messages": [{"role": one.role.value, "content": one.content or ""} for one in messages],
            "max_tokens": chosen.num_predict,
            "temperature": llm.temperature,
            "top_p": llm.top_p,
            "stream": True,
            "stream_options": {"include_usage": True},
            **({} if chosen.seed is None else {"seed": chosen.seed}),
        }

    def _loaded(self) -> Any:
        with self._lock:
            if self._engine is None:
                self._engine = open_engine(self._path, self._settings.llama_cpp)
            return self._engine


def create_llama_cpp_llm(settings: Settings) -> LlamaCppLlm:
    """The model of the settings; its file is looked for, not yet loaded.

    Raises ModelError without the extra llama-cpp, ModelMissing without the file.
    """
    require_library()
    return LlamaCppLlm(settings, _file_of(settings))


def _file_of(settings: Settings) -> Path:
    chosen, name = settings.llama_cpp.model_path, settings.llm.model
    if chosen is not None:
        places = [chosen.expanduser()]
    else:
        names = [name, f"{name}{_ENDING}"] if name else []
        places = [place for one in names for place in places_of_model(one, settings.storage.models_dir)]
    if (path := next((place for place in places if place.is_file()), None)) is not None:
        return path
    looked = ", ".join(map(str, places)) or "llama_cpp.model_path and llm.model are not set"
    raise ModelMissing(
        f"llm.provider is llama_cpp, and there is no model file: {looked}",
        hint="Set llama_cpp.model_path to a GGUF file; nothing is downloaded",
    )


def _text_of(chunk: Mapping[str, Any]) -> str:
    choices = chunk.get("choices") or []
    return str((choices[0].get("delta") or {}).get("content") or "") if choices else ""


def _said(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.ASSISTANT, content=text)


def _joined(chunks: Sequence[Any]) -> dict[str, Any]:
    """One reply's end and usage, from the chunks that bring them."""
    ended = [chunk["choices"] for chunk in chunks if chunk.get("choices") and chunk["choices"][0].get("finish_reason")]
    usage = [chunk["usage"] for chunk in chunks if chunk.get("usage")]
    return {"choices": ended[-1] if ended else [], "usage": usage[-1] if usage else {}}
