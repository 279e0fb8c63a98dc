"""The key of a model server reaches that server, and no message."""

import json

import pytest
from elt_llm_core.errors import EltError, ModelError
from elt_llm_core.models.openai_like_server import OpenAiLikeServer, described_openai_like, key_of
from elt_llm_core.models.server_failures import by_status, explained, words_of
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


KEY = 'hush/7041"+x'
QUOTED = ["Wrong key: {key}", "{key}", "x" * 290 + "{key}", "x {key}" * 40, '{{"key": "{json}"}}', "/v1?key={url}"]


@pytest.mark.parametrize("said", QUOTED)
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, -1])
def test_a_server_that_repeats_the_key_is_quoted_without_it(
    said: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    described = described_openai_like(keyed(), "any", "openai_like.llm_model")
    message = said.format(key=KEY, json=json.dumps(KEY)[1:-1], url="hush%2F7041%22%2Bx")
    told: list[EltError] = [by_status(status, message, described)]
    told += [explained(kind(message), described) for kind in (ValueError, OSError, RuntimeError)]
    assert "7041" not in "".join(f"{error} {error.hint} {described!r}" for error in told)


def test_a_long_key_is_not_cut_before_it_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "hush-" + "7041" * 700)
    described = described_openai_like(keyed(), "any", "openai_like.llm_model")
    content = f"Wrong keys: {described.key} and {described.key}".encode()
    assert str(by_status(401, words_of(content), described)).endswith("Wrong keys: *** and *** (status 401)")


def test_what_is_too_short_for_a_secret_changes_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "e")
    described = described_openai_like(keyed(), "any", "openai_like.llm_model")
    assert "the server sleeps" in str(by_status(400, "the server sleeps", described))
