"""LlamaIndex's OpenAILike, held to a local server; needs the extra openai-like."""

import weakref
from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr

from elt_llm_core.errors import ModelError
from elt_llm_core.models.letting_go import on_its_line
from elt_llm_core.models.model_server import ModelServer
from elt_llm_core.models.openai_like_counter import OpenAiLikeCounter
from elt_llm_core.models.openai_like_server import described_openai_like, key_of, openai_client_options
from elt_llm_core.models.prompt_proof import PromptProof
from elt_llm_core.settings import Settings

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


def create_openai_like_llm(settings: Settings) -> "LLM":
    """The model of the settings, not asked anything yet. Raises SettingsError, ModelError without the extra."""
    model = settings.llm.model or settings.openai_like.llm_model
    server = described_openai_like(settings, model, "openai_like.llm_model")
    # The class is made here because its base is an extra, and brings a client that nothing else may import.
    try:
        from llama_index.llms.openai_like import OpenAILike
    except ImportError as error:
        raise ModelError(
            "The client of OpenAI's protocol is not installed", hint="Run: uv sync --inexact --extra openai-like"
        ) from error

    class OpenAiLikeLlm(OpenAILike):
        """Tells who answers, and lets go of its connections."""

        _server: ModelServer = PrivateAttr()
        _proof: PromptProof = PrivateAttr()
        _connections: Any = PrivateAttr()

        @property
        def server(self) -> ModelServer:
            """Who answers."""
            return self._server

        @property
        def proof(self) -> PromptProof:
            """What is known of the prompts that are read whole."""
            return self._proof

        def close(self) -> None:
            """Lets go of the connections."""
            self._connections.close()

    options = _options(settings, server)
    llm = OpenAiLikeLlm(**options)
    llm._server, llm._connections = server, options["http_client"]  # noqa: SLF001 - its own class, made above
    llm._proof = PromptProof(OpenAiLikeCounter(settings, server), server)  # noqa: SLF001 - as above
    weakref.finalize(llm, options["http_client"].close)  # for those who hold it and do not close it
    return llm


def _options(settings: Settings, server: ModelServer) -> dict[str, Any]:
    import httpx

    from elt_llm_core.models.bounded_replies import async_bounded_for, bounded_for

    chosen, connection = settings.openai_like, openai_client_options(settings, server.address)
    hooks: dict[str, list[Any]] = {
        "request": [on_its_line],
        "response": [bounded_for(settings.llm.answer_timeout)],
    }
    async_hooks = {"response": [async_bounded_for(settings.llm.answer_timeout)]}
    seed = {} if chosen.seed is None else {"seed": chosen.seed}
    return {
        "model": server.model,
        "api_base": server.address,
        "api_key": key_of(settings),
        # Without headers of its own the client would send the account that OPENAI_ORG_ID names.
        "default_headers": {"OpenAI-Organization": "", "OpenAI-Project": ""},
        "temperature": settings.llm.temperature,
        "max_tokens": chosen.num_predict,
        "context_window": chosen.context_window,
        "is_chat_model": True,
        "is_function_calling_model": False,
        "timeout": chosen.request_timeout,
        "max_retries": 0,
        "additional_kwargs": {"top_p": settings.llm.top_p, "stream_options": {"include_usage": True}, **seed},
        "http_client": httpx.Client(event_hooks=hooks, **connection),
        "async_http_client": httpx.AsyncClient(event_hooks=async_hooks, **connection),
    }
