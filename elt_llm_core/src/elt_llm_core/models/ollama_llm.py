"""The language model on a local Ollama server: LlamaIndex's class with explicit options and without truncation."""

from llama_index.llms.ollama import Ollama
from ollama import Client

from elt_llm_core.models.ollama import OllamaServer, check_hosted_model, is_cloud_model, ollama_options
from elt_llm_core.models.served_llm import ServedLlm
from elt_llm_core.settings.tree import Settings


class OllamaLlm(ServedLlm, Ollama):
    """LlamaIndex's Ollama class, but the window, answer length, seed and sampling options are sent with each request.

    Prompts are never truncated. LlamaIndex's own class would request the window from the server whenever its metadata
    are read, always reserve 256 tokens for the answer, and use the environment's proxies.
    """

    def __init__(self, settings: Settings, model: str) -> None:
        chosen, server = settings.ollama, OllamaServer(settings, model)
        address = server.described.address
        options = ollama_options(settings, address, reply_seconds=settings.llm.answer_timeout)
        seed = {} if chosen.seed is None else {"seed": chosen.seed}
        Ollama.__init__(
            self,
            model=model,
            base_url=address,
            temperature=settings.llm.temperature,
            context_window=chosen.context_window,
            request_timeout=chosen.request_timeout,
            additional_kwargs={"num_predict": chosen.num_predict, "top_p": settings.llm.top_p, **seed},
            keep_alive=chosen.keep_alive,
            thinking=chosen.thinking,
            is_function_calling_model=False,
            client=Client(host=address, **options),
        )
        self.connect(server, chosen.num_predict, self.client.close)


def create_ollama_llm(settings: Settings) -> OllamaLlm:
    """Create the language model without sending a request. Raises SettingsError if model or address is forbidden."""
    model = settings.llm.model or settings.ollama.llm_model
    if is_cloud_model(model):
        check_hosted_model(model, allow_remote=settings.network.allow_remote_models)
    return OllamaLlm(settings, model)
