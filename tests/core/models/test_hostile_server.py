"""A server of models that means ill, or is none: replies without end, packed ones, and signs that no text has."""

import asyncio
import gzip
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from elt_llm_core.errors import ModelBroken, ModelRefused, ModelTimeout, UnusableReply
from elt_llm_core.models.ollama_server import OllamaServer
from elt_llm_core.models.openai_like_server import OpenAiLikeServer, described_openai_like
from elt_llm_core.models.writing import ask
from elt_llm_core.settings import Settings
from llama_index.core.llms import ChatMessage
from model_settings import open_llm, settings_of
from openai import OpenAIError

Body = Callable[[], Iterator[bytes]]
AT_MOST = 20.0  # seconds


@contextmanager
def serving(body: Body, status: int = 200, encoding: str = "identity") -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The address of a server that replies so to everything, and the headers it was sent."""
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
                pass  # nobody reads on, as is to be

        do_GET = do_POST = _reply  # noqa: N815 - the names that the base class looks for

        def log_message(self, *arguments: object) -> None:
            """Silent."""

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


def test_a_list_of_models_that_drips_is_given_up() -> None:
    started = time.monotonic()
    with serving(dripping) as (address, _), pytest.raises(ModelTimeout), OllamaServer(asking(address), "any") as server:
        server.models()
    assert time.monotonic() - started < AT_MOST


@pytest.mark.parametrize("status", [200, 500])
def test_a_reply_without_end_is_given_up_before_it_fills_the_memory(status: int) -> None:
    too_much = pytest.raises(UnusableReply, match="more than 128 MB")
    with serving(flooding, status) as (address, _), open_llm(asking(address)) as llm, too_much:
        ask(llm, "Why?")


def test_the_client_of_the_other_protocol_does_not_hide_why_a_reply_is_given_up() -> None:
    with serving(flooding, encoding="gzip") as (address, _):
        settings = settings_of("openai_like", openai_like={"base_url": address, "llm_model": "any"})
        with open_llm(settings) as llm, pytest.raises(UnusableReply, match="packs its replies"):
            ask(llm, "Why?")


def test_a_packed_reply_is_not_unpacked() -> None:
    bomb = gzip.compress(b" " * 1_000_000)
    with serving(lambda: iter([bomb]), encoding="gzip") as (address, heard):
        with pytest.raises(UnusableReply, match="packs its replies"), OllamaServer(asking(address), "any") as server:
            server.models()
        assert heard[0]["accept-encoding"] == "identity"


def test_an_error_nested_too_deeply_to_read_is_an_error_as_any() -> None:
    deep = serving(lambda: iter([b"[" * 5000]), 500)
    with deep as (address, _), pytest.raises(ModelBroken), OllamaServer(asking(address), "any") as server:
        server.models()


def test_halves_of_surrogate_pairs_become_signs_that_can_be_shown() -> None:
    said = json.dumps({"message": {"role": "assistant", "content": "f\ud800our"}, "done": True}).encode()
    with serving(lambda: iter([said])) as (address, _), open_llm(asking(address)) as llm:
        assert ask(llm, "How many?").text == "f\ufffdour"
    failed = json.dumps({"error": "no \udfff way"}).encode()
    failing = serving(lambda: iter([failed]), 400)
    with failing as (address, _), open_llm(asking(address)) as llm, pytest.raises(ModelRefused, match="no \ufffd way"):
        ask(llm, "How many?")
    listed = json.dumps({"models": [{"name": "a\ud800"}]}).encode()
    with serving(lambda: iter([listed])) as (address, _), OllamaServer(asking(address), "any") as server:
        assert [model.name for model in server.models()] == ["a\ufffd"]


def test_the_key_of_the_hosted_service_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "hush-7041")
    said = json.dumps({"message": {"role": "assistant", "content": "four"}, "done": True}).encode()
    with serving(lambda: iter([said])) as (address, heard), open_llm(asking(address)) as llm:
        ask(llm, "How many?")
    assert "hush" not in str(heard)


def _asked_without_waiting(settings: Settings) -> None:
    """Asks through the client that does not wait, and lets go of it in the same loop."""

    async def asking_it() -> None:
        with open_llm(settings) as llm:
            try:
                await llm.achat([ChatMessage(role="user", content="How many?")])
            finally:
                # Each integration keeps its client in a place of its own.
                kept: Any = getattr(llm, "_async_client", None) or getattr(llm, "_aclient", None)
                client: Any = getattr(kept, "_client", kept)
                await client.aclose()

    asyncio.run(asking_it())


def test_a_client_that_does_not_wait_keeps_the_key_of_the_hosted_service_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "hush-7041")
    said = json.dumps({"message": {"role": "assistant", "content": "four"}, "done": True}).encode()
    with serving(lambda: iter([said])) as (address, heard):
        _asked_without_waiting(asking(address))
    assert heard
    assert "hush" not in str(heard)


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
@pytest.mark.parametrize("provider", ["ollama", "openai_like"])
def test_a_client_that_does_not_wait_takes_no_reply_without_end_either(provider: str, encoding: str) -> None:
    with serving(flooding, encoding=encoding) as (address, _):
        section = {"base_url": address, "llm_model": "any:latest"}
        settings = settings_of(provider, patience=5.0, sections={provider: section})
        with pytest.raises((UnusableReply, OpenAIError)) as caught:
            _asked_without_waiting(settings)
    told = caught.value if provider == "ollama" else caught.value.__cause__
    assert ("packs its replies" if encoding == "gzip" else "more than 128 MB") in str(told)


def test_a_server_of_the_other_protocol_is_held_to_the_same() -> None:
    with serving(dripping) as (address, _):
        settings = settings_of("openai_like", patience=0.5, openai_like={"base_url": address})
        described = described_openai_like(settings, "any", "openai_like.llm_model")
        with OpenAiLikeServer(settings, described) as server, pytest.raises(ModelTimeout):
            server.models()
