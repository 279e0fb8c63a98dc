"""The key of a model server reaches that server, and no message."""

import pytest
from elt_llm_core.errors import ModelError
from elt_llm_core.models.openai_like_server import OpenAiLikeServer, described_openai_like, key_of
from elt_llm_core.settings import Settings
from model_settings import settings_of

VARIABLE = "KEY_OF_THE_SERVER_IN_TESTS"


def keyed() -> Settings:
    return settings_of("openai_like", openai_like={"api_key_variable": VARIABLE})


def test_white_space_around_a_key_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, " hush-7041\n")
    assert key_of(keyed()) == "hush-7041"


@pytest.mark.parametrize("value", ["hush-7041\r\nX-Other: y", "hush-7041\u00e4", "hush-7041\x1bx", "hush\u2028-7041"])
def test_a_key_that_no_header_holds_is_refused_and_not_repeated(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, value)
    settings = keyed()
    with pytest.raises(ModelError, match=VARIABLE) as caught:
        OpenAiLikeServer(settings, described_openai_like(settings, "any", "openai_like.llm_model"))
    assert "hush" not in f"{caught.value} {caught.value.hint}"


def test_white_space_alone_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, " \n")
    with pytest.raises(ModelError, match="is not set"):
        key_of(keyed())
