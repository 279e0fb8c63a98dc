import pytest
from elt_llm_core.errors import ModelError, SettingsError
from elt_llm_core.models.embedded import EmbeddedMiniLm
from elt_llm_core.models.embeddings import create_embedding
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.models.llms import create_llm
from elt_llm_core.settings import Settings


def test_the_default_embedding_is_the_embedded_one() -> None:
    assert isinstance(create_embedding(Settings()), EmbeddedMiniLm)


def test_prefixes_of_the_settings_reach_the_model() -> None:
    chosen = {"query_prefix": "query: ", "text_prefix": "passage: "}
    fingerprint = create_embedding(Settings.model_validate({"embedding": chosen})).fingerprint
    assert (fingerprint.query_prefix, fingerprint.text_prefix) == ("query: ", "passage: ")


def test_the_embedded_provider_refuses_a_model_it_does_not_have() -> None:
    with pytest.raises(SettingsError, match="'bge-m3'") as caught:
        create_embedding(Settings.model_validate({"embedding": {"model": "bge-m3"}}))
    assert "all-MiniLM-L6-v2" in caught.value.hint


def test_the_fake_embedding_can_be_chosen() -> None:
    assert isinstance(create_embedding(Settings.model_validate({"embedding": {"provider": "fake"}})), FakeEmbedding)


def test_ollama_is_told_to_be_missing() -> None:
    settings = Settings.model_validate({"embedding": {"provider": "ollama"}, "llm": {"provider": "ollama"}})
    with pytest.raises(ModelError, match="not available in this version") as caught:
        create_embedding(settings)
    assert "embedding.provider" in caught.value.hint
    with pytest.raises(ModelError, match="not available in this version") as caught:
        create_llm(settings)
    assert "llm.provider" in caught.value.hint


@pytest.mark.parametrize("provider", ["auto", "extractive"])
def test_without_a_language_model_answers_are_extracted(provider: str) -> None:
    assert create_llm(Settings.model_validate({"llm": {"provider": provider}})) is None


def test_the_scripted_language_model_can_be_chosen() -> None:
    assert isinstance(create_llm(Settings.model_validate({"llm": {"provider": "fake"}})), ScriptedLLM)
