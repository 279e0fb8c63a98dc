"""Create the configured embedding model and language model."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elt_llm_core.errors import EltError, SettingsError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.settings.tree import EmbeddingSettings, Settings

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

MAX_THREADS = 8

NO_MODEL = "No language model is in use: the answer quotes the documents."


def create_embedding(settings: Settings, *, threads: int | None = None) -> EmbeddingModel:
    """Create the embedding model that `embedding.provider` and `embedding.model` select.

    A model in this process uses `threads` threads (default: one for each processor, at most 8). A model server is
    contacted only when needed. Raises SettingsError for a model or address that is not allowed.
    """
    chosen = settings.embedding
    match chosen.provider:
        case "embedded":
            return _create_installed(chosen, threads or min(os.cpu_count() or 1, MAX_THREADS))
        case "fake":
            from elt_llm_core.models.fakes import FakeEmbedding

            return FakeEmbedding()
        case "ollama":
            from elt_llm_core.models.ollama import OllamaEmbedding

            return OllamaEmbedding(settings)
        case "openai_like":
            from elt_llm_core.models.openai_like import OpenAiLikeEmbedding

            return OpenAiLikeEmbedding(settings)


def _create_installed(chosen: EmbeddingSettings, threads: int) -> EmbeddingModel:
    """Create an embedding model that runs in this process. For a prefix that is not set, the model uses its own."""
    from elt_llm_core.models import embedded, multilingual

    given = {"query_prefix": chosen.query_prefix, "text_prefix": chosen.text_prefix}
    prefixes = {name: prefix for name, prefix in given.items() if prefix is not None}
    match chosen.model:
        case None | embedded.MODEL_NAME:
            return embedded.EmbeddedMiniLm(threads, **prefixes)
        case multilingual.MODEL_NAME:
            return multilingual.MultilingualE5(threads, **prefixes)
    names = f"{embedded.MODEL_NAME} or {multilingual.MODEL_NAME}"
    raise SettingsError(
        f"embedding.model is '{chosen.model}', but the embedded provider has only {names}",
        hint=f"Set embedding.model to {names}, or remove it",
    )


@dataclass(frozen=True)
class LlmChoice:
    """A language model, or None for extractive answers. `note` explains why the provider `auto` uses no model."""

    llm: "LLM | None"
    note: str = ""


def create_llm(settings: Settings) -> "LLM | None":
    """Create the language model that `llm.provider` selects, or return None if answers are quoted from the chunks."""
    return choose_llm(settings).llm


def choose_llm(settings: Settings) -> LlmChoice:
    """Create the language model that `llm.provider` selects.

    The provider `auto` contacts Ollama, for at most `ollama.connect_timeout` seconds per request. Other servers are not
    contacted before the first answer. Raises SettingsError for a model or address that is not allowed, and ModelError
    if an extra is not installed.
    """
    match settings.llm.provider:
        case "extractive":
            return LlmChoice(None)
        case "auto" if problem := _ollama_problem(settings):
            return LlmChoice(None, f"{NO_MODEL} {problem}.")
        case "fake":
            from elt_llm_core.models.fakes import ScriptedLLM

            return LlmChoice(ScriptedLLM())
        case "auto" | "ollama":
            from elt_llm_core.models.ollama_llm import create_ollama_llm

            return LlmChoice(create_ollama_llm(settings))
        case "openai_like":
            from elt_llm_core.models.openai_like import create_openai_like_llm

            return LlmChoice(create_openai_like_llm(settings))
        case "llama_cpp":
            from elt_llm_core.models.llama_cpp import create_llama_cpp_llm

            return LlmChoice(create_llama_cpp_llm(settings))


def is_model_available(settings: Settings) -> bool:
    """Return whether a language model would be used with `llm.provider: auto`.

    Waits at most `ollama.connect_timeout` seconds per request.
    """
    return not _ollama_problem(settings)


def _ollama_problem(settings: Settings) -> str:
    """Return a sentence on why Ollama cannot be used and what to do, or an empty text if it has the model."""
    from elt_llm_core.models.ollama import OllamaServer

    model = settings.llm.model or settings.ollama.llm_model
    try:
        with OllamaServer(settings, model, patience=settings.ollama.connect_timeout) as server:
            server.find()
    except EltError as error:
        return ". ".join(part.rstrip(".") for part in (str(error), error.hint) if part)
    return ""
