"""The language model that the settings ask for."""

from typing import TYPE_CHECKING

from elt_llm_core.errors import ModelError
from elt_llm_core.settings import Settings

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


def create_llm(settings: Settings) -> "LLM | None":
    """The model of `llm.provider`; None when answers are to be extracted from the passages instead of written.

    `auto` means extraction for now: no address is probed.
    """
    match settings.llm.provider:
        case "auto" | "extractive":
            return None
        case "fake":
            from elt_llm_core.models.fakes import ScriptedLLM

            return ScriptedLLM()
        case "ollama":
            raise ModelError(
                "Answering by Ollama is not available in this version", hint="Set llm.provider to auto or extractive"
            )
