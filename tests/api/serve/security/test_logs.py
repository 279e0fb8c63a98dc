"""Security case S-LOG: neither keys nor questions nor text of documents appear in the log, whatever fails."""

import asyncio
import io
import logging
import sys
from pathlib import Path

import httpx
import pytest
from elt_llm_api.serve.access.gate import AccessGate, CallerRegistry, Lockout, RateLimit
from elt_llm_api.serve.app import with_middleware
from elt_llm_api.serve.errors import add_error_handlers
from elt_llm_api.serve.listening import RedactingFormatter
from elt_llm_core.errors import StoreError
from elt_llm_core.settings.tree import ServeSettings
from elt_llm_core.state.keys import KeyRecord
from fastapi import FastAPI
from processes.command_line import CommandLine
from served.command import RunningCommand, serving
from starlette.types import ASGIApp

CANARY = "zqxcanary"
TOKEN = f"{CANARY}-token-{'t' * 32}"


@pytest.mark.network
def test_no_secret_is_logged_at_the_highest_verbosity(own_samples: CommandLine, tmp_path: Path) -> None:
    own_samples.done("drop", "samples", "--yes")
    document = own_samples.folder / "note.md"
    document.write_text(f"# {CANARY}\n\nThe {CANARY} ground has ninety points.\n", encoding="utf-8")
    own_samples.done("ingest", document, "-c", "notes")
    with serving(own_samples.folder, tmp_path, "-vv", token=TOKEN) as running:
        statuses = _asked(running)
        running.process.terminate()
        running.process.wait(60)
        output = running.output
    assert statuses == [200, 200, 401, 422, 404, 401, 303, 200]
    assert "POST /v1/ask 200" in output  # the log has the event
    assert CANARY not in output


def _asked(running: RunningCommand) -> list[int]:
    """Send right, wrong and missing keys, sign in in two ways, and send a secret in a URL."""
    with httpx.Client(base_url=running.address, timeout=60) as client:
        key = {"authorization": f"Bearer {TOKEN}"}
        question = {"question": f"How many points has the {CANARY} ground?"}
        answered = [
            client.post("/v1/ask", json=question, headers=key),
            client.post("/v1/ask", json=question, headers={**key, "accept": "text/event-stream"}),
            client.post("/v1/ask", json=question, headers={"authorization": f"Bearer {CANARY}"}),
            client.post("/v1/ask", json={"question": [CANARY], CANARY: 1}, headers=key),
            client.post("/v1/nothing", json={"password": CANARY}, headers=key),
            client.post("/login", data={"key": f"{CANARY}-wrong"}),
            client.post("/login", data={"key": TOKEN}),
            client.get("/ready", params={"token": CANARY}, headers=key),
        ]
    return [one.status_code for one in answered]


def _failing() -> ASGIApp:
    app = FastAPI()
    add_error_handlers(app)

    @app.get("/fails")
    def fails() -> None:
        try:
            raise ValueError(f"cannot read: {CANARY}")
        except ValueError as error:
            raise RuntimeError(f"{CANARY} at /srv/secret/{CANARY}.md") from error

    @app.get("/broken")
    def broken() -> None:
        raise StoreError(f"/srv/{CANARY} is damaged.", hint=f"Run: elt-llm verify {CANARY}")

    reader = KeyRecord("reader", ("*",), ("*",), administers=False, created_at="")
    callers = CallerRegistry(TOKEN, lambda secret: reader if secret == "of a reader" else None, lambda: True)
    gate = AccessGate(callers, Lockout(3, 3), RateLimit(100))
    return with_middleware(app, gate, ServeSettings())


def _told(path: str, key: str) -> httpx.Response:
    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(_failing(), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path, headers={"authorization": f"Bearer {key}"})

    return asyncio.run(ask())


def test_error_details_for_the_operator_are_hidden_from_other_callers() -> None:
    assert CANARY in _told("/broken", TOKEN).text
    for_others = _told("/broken", "of a reader")
    assert (for_others.status_code, for_others.json()["error"]["type"]) == (500, "store_error")
    assert CANARY not in for_others.text


def test_the_response_to_an_unexpected_error_shows_only_the_request_id() -> None:
    answer = _told("/fails", TOKEN)
    assert answer.status_code == 500
    error = answer.json()["error"]
    assert (error["type"], error["request_id"]) == ("internal_error", answer.headers["x-request-id"])
    assert CANARY not in answer.text
    assert "Traceback" not in answer.text
    assert answer.headers["content-security-policy"]


def test_a_logged_traceback_shows_code_locations_without_error_messages() -> None:
    logged = io.StringIO()
    handler = logging.StreamHandler(logged)
    handler.setFormatter(RedactingFormatter())
    logger = logging.Logger("failing")
    logger.addHandler(handler)
    try:
        try:
            raise ValueError(CANARY)
        except ValueError as error:
            raise RuntimeError(f"{CANARY} again") from error
    except RuntimeError:
        logger.exception("It failed")
    output = logged.getvalue()
    assert CANARY not in output
    assert "builtins.ValueError" in output
    assert "builtins.RuntimeError" in output
    assert Path(__file__).name in output


SECRETS = (
    f"headers={{'Authorization': 'Bearer {CANARY}'}}",
    f"authorization: Basic {CANARY}=",
    f"[(b'cookie', b'a=b; elt_llm_key={CANARY}')]",
    f"HTTP Request: POST http://127.0.0.1:11434/api?key={CANARY}&x=1 HTTP/1.1 200 OK",
    f"GET https://{CANARY}:{CANARY}@models.example/v1",
    f"the key elt_{CANARY}{'x' * 34}",
    f"token {TOKEN} was shown",
)


@pytest.mark.parametrize("line", SECRETS)
@pytest.mark.parametrize("as_argument", [True, False])
def test_secrets_that_libraries_log_are_masked_in_the_formatted_log_line(line: str, as_argument: bool) -> None:
    message, arguments = ("%s", (line,)) if as_argument else (line.replace("%", "%%"), ())
    record = logging.LogRecord("httpx", logging.DEBUG, __file__, 1, message, arguments, None)
    assert CANARY not in RedactingFormatter([TOKEN]).format(record)


def test_exception_text_cached_by_another_log_formatter_is_not_used() -> None:
    try:
        raise ValueError(CANARY)
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "failed", (), sys.exc_info())
    assert CANARY in logging.Formatter().format(record)
    assert CANARY not in RedactingFormatter().format(record)
