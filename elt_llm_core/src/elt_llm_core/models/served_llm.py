"""The base class of language models on a server, with a check that the server reads whole prompts."""

import asyncio
import weakref
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Any, TypeVar

from llama_index.core.constants import DEFAULT_CONTEXT_WINDOW
from llama_index.core.llms import (
    LLM,
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    LLMMetadata,
)
from pydantic import PrivateAttr

from elt_llm_core.errors import EltError
from elt_llm_core.models.server import ModelServer
from elt_llm_core.models.token_counts import PromptVerifier
from elt_llm_core.models.transport import JsonServer

Piece = TypeVar("Piece")
_RETRY_TEMPERATURE = 0.2


class ServedLlm(LLM):
    """The base class for language models on a server. Asynchronous calls run in a thread, with the same time limits."""

    _server: ModelServer = PrivateAttr()
    _verifier: PromptVerifier | None = PrivateAttr(default=None)
    _explain: Callable[[EltError], EltError] | None = PrivateAttr(default=None)
    _close: Callable[[], object] = PrivateAttr()
    _answer_tokens: int = PrivateAttr()

    def connect(self, server: JsonServer, answer_tokens: int, close: Callable[[], object]) -> None:
        """Set the server, the maximum length of an answer, and a function that closes the model's connections."""
        self._answer_tokens = answer_tokens
        self._server, self._verifier, self._explain = server.described, PromptVerifier(server), server.explain
        self._close = weakref.finalize(self, close)  # for owners that do not close the model

    @property
    def metadata(self) -> LLMMetadata:
        """The configured context window and maximum answer length, known without a request to the server."""
        return LLMMetadata(
            context_window=self._server.context_window or DEFAULT_CONTEXT_WINDOW,
            num_output=self._answer_tokens,
            model_name=self._server.model,
            is_chat_model=True,
        )

    @property
    def server(self) -> ModelServer:
        """The server that runs the model."""
        return self._server

    @property
    def prompt_verifier(self) -> PromptVerifier | None:
        """The check that the server reads whole prompts, or None for a model that never truncates prompts."""
        return self._verifier

    def explain(self, error: EltError) -> EltError:
        """Return the error with details that the server reports, such as its context window."""
        return self._explain(error) if self._explain else error

    def with_another_seed(self) -> "ServedLlm":
        """Return a copy of this model with another seed and a temperature above 0, on the same connections.

        At temperature 0, every seed gives the same answer. A model without such options is returned unchanged.
        """
        options: dict[str, Any] | None = getattr(self, "additional_kwargs", None)
        if options is None:
            return self
        other = {**options, "seed": int(options.get("seed") or 0) + 1}
        warmer = max(getattr(self, "temperature", 0.0) or 0.0, _RETRY_TEMPERATURE)
        return self.model_copy(update={"additional_kwargs": other, "temperature": warmer})

    def close(self) -> None:
        """Close the connections to the server."""
        self._close()

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Return the whole answer to chat messages."""
        return await asyncio.to_thread(self.chat, messages, **kwargs)

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:
        """Return the answer to chat messages piece by piece, as the model writes it."""
        return _as_async(await asyncio.to_thread(self.stream_chat, messages, **kwargs))

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Return the whole answer to a prompt."""
        return await asyncio.to_thread(self.complete, prompt, formatted, **kwargs)

    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseAsyncGen:
        """Return the answer to a prompt piece by piece, as the model writes it."""
        return _as_async(await asyncio.to_thread(self.stream_complete, prompt, formatted, **kwargs))


async def _as_async(pieces: Iterator[Piece]) -> AsyncGenerator[Piece, None]:
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece
