"""The language model that the settings ask for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from elt_llm_core.errors import EltError
from elt_llm_core.settings import Settings

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


@dataclass(frozen=True)
class ChosenLlm:
    """The model, none where answers are extracted, and why `auto` found none; empty where nothing is to be told."""

    llm: "LLM | None"
    note: str = ""


def create_llm(settings: Settings) -> "LLM | None":
    """The model of `llm.provider`; None when answers are to be extracted from the passages instead of written."""
    return choose_llm(settings).llm


def choose_llm(settings: Settings) -> ChosenLlm:
    """The model of `llm.provider`. `auto` asks Ollama, for at most `ollama.connect_timeout` a request.

    Raises SettingsError for what is not allowed and ModelError for what is not installed; whether a server that was
    asked for by name answers shows when it is to write.
    """
    match settings.llm.provider:
        case "extractive":
            return ChosenLlm(None)
        case "auto":
            return _ollama_if_it_answers(settings)
        case "fake":
            from elt_llm_core.models.fakes import ScriptedLLM

            return ChosenLlm(ScriptedLLM())
        case "ollama":
            from elt_llm_core.models.ollama_llm import create_ollama_llm

            return ChosenLlm(create_ollama_llm(settings))
        case "openai_like":
            from elt_llm_core.models.openai_like_llm import create_openai_like_llm

            return ChosenLlm(create_openai_like_llm(settings))
        case "llama_cpp":
            from elt_llm_core.models.llama_cpp_llm import create_llama_cpp_llm

            return ChosenLlm(create_llama_cpp_llm(settings))


def finds_model(settings: Settings) -> bool:
    """Whether `auto` would find a model now; asks Ollama, for at most `ollama.connect_timeout` a request."""
    return not _why_no_ollama(settings)


def _ollama_if_it_answers(settings: Settings) -> ChosenLlm:
    if why := _why_no_ollama(settings):
        return ChosenLlm(None, f"No language model is in use: the answer quotes the documents. {why}.")
    from elt_llm_core.models.ollama_llm import create_ollama_llm

    return ChosenLlm(create_ollama_llm(settings))


def _why_no_ollama(settings: Settings) -> str:
    """What is missing and what mends it; empty if the model is there."""
    from elt_llm_core.models.ollama_server import OllamaServer

    model = settings.llm.model or settings.ollama.llm_model
    try:
        with OllamaServer(settings, model, patience=settings.ollama.connect_timeout) as server:
            server.find()
    except EltError as error:
        return ". ".join(part.rstrip(".") for part in (str(error), error.hint) if part)
    return ""
