"""Settings that connect each provider to the test model server, with short timeouts."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elt_llm_core.models.factory import create_embedding, create_llm
from elt_llm_core.settings.tree import Settings
from elt_llm_core.utilities import close_if_possible
from model_servers.http_server import ModelHttpServer
from optional import needs

if TYPE_CHECKING:
    from elt_llm_core.models.embedding_model import EmbeddingModel
    from llama_index.core.llms import LLM

Section = dict[str, Any]
CLOSED = "http://127.0.0.1:9"
"""The address of a closed port."""


def settings_of(
    provider: str,
    server: ModelHttpServer | None = None,
    *,
    gguf: Path | None = None,
    patience: float = 20.0,
    sections: Mapping[str, Section] | None = None,
    **more: Section,
) -> Settings:
    """Settings for both models of `provider`; without a server, with the address of a closed port.

    `patience` is the timeout in seconds between two pieces of an answer. `sections`, or keyword arguments with the
    names of sections, override the other settings.
    """
    model = server.backend.name if server else "scripted:latest"
    waiting = {"request_timeout": patience, "num_predict": 24}
    embeds = {"ollama", "openai_like"}
    value: dict[str, dict[str, Any]] = {
        "llm": {"provider": provider, "temperature": 0.0, "answer_timeout": 60.0},
        "embedding": {"provider": provider if provider in embeds else "embedded"},
        "ollama": {
            **waiting,
            "base_url": server.address if server else CLOSED,
            "connect_timeout": 1.0,
            "llm_model": model,
            "embedding_model": model,
            "context_window": 1024,
        },
        "openai_like": {
            **waiting,
            "base_url": server.openai_address if server else f"{CLOSED}/v1",
            "connect_timeout": 1.0,
            "llm_model": model,
            "embedding_model": model,
            "context_window": 1024,
        },
        "llama_cpp": {**waiting, "model_path": gguf, "context_window": 1024, "threads": 1},
    }
    for name, section in {**(sections or {}), **more}.items():
        value[name] = {**value.get(name, {}), **section}
    return Settings.model_validate(value)


@contextmanager
def open_llm(settings: Settings) -> "Iterator[LLM]":
    """Open the language model of the settings and close it at the end."""
    if settings.llm.provider == "openai_like":
        needs("llama_index.llms.openai_like")
    llm = create_llm(settings)
    assert llm is not None
    try:
        yield llm
    finally:
        close_if_possible(llm)


@contextmanager
def open_embedding(settings: Settings) -> "Iterator[EmbeddingModel]":
    """Open the embedding model of the settings and close it at the end."""
    model = create_embedding(settings)
    try:
        yield model
    finally:
        close_if_possible(model)
