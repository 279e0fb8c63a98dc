"""Describe model servers, check their addresses, and convert their failures to typed errors."""

import ipaddress
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import quote, urlsplit

import httpx

from elt_llm_core.errors import (
    EltError,
    ModelBroken,
    ModelError,
    ModelMissing,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    PromptTooLong,
    SettingsError,
    UnusableReply,
)
from elt_llm_core.text.normalise import replace_surrogates

ANSWER_TIMEOUT = 1800.0  # seconds
_MIN_KEY_LENGTH = 6  # shorter keys are not masked, because they are insecure and occur in ordinary words
MASKED_KEY = "***"


@dataclass(frozen=True)
class ModelServer:
    """A language or embedding model and the server (or library in this process) that runs it."""

    name: str
    """The product that runs the model, such as Ollama."""
    address: str
    model: str
    section: str
    """The settings section with the server's address, window and timeouts."""
    start: str
    """The hint if the server does not answer, such as "Run: ollama serve"."""
    fetch: str
    """The hint if the server lacks the model, such as "Run: ollama pull NAME"."""
    answer_timeout: float = ANSWER_TIMEOUT
    """Seconds that one answer may take in total."""
    context_window: int | None = None
    """The maximum number of tokens of prompt and answer together, if configured."""
    key: str = field(default="", repr=False)
    """The API key that is sent, if any. Messages must not contain this key."""

    @property
    def in_a_sentence(self) -> str:
        """The server's name as written within a sentence, such as "the model server"."""
        return f"the {rest}" if (rest := self.name.removeprefix("The ")) != self.name else self.name

    def masked(self, message: str) -> str:
        """Replace the API key in a message from the server by `***`. The key may be escaped for JSON or a URL."""
        if len(self.key) < _MIN_KEY_LENGTH:
            return message
        forms = {self.key, json.dumps(self.key)[1:-1], quote(self.key), quote(self.key, safe="")}
        for form in sorted(forms, key=len, reverse=True):
            message = message.replace(form, MASKED_KEY)
        return message

    def __str__(self) -> str:
        """Return the name and the address, as messages show them."""
        return f"{self.name} at {self.address}"


_LOCAL_ENDINGS = (".localhost", ".local", ".lan", ".internal", ".home.arpa")
# Python's `is_private` differs between versions and includes tunnels to any address.
_LOCAL_NUMBERS = tuple(
    map(
        ipaddress.ip_network,
        (
            *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "0.0.0.0/32"),
            *("::1/128", "::/128", "fc00::/7", "fe80::/10"),
        ),
    )
)
# Other characters are not allowed: name resolution maps them to these, such as U+3002 (a Chinese full stop) to a dot.
_HOST_NAME = re.compile(r"[a-z0-9_.-]{1,253}")


def is_local_host(host: str) -> bool:
    """Return whether a host name or address is on this machine or the local network.

    These are loopback, private and link-local addresses, and names that public name servers do not resolve. Names
    without a dot are local, because only containers and routers use them. Addresses that embed another address for a
    tunnel or a translator (Teredo, 6to4, NAT64) may lead anywhere, so they are not local.
    """
    bare = host.rstrip(".").lower()
    try:
        number = ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        local = "." not in bare or bare.endswith(_LOCAL_ENDINGS)
        # 134744072 and 0x8080808 both mean 8.8.8.8.
        is_number = bare.isdigit() or bare.startswith("0x")
        return local and _HOST_NAME.fullmatch(bare) is not None and not is_number
    # An IPv4 address may be written as IPv6: ::ffff:8.8.8.8 is 8.8.8.8.
    number = getattr(number, "ipv4_mapped", None) or number
    return any(number in network for network in _LOCAL_NUMBERS)


def check_address(address: str, key: str, *, allow_remote: bool) -> str:
    """Check a server's address, and return it without a trailing slash. `key` is the name of its setting.

    Raises SettingsError if the address is not an http address, contains a user name or password (which messages would
    show), or is outside the local network and `allow_remote` is false.
    """
    if "@" in address:
        raise SettingsError(
            f"{key} contains a user name or password before its '@'",
            hint=f"Remove it from {key}. Put a key into the variable that openai_like.api_key_variable names",
        )
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in {"http", "https"} or not host:
        raise SettingsError(
            f"{key} is '{address}', which is not the address of a server",
            hint=f"Set {key} to an address such as http://localhost:11434",
        )
    if not allow_remote and not is_local_host(host):
        raise SettingsError(
            f"{key} is '{address}', which is outside the local network, and network.allow_remote_models is false",
            hint=f"Set {key} to a local address, or network.allow_remote_models to true if texts may leave",
        )
    return address.rstrip("/")


_MAX_QUOTED = 300  # characters of a server's message
_MAX_READ = 1 << 16  # bytes; longer than any key, so that no key is cut before it is masked
_BUSY_STATUSES = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE}
_LOADING_MESSAGES = ("loading", "server busy", "try again", "overloaded")
_HINT_WITHOUT_KEY = {"openai_like": "Set openai_like.api_key_variable to the variable that holds the key"}
_HINT_THINKING = {"ollama": "Set ollama.thinking to false"}
_TOO_LONG_MESSAGES = re.compile(
    "context length|context size|context window|maximum context|exceeds the|too large to process"
)


def client_errors() -> tuple[type[Exception], ...]:
    """Return the clients' exception classes for connection failures, error statuses and malformed replies."""
    from ollama import RequestError, ResponseError

    shapes = (ValueError, KeyError, TypeError, AttributeError, IndexError, RuntimeError)
    known = (EltError, OSError, httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, RequestError, ResponseError)
    # The OpenAI client is an optional extra. If it is not imported, it cannot have raised anything.
    openai = sys.modules.get("openai")
    return (*known, *shapes, *((openai.OpenAIError,) if openai else ()))


def to_model_error(error: Exception, server: ModelServer) -> EltError:
    """Convert an exception of a client of a model server to an error of this project. Returns an EltError unchanged."""
    for candidate in (error, error.__cause__):  # the OpenAI client wraps our errors in its own
        if isinstance(candidate, EltError):
            return candidate
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        message = getattr(error, "error", None) or getattr(error, "message", None)
        return error_from_status(status, message if isinstance(message, str) else str(error), server)
    return _error_from_client(error, server)


def error_from_status(status: int, message: str, server: ModelServer) -> ModelError:
    """Return the error for an HTTP status and message. Ollama reports errors during an answer as status -1."""
    message, tokens, window = _unwrap_error(message)
    lowered, text = message.lower(), f"{server} reports: {_shorten(message, server)}"
    if status == HTTPStatus.NOT_FOUND:
        return ModelMissing(f"{server} does not have the model '{server.model}'", hint=server.fetch)
    if _TOO_LONG_MESSAGES.search(lowered):
        if tokens is None or window is None:
            return prompt_too_long(f"The text is longer than '{server.model}' reads. {text}", server)
        return prompt_too_long(
            f"The text has {tokens} tokens, and {server} reads {window} with '{server.model}'", server, window
        )
    if status in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.GATEWAY_TIMEOUT}:
        return _timeout(server)
    if status in _BUSY_STATUSES or (status >= 500 and any(words in lowered for words in _LOADING_MESSAGES)):
        return ModelUnavailable(text, hint="The server may still be loading the model: try again in a minute")
    return _error_from_other_status(status, lowered, text, server)


def _error_from_other_status(status: int, lowered: str, text: str, server: ModelServer) -> ModelError:
    if "memory" in lowered:
        return ModelRefused(text, hint=f"Choose a smaller model, or a smaller {server.section}.context_window")
    if status >= 500 or status < 0:
        return ModelBroken(text, hint=f"Look at the log of {server.in_a_sentence}")
    return ModelRefused(f"{text} (status {status})", hint=_refusal_hint(status, lowered, server))


_MOST_NESTED = 4  # JSON errors nested in each other
_COUNT_KEYS = ("n_prompt_tokens", "n_ctx")


def _unwrap_error(message: str) -> tuple[str, int | None, int | None]:
    """Return an error's innermost message, the prompt's tokens and the context window. Unknown numbers are None.

    Ollama passes on its runner's errors as JSON within JSON. Errors from llama.cpp's server contain the numbers.
    """
    counts: dict[str, int] = {}
    for _ in range(_MOST_NESTED):
        try:
            value = json.loads(message[:_MAX_READ])
        except (ValueError, RecursionError):
            break
        inner = value.get("error", value) if isinstance(value, dict) else None
        if isinstance(inner, dict):
            counts |= {key: inner[key] for key in _COUNT_KEYS if isinstance(inner.get(key), int)}
            inner = inner.get("message")
        if not isinstance(inner, str):
            break
        message = inner
    return message, counts.get("n_prompt_tokens"), counts.get("n_ctx")


def error_text(content: bytes) -> str:
    """Return the message of an error reply: the value of `error` if the reply is JSON, else the whole text."""
    text = content[:_MAX_READ].decode("utf-8", "replace")
    try:
        error = json.loads(text)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return text
    return str(error.get("message", error)) if isinstance(error, dict) else str(error)


def prompt_too_long(message: str, server: ModelServer, window: int | None = None) -> PromptTooLong:
    """Return the error for a text that was refused or truncated. Its hint names the settings to change.

    `window` is the context window that the server loaded, if known. If the setting is greater, the hint is to lower it.
    """
    if window is not None and window < (server.context_window or 0):
        return PromptTooLong(
            message, hint=f"Set {server.section}.context_window to {window}, because the server loads no larger window"
        )
    return PromptTooLong(
        message,
        hint=f"Raise {server.section}.context_window if the model reads more,"
        f" or lower llm.max_context_tokens or {server.section}.num_predict",
    )


def _error_from_client(error: Exception, server: ModelServer) -> ModelError:
    """Convert an error without an HTTP status: a failed connection, a broken-off answer or an unreadable reply."""
    look = f"Look at the log of {server.in_a_sentence}"
    cause = error.__cause__ if isinstance(error.__cause__, httpx.HTTPError) else error
    unreachable = httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout | ConnectionRefusedError
    # Ollama's client raises a plain ConnectionError if the port is closed. A subclass means that the answer broke off.
    if isinstance(cause, unreachable) or type(cause) is ConnectionError:
        return ModelUnavailable(f"{server} cannot be reached", hint=server.start)
    if isinstance(cause, httpx.TimeoutException | TimeoutError):
        return _timeout(server)
    if isinstance(cause, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return ModelRefused(
            f"{server.address} is not a valid address: {server.masked(str(cause))}",
            hint=f"Correct {server.section}.base_url",
        )
    if isinstance(cause, httpx.TransportError | OSError):
        return ModelBroken(
            f"{server} broke off its answer: {_shorten(str(cause) or type(cause).__name__, server)}",
            hint=f"{look}: the server may have run out of memory",
        )
    if "openai" in sys.modules and isinstance(error, sys.modules["openai"].OpenAIError):
        return ModelBroken(f"{server} failed: {_shorten(str(error), server)}", hint=look)
    return UnusableReply(
        f"{server} gave a reply that cannot be read ({type(error).__name__}: {_shorten(str(error), server)})",
        hint=f"Check that {server.section}.base_url is the right address of {server.in_a_sentence}"
        if server.address != server.model
        else "Correct the class of the language model, which raised this error",
    )


def _timeout(server: ModelServer) -> ModelTimeout:
    return ModelTimeout(
        f"{server} sent nothing for the time allowed",
        hint=f"Raise {server.section}.request_timeout, or choose a smaller model",
    )


def _refusal_hint(status: int, lowered: str, server: ModelServer) -> str:
    if 300 <= status < 400:
        return f"Set {server.section}.base_url to the final address: redirections are not followed"
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return _HINT_WITHOUT_KEY.get(server.section, f"Let {server.in_a_sentence} answer without a key")
    if "invalid duration" in lowered:
        return f"Correct {server.section}.keep_alive, such as 10m or 1h"
    if "think" in lowered:
        return _HINT_THINKING.get(server.section, "Turn thinking off at the server, or choose another model")
    return f"Check the section {server.section} of the settings"


def _shorten(text: str, server: ModelServer) -> str:
    """Return the start of a server's message, on one line and without the API key."""
    line = " ".join(replace_surrogates(server.masked(text[:_MAX_READ])[: 2 * _MAX_QUOTED]).split())
    return line if len(line) <= _MAX_QUOTED else f"{line[:_MAX_QUOTED]}..."


Result = TypeVar("Result")
MAX_ATTEMPTS = 3
MAX_PAUSE = 2.0  # seconds
_FIRST_PAUSE = 0.25  # seconds at most; doubled before each further attempt


def call_with_retries(call: Callable[[], Result], may_retry: Callable[[], bool] = lambda: True) -> Result:
    """Return the result of `call`, with up to three attempts and random pauses between them.

    Only retryable errors are retried, and only while `may_retry` returns true. Raises the error of the last attempt.
    """
    from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

    retrying = Retrying(
        retry=retry_if_exception(lambda error: isinstance(error, EltError) and error.retryable and may_retry()),
        stop=stop_after_attempt(MAX_ATTEMPTS),
        wait=wait_random_exponential(multiplier=_FIRST_PAUSE, max=MAX_PAUSE),
        reraise=True,
    )
    return retrying(call)
