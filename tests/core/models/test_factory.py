import pytest
from elt_llm_core.errors import SettingsError
from elt_llm_core.models.completion import model_server_of
from elt_llm_core.models.embedded import EmbeddedMiniLm
from elt_llm_core.models.factory import LlmChoice, choose_llm, create_embedding, create_llm
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.settings.tree import Settings
from elt_llm_core.utilities import close_if_possible
from model_servers.settings import CLOSED, settings_of
from optional import needs


def test_the_default_embedding_model_is_all_minilm() -> None:
    assert isinstance(create_embedding(Settings()), EmbeddedMiniLm)


def test_the_embedding_model_in_this_process_uses_the_configured_prefixes() -> None:
    chosen = {"query_prefix": "query: ", "text_prefix": "passage: "}
    fingerprint = create_embedding(Settings.model_validate({"embedding": chosen})).fingerprint
    assert (fingerprint.query_prefix, fingerprint.text_prefix) == ("query: ", "passage: ")


def test_the_embedding_provider_embedded_refuses_the_name_of_a_model_that_it_does_not_include() -> None:
    with pytest.raises(SettingsError, match="'bge-m3'") as caught:
        create_embedding(Settings.model_validate({"embedding": {"model": "bge-m3"}}))
    assert caught.value.hint == "Set embedding.model to all-MiniLM-L6-v2 or multilingual-e5-small, or remove it"


def test_the_settings_can_choose_the_fake_embedding_model() -> None:
    assert isinstance(create_embedding(Settings.model_validate({"embedding": {"provider": "fake"}})), FakeEmbedding)


@pytest.mark.parametrize("provider", ["ollama", "openai_like"])
def test_creating_a_model_sends_no_request_to_its_server(provider: str) -> None:
    if provider == "openai_like":
        needs("llama_index.llms.openai_like")
    settings = settings_of(provider)
    embedding, llm = create_embedding(settings), create_llm(settings)
    assert llm is not None
    assert model_server_of(llm).address.startswith(CLOSED)
    assert embedding.model_name == model_server_of(llm).model == "scripted:latest"
    close_if_possible(embedding)
    close_if_possible(llm)


@pytest.mark.parametrize("section", ["llm", "embedding"])
def test_an_openai_like_server_needs_a_model_name(section: str) -> None:
    settings = Settings.model_validate({section: {"provider": "openai_like"}})
    with pytest.raises(SettingsError, match=rf"openai_like\.{section}_model is not set"):
        (create_llm if section == "llm" else create_embedding)(settings)


def test_the_setting_llm_provider_extractive_creates_no_language_model() -> None:
    assert choose_llm(Settings.model_validate({"llm": {"provider": "extractive"}})) == LlmChoice(None)


def test_the_settings_can_choose_the_scripted_language_model() -> None:
    assert isinstance(create_llm(Settings.model_validate({"llm": {"provider": "fake"}})), ScriptedLLM)
