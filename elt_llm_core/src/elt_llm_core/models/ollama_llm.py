"""The language model of a local Ollama: LlamaIndex's client with window, sampling and truncation set explicitly."""

import weakref

from llama_index.core.llms import LLMMetadata
from llama_index.llms.ollama import Ollama
from ollama import AsyncClient, Client
from pydantic import PrivateAttr

from elt_llm_core.models.ollama import (
    AsyncNoTruncationTransport,
    NoTruncationTransport,
    OllamaTokenCounter,
    async_client_hooks,
    check_hosted_model,
    client_hooks,
    describe_ollama,
    is_cloud_model,
)
from elt_llm_core.models.server import ModelServer
from elt_llm_core.models.token_counts import PromptVerifier
from elt_llm_core.models.transport import client_options
from elt_llm_core.settings.tree import Settings


class OllamaLlm(Ollama):
    """Ollama that sends window, length, seed and sampling with each request and never lets a prompt be truncated.

    By default the integration requests the window from the server, blocking, whenever its metadata are read, reserves
    256 tokens for an answer of any length, and uses the proxies of the environment.
    """

    _server: ModelServer = PrivateAttr()
    _verifier: PromptVerifier = PrivateAttr()

    def __init__(self, settings: Settings, server: ModelServer) -> None:
        chosen, options = settings.ollama, client_options(settings.ollama, server.address)
        secure, seconds = options["verify"], settings.llm.answer_timeout
        seed = {} if chosen.seed is None else {"seed": chosen.seed}
        super().__init__(
            model=server.model,
            base_url=server.address,
            temperature=settings.llm.temperature,
            context_window=chosen.context_window,
            request_timeout=chosen.request_timeout,
            additional_kwargs={"num_predict": chosen.num_predict, "top_p": settings.llm.top_p, **seed},
            keep_alive=chosen.keep_alive,
            thinking=chosen.thinking,
            is_function_calling_model=False,
            client=Client(
                host=server.address,
                transport=NoTruncationTransport(verify=secure, trust_env=False),
                event_hooks=client_hooks(seconds),
                **options,
            ),
            async_client=AsyncClient(
                host=server.address,
                transport=AsyncNoTruncationTransport(verify=secure, trust_env=False),
                event_hooks=async_client_hooks(seconds),
                **options,
            ),
        )
        self._server = server
        self._verifier = PromptVerifier(OllamaTokenCounter(settings, server.model), server)
        weakref.finalize(self, self.client.close)  # for owners that do not close the model

    @property
    def server(self) -> ModelServer:
        """The server that runs the model."""
        return self._server

    @property
    def prompt_verifier(self) -> PromptVerifier:
        """Verifies that prompts are read whole."""
        return self._verifier

    def close(self) -> None:
        """Close the connections."""
        self.client.close()  # type: ignore[no-untyped-call]  # the client leaves it untyped

    @property
    def metadata(self) -> LLMMetadata:
        """The window and length that are sent, without a request to the server."""
        return LLMMetadata(
            context_window=self.context_window,
            num_output=self.additional_kwargs["num_predict"],
            model_name=self.model,
            is_chat_model=True,
        )


def create_ollama_llm(settings: Settings) -> OllamaLlm:
    """Create the model of the settings without a request to the server. Raises SettingsError for a disallowed model."""
    model = settings.llm.model or settings.ollama.llm_model
    if is_cloud_model(model):
        check_hosted_model(model, allow_remote=settings.network.allow_remote_models)
    return OllamaLlm(settings, describe_ollama(settings, model))
