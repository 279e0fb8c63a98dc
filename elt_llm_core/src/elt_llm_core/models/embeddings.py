"""The embedding model that the settings ask for."""

import os

from elt_llm_core.errors import SettingsError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.settings import EmbeddingSettings, Settings

MOST_THREADS = 8


def create_embedding(settings: Settings) -> EmbeddingModel:
    """The model of `embedding.provider`; a server is asked when the first vector or limit is wanted, not before.

    Raises SettingsError for a model that the provider does not have, and for an address that is not allowed.
    """
    chosen = settings.embedding
    match chosen.provider:
        case "embedded":
            return _embedded(chosen)
        case "fake":
            from elt_llm_core.models.fakes import FakeEmbedding

            return FakeEmbedding()
        case "ollama":
            from elt_llm_core.models.ollama_embedding import OllamaEmbedding

            return OllamaEmbedding(settings)
        case "openai_like":
            from elt_llm_core.models.openai_like_embedding import OpenAiLikeEmbedding

            return OpenAiLikeEmbedding(settings)


def _embedded(chosen: EmbeddingSettings) -> EmbeddingModel:
    from elt_llm_core.models.embedded import MODEL_NAME, EmbeddedMiniLm

    if chosen.model not in (None, MODEL_NAME):
        raise SettingsError(
            f"embedding.model is '{chosen.model}', but the embedded provider has '{MODEL_NAME}' alone",
            hint=f"Set embedding.model to {MODEL_NAME} or leave it out",
        )
    threads = min(os.cpu_count() or 1, MOST_THREADS)
    return EmbeddedMiniLm(threads, query_prefix=chosen.query_prefix or "", text_prefix=chosen.text_prefix or "")
