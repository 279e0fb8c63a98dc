"""The key of a model server is sent to that server and never appears in messages."""

import json

import pytest
from elt_llm_core.errors import EltError, ModelError
from elt_llm_core.models.openai_like import OpenAiLikeServer, api_key, describe_openai_like
from elt_llm_core.models.server import error_from_status, error_text, to_model_error
from elt_llm_core.settings.tree import Settings
from model_servers.settings import settings_of

VARIABLE = "KEY_OF_THE_SERVER_IN_TESTS"


def keyed() -> Settings:
    return settings_of("openai_like", openai_like={"api_key_variable": VARIABLE})


def test_white_space_around_an_api_key_is_stripped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, " hush-7041\n")
    assert api_key(keyed()) == "hush-7041"


@pytest.mark.parametrize("value", ["hush-7041\r\nX-Other: y", "hush-7041\u00e4", "hush-7041\x1bx", "hush\u2028-7041"])
def test_an_api_key_with_characters_that_headers_forbid_is_refused_and_the_error_does_not_repeat_the_key(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, value)
    settings = keyed()
    with pytest.raises(ModelError, match=VARIABLE) as caught:
        OpenAiLikeServer(settings, describe_openai_like(settings, "any", "openai_like.llm_model"))
    assert "hush" not in f"{caught.value} {caught.value.hint}"


def test_an_api_key_of_white_space_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, " \n")
    with pytest.raises(ModelError, match="is not set"):
        api_key(keyed())


KEY = 'hush/7041"+x'
QUOTED = ["Wrong key: {key}", "{key}", "x" * 290 + "{key}", "x {key}" * 40, '{{"key": "{json}"}}', "/v1?key={url}"]


@pytest.mark.parametrize("said", QUOTED)
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, -1])
def test_error_messages_quote_a_server_reply_without_the_api_key(
    said: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    described = describe_openai_like(keyed(), "any", "openai_like.llm_model")
    message = said.format(key=KEY, json=json.dumps(KEY)[1:-1], url="hush%2F7041%22%2Bx")
    told: list[EltError] = [error_from_status(status, message, described)]
    told += [to_model_error(kind(message), described) for kind in (ValueError, OSError, RuntimeError)]
    assert "7041" not in "".join(f"{error} {error.hint} {described!r}" for error in told)


def test_a_long_api_key_is_masked_before_the_error_message_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "hush-" + "7041" * 700)
    described = describe_openai_like(keyed(), "any", "openai_like.llm_model")
    content = f"Wrong keys: {described.key} and {described.key}".encode()
    assert str(error_from_status(401, error_text(content), described)).endswith("Wrong keys: *** and *** (status 401)")


def test_a_very_short_api_key_is_not_masked_in_error_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "e")
    described = describe_openai_like(keyed(), "any", "openai_like.llm_model")
    assert "the server sleeps" in str(error_from_status(400, "the server sleeps", described))
