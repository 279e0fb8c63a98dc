"""How Ollama tells the window of a loaded model, and the tokens of a prompt."""

from collections.abc import Mapping, Sequence
from typing import Any

from elt_llm_core.errors import ModelError
from elt_llm_core.models.ollama_server import OllamaServer, same_model
from elt_llm_core.models.prompt_proof import WireMessage
from elt_llm_core.models.uncut_requests import UNCUT
from elt_llm_core.settings import Settings


class OllamaCounter:
    """Asks with the window and the model that answers were asked with: another window would load the model anew."""

    def __init__(self, settings: Settings, model: str) -> None:
        self._settings = settings
        self._model = model

    def told_window(self) -> int | None:
        """`context_length` of the running model, which Ollama tells since July 2025; None otherwise."""
        patience = self._settings.ollama.connect_timeout
        with OllamaServer(self._settings, self._model, patience=patience) as server:
            try:
                return loaded_window(server.request("GET", "/api/ps"), self._model)
            except ModelError:  # an older server, or one that only speaks as Ollama does, has no such page
                return None

    def count(self, messages: Sequence[WireMessage]) -> int | None:
        """`prompt_eval_count` of a request that writes one token."""
        chosen = self._settings.ollama
        body = {
            "model": self._model,
            "messages": list(messages),
            "stream": False,
            "options": {"num_ctx": chosen.context_window, "num_predict": 1, "temperature": 0.0},
            "think": chosen.thinking,
            "keep_alive": chosen.keep_alive,
            **UNCUT,
        }
        with OllamaServer(self._settings, self._model) as server:
            counted = server.request("POST", "/api/chat", body).get("prompt_eval_count")
        return counted if isinstance(counted, int) and counted > 0 else None


def loaded_window(running: Mapping[str, Any], model: str) -> int | None:
    """The window of a model in the reply of /api/ps."""
    entries = running.get("models")
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, Mapping) and same_model(str(entry.get("name") or entry.get("model") or ""), model):
            told = entry.get("context_length")
            return told if isinstance(told, int) and told > 0 else None
    return None
