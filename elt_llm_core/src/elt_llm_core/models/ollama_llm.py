"""LlamaIndex's Ollama with everything set that it leaves open."""

import weakref
from typing import Any

from llama_index.core.llms import LLMMetadata
from llama_index.llms.ollama import Ollama
from ollama import AsyncClient, Client
from pydantic import PrivateAttr

from elt_llm_core.errors import SettingsError
from elt_llm_core.models.model_server import ModelServer
from elt_llm_core.models.ollama_counter import OllamaCounter
from elt_llm_core.models.ollama_server import async_hooks, client_options, described_server, hooks, is_hosted
from elt_llm_core.models.prompt_proof import PromptProof
from elt_llm_core.models.uncut_requests import AsyncUncutTransport, UncutTransport
from elt_llm_core.settings import Settings


class OllamaLlm(Ollama):
    """Ollama that sends window, length, seed and sampling with each request, and lets no prompt be cut.

    Left to itself the integration asks the server for the window, blocking, when its metadata are read, reserves 256
    tokens for an answer of any length, and goes through the proxies of the environment.
    """

    _server: ModelServer = PrivateAttr()
    _proof: PromptProof = PrivateAttr()

    def __init__(self, settings: Settings, server: ModelServer) -> None:
        chosen, options = settings.ollama, client_options(settings, server.address)
        secure = options["verify"]
        super().__init__(
            model=server.model,
            base_url=server.address,
            temperature=settings.llm.temperature,
            context_window=chosen.context_window,
            request_timeout=chosen.request_timeout,
            additional_kwargs=_sampling(settings),
            keep_alive=chosen.keep_alive,
            thinking=chosen.thinking,
            is_function_calling_model=False,
            client=Client(
                host=server.address,
                transport=UncutTransport(verify=secure, trust_env=False),
                event_hooks=hooks(settings.llm.answer_timeout),
                **options,
            ),
            async_client=AsyncClient(
                host=server.address,
                transport=AsyncUncutTransport(verify=secure, trust_env=False),
                event_hooks=async_hooks(settings.llm.answer_timeout),
                **options,
            ),
        )
        self._server = server
        self._proof = PromptProof(OllamaCounter(settings, server.model), server)
        weakref.finalize(self, self.client.close)  # for those who hold it and do not close it

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
        self.client.close()  # type: ignore[no-untyped-call]  # the client leaves it untyped

    @property
    def metadata(self) -> LLMMetadata:
        """The window and the length that are sent; known without asking the server."""
        return LLMMetadata(
            context_window=self.context_window,
            num_output=self.additional_kwargs["num_predict"],
            model_name=self.model,
            is_chat_model=True,
        )


def create_ollama_llm(settings: Settings) -> OllamaLlm:
    """The model of the settings; nothing is asked of the server. Raises SettingsError for what is not allowed."""
    model = settings.llm.model or settings.ollama.llm_model
    if is_hosted(model) and not settings.network.allow_remote_models:
        raise SettingsError(
            f"The model '{model}' is run by a hosted service, and network.allow_remote_models is false",
            hint="Choose a model without 'cloud' in its tag, or set network.allow_remote_models to true",
        )
    return OllamaLlm(settings, described_server(settings, model))


def _sampling(settings: Settings) -> dict[str, Any]:
    seed = {} if settings.ollama.seed is None else {"seed": settings.ollama.seed}
    return {"num_predict": settings.ollama.num_predict, "top_p": settings.llm.top_p, **seed}
