"""LlamaIndex's OpenAILike, held to a local server."""

import weakref
from typing import Any

import httpx
from llama_index.llms.openai_like import OpenAILike
from pydantic import PrivateAttr

from elt_llm_core.models.model_server import ModelServer
from elt_llm_core.models.openai_like_server import described_openai_like, key_of, openai_client_options
from elt_llm_core.settings import Settings


class OpenAiLikeLlm(OpenAILike):
    """A chat model behind OpenAI's protocol: no retries of the client's own, no proxies, usage asked for."""

    _server: ModelServer = PrivateAttr()
    _connections: httpx.Client = PrivateAttr()

    def __init__(self, settings: Settings, server: ModelServer) -> None:
        chosen, options = settings.openai_like, openai_client_options(settings, server.address)
        client = httpx.Client(**options)
        super().__init__(  # type: ignore[call-arg]  # the clients are arguments of the class below it
            model=server.model,
            api_base=server.address,
            api_key=key_of(settings),
            # Without a header of its own the client would send the account named by OPENAI_ORG_ID.
            default_headers={"OpenAI-Organization": "", "OpenAI-Project": ""},
            temperature=settings.llm.temperature,
            max_tokens=chosen.num_predict,
            context_window=chosen.context_window,
            is_chat_model=True,
            is_function_calling_model=False,
            timeout=chosen.request_timeout,
            max_retries=0,
            additional_kwargs=_sampling(settings),
            http_client=client,
            async_http_client=httpx.AsyncClient(**options),
        )
        self._server = server
        self._connections = client
        weakref.finalize(self, client.close)  # for those who hold it and do not close it

    @property
    def server(self) -> ModelServer:
        """Who answers."""
        return self._server

    def close(self) -> None:
        """Lets go of the connections."""
        self._connections.close()


def create_openai_like_llm(settings: Settings) -> OpenAiLikeLlm:
    """The model of the settings; nothing is asked of the server. Raises SettingsError for what is not allowed."""
    model = settings.llm.model or settings.openai_like.llm_model
    return OpenAiLikeLlm(settings, described_openai_like(settings, model, "openai_like.llm_model"))


def _sampling(settings: Settings) -> dict[str, Any]:
    seed = {} if settings.openai_like.seed is None else {"seed": settings.openai_like.seed}
    return {"top_p": settings.llm.top_p, "stream_options": {"include_usage": True}, **seed}
