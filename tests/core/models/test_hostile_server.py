"""Endless replies, compressed replies and lone surrogates of a hostile server do no harm."""

import asyncio
import gzip
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from elt_llm_core.errors import ModelBroken, ModelRefused, ModelTimeout, UnusableReply
from elt_llm_core.models.completion import complete_prompt
from elt_llm_core.models.ollama import OllamaServer
from elt_llm_core.models.openai_like import OpenAiLikeServer, describe_openai_like
from elt_llm_core.settings.tree import Settings
from llama_index.core.llms import LLM, ChatMessage
from model_servers.settings import open_llm, settings_of
from openai import OpenAIError

Body = Callable[[], Iterator[bytes]]
AT_MOST = 20.0  # seconds


@contextmanager
def serving(body: Body, status: int = 200, encoding: str = "identity") -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield the address of a server that sends one reply to every request, and the request headers it received."""
    heard: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def _reply(self) -> None:
            heard.append({name.lower(): value for name, value in self.headers.items()})
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Content-Encoding", encoding)
            self.end_headers()
            try:
                for piece in body():
                    self.wfile.write(piece)
                    self.wfile.flush()
            except OSError:
                pass  # the client closed the connection, as expected

        do_GET = do_POST = _reply  # noqa: N815 - the names that the base class looks for

        def log_message(self, *arguments: object) -> None:
            """Write no log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads, http.block_on_close = True, False
        threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}", heard
        http.shutdown()


def asking(address: str) -> Settings:
    return settings_of("ollama", patience=0.5, ollama={"base_url": address, "llm_model": "any:latest"})


def dripping() -> Iterator[bytes]:
    for _ in itertools.count():
        yield b" "
        time.sleep(0.1)


def flooding() -> Iterator[bytes]:
    return itertools.repeat(b"x" * 1_000_000, 1000)


def test_an_endless_reply_of_a_model_server_times_out() -> None:
    started = time.monotonic()
    with serving(dripping) as (address, _), pytest.raises(ModelTimeout), OllamaServer(asking(address), "any") as server:
        server.models()
    assert time.monotonic() - started < AT_MOST


@pytest.mark.parametrize("status", [200, 500])
def test_an_oversized_reply_is_rejected(status: int) -> None:
    too_much = pytest.raises(UnusableReply, match="more than 128 MB")
    with serving(flooding, status) as (address, _), open_llm(asking(address)) as llm, too_much:
        complete_prompt(llm, "Why?")


def test_the_error_names_the_reason_of_a_reply_rejected_within_the_openai_client() -> None:
    with serving(flooding, encoding="gzip") as (address, _):
        settings = settings_of("openai_like", openai_like={"base_url": address, "llm_model": "any"})
        with open_llm(settings) as llm, pytest.raises(UnusableReply, match="compresses its replies"):
            complete_prompt(llm, "Why?")


def test_a_compressed_reply_of_a_model_server_is_rejected_without_decompression() -> None:
    bomb = gzip.compress(b" " * 1_000_000)
    with serving(lambda: iter([bomb]), encoding="gzip") as (address, heard):
        with (
            pytest.raises(UnusableReply, match="compresses its replies"),
            OllamaServer(asking(address), "any") as server,
        ):
            server.models()
        assert heard[0]["accept-encoding"] == "identity"


def test_an_error_reply_with_deeply_nested_json_raises_an_ordinary_error() -> None:
    deep = serving(lambda: iter([b"[" * 5000]), 500)
    with deep as (address, _), pytest.raises(ModelBroken), OllamaServer(asking(address), "any") as server:
        server.models()


def test_lone_surrogates_in_replies_are_replaced() -> None:
    said = json.dumps({"message": {"role": "assistant", "content": "f\ud800our"}, "done": True}).encode()
    with serving(lambda: iter([said])) as (address, _), open_llm(asking(address)) as llm:
        assert complete_prompt(llm, "How many?").text == "f\ufffdour"
    failed = json.dumps({"error": "no \udfff way"}).encode()
    failing = serving(lambda: iter([failed]), 400)
    with failing as (address, _), open_llm(asking(address)) as llm, pytest.raises(ModelRefused, match="no \ufffd way"):
        complete_prompt(llm, "How many?")
    listed = json.dumps({"models": [{"name": "a\ud800"}]}).encode()
    with serving(lambda: iter([listed])) as (address, _), OllamaServer(asking(address), "any") as server:
        assert [model.name for model in server.models()] == ["a\ufffd"]


def test_the_api_key_of_the_hosted_service_is_not_sent_to_a_local_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "hush-7041")
    said = json.dumps({"message": {"role": "assistant", "content": "four"}, "done": True}).encode()
    with serving(lambda: iter([said])) as (address, heard), open_llm(asking(address)) as llm:
        complete_prompt(llm, "How many?")
    assert "hush" not in str(heard)


def _request_asynchronously(settings: Settings) -> None:
    with open_llm(settings) as llm:
        asyncio.run(llm.achat([ChatMessage(role="user", content="How many?")]))


def test_asynchronous_calls_return_the_answer_with_and_without_streaming() -> None:
    async def answers(llm: LLM) -> list[str]:
        chat = await llm.astream_chat([ChatMessage(role="user", content="How many?")])
        pieces = [str(piece.delta) async for piece in chat]
        streamed = await llm.astream_complete("How many?")
        texts = [piece.text async for piece in streamed]
        return ["".join(pieces), texts[-1], (await llm.acomplete("How many?")).text]

    said = json.dumps({"message": {"role": "assistant", "content": "four"}, "done": True}).encode()
    with serving(lambda: iter([said])) as (address, _), open_llm(asking(address)) as llm:
        assert asyncio.run(answers(llm)) == ["four"] * 3


def test_an_asynchronous_call_does_not_send_the_api_key_of_the_hosted_service_to_a_local_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "hush-7041")
    said = json.dumps({"message": {"role": "assistant", "content": "four"}, "done": True}).encode()
    with serving(lambda: iter([said])) as (address, heard):
        _request_asynchronously(asking(address))
    assert heard
    assert "hush" not in str(heard)


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
@pytest.mark.parametrize("provider", ["ollama", "openai_like"])
def test_an_asynchronous_call_rejects_oversized_and_compressed_replies(provider: str, encoding: str) -> None:
    with serving(flooding, encoding=encoding) as (address, _):
        section = {"base_url": address, "llm_model": "any:latest"}
        settings = settings_of(provider, patience=5.0, sections={provider: section})
        with pytest.raises((UnusableReply, OpenAIError)) as caught:
            _request_asynchronously(settings)
    told = caught.value if provider == "ollama" else caught.value.__cause__
    assert ("compresses its replies" if encoding == "gzip" else "more than 128 MB") in str(told)


def test_an_endless_reply_of_an_openai_like_server_times_out() -> None:
    with serving(dripping) as (address, _):
        settings = settings_of("openai_like", patience=0.5, openai_like={"base_url": address})
        described = describe_openai_like(settings, "any", "openai_like.llm_model")
        with OpenAiLikeServer(settings, described) as server, pytest.raises(ModelTimeout):
            server.models()
