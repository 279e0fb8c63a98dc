"""Turns whatever the clients of model servers raise into one typed error that says what mends it."""

import json
import sys
from http import HTTPStatus

from elt_llm_core.errors import (
    EltError,
    ModelBroken,
    ModelError,
    ModelMissing,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    PromptTooLong,
    UnusableReply,
)
from elt_llm_core.models.model_server import ModelServer
from elt_llm_core.text.halves import without_halves

_MOST_QUOTED = 300
_MOST_READ = 1 << 16  # bytes: more than any key, so that none is cut before it is masked
_BUSY = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE}
_LOADING = ("loading", "server busy", "try again", "overloaded")
_CURE_WITHOUT_KEY = {"openai_like": "Set openai_like.api_key_variable to the variable that holds the key"}
_CURE_OF_THINKING = {"ollama": "Set ollama.thinking to false"}
_TOO_LONG = (
    "context length",
    "context size",
    "context window",
    "exceeds the",
    "too large to process",
    "maximum context",
)


def client_failures() -> tuple[type[Exception], ...]:
    """What the clients in use raise: for connections, for statuses, and for replies of another shape than promised."""
    import httpx
    from ollama import RequestError, ResponseError

    shapes = (ValueError, KeyError, TypeError, AttributeError, IndexError, RuntimeError)
    known = (EltError, OSError, httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, RequestError, ResponseError)
    # The client of OpenAI's protocol is an extra; what is not imported has raised nothing.
    openai = sys.modules.get("openai")
    return (*known, *shapes, *((openai.OpenAIError,) if openai else ()))


def explained(error: Exception, server: ModelServer) -> EltError:
    """One of our errors for one of `client_failures`; ours are passed through."""
    for said in (error, error.__cause__):  # the client of OpenAI's protocol hides ours behind one of its own
        if isinstance(said, EltError):
            return said
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return by_status(status, _message_of(error), server)
    return _by_connection(error, server) or _by_shape(error, server)


def by_status(status: int, message: str, server: ModelServer) -> ModelError:
    """The error that a status of HTTP and the server's words mean; -1 is Ollama's for an error amid an answer."""
    said, text = message.lower(), f"{server} says: {_short(message, server)}"
    if status == HTTPStatus.NOT_FOUND:
        return ModelMissing(f"{server} does not have the model '{server.model}'", hint=server.fetch)
    if any(words in said for words in _TOO_LONG):
        return too_long(f"The text is longer than '{server.model}' reads. {text}", server)
    if status in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.GATEWAY_TIMEOUT}:
        return _timeout(server)
    if status in _BUSY or (status >= 500 and any(words in said for words in _LOADING)):
        return ModelUnavailable(text, hint="It may still be loading the model: try again in a minute")
    return _by_other_status(status, said, text, server)


def _by_other_status(status: int, said: str, text: str, server: ModelServer) -> ModelError:
    if "memory" in said:
        return ModelRefused(text, hint=f"Choose a smaller model, or a smaller {server.section}.context_window")
    if status >= 500 or status < 0:
        return ModelBroken(text, hint=f"Look at the log of {server.in_a_sentence}")
    return ModelRefused(f"{text} (status {status})", hint=_cure_of_refusal(status, said, server))


def words_of(content: bytes) -> str:
    """What a reply that is no success says: its `error`, in the shape of either protocol, else all of it."""
    text = content[:_MOST_READ].decode("utf-8", "replace")
    try:
        error = json.loads(text)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return text
    return str(error.get("message", error)) if isinstance(error, dict) else str(error)


def too_long(message: str, server: ModelServer) -> PromptTooLong:
    """A text that was refused or cut, with the settings that make room."""
    return PromptTooLong(
        message,
        hint=f"Raise {server.section}.context_window if the model reads more,"
        f" or lower llm.max_context_tokens or {server.section}.num_predict",
    )


def _by_connection(error: Exception, server: ModelServer) -> ModelError | None:
    import httpx

    cause = error.__cause__ if isinstance(error.__cause__, httpx.HTTPError) else error
    if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout | ConnectionRefusedError):
        return ModelUnavailable(f"{server} cannot be reached", hint=server.start)
    if isinstance(cause, httpx.TimeoutException | TimeoutError):
        return _timeout(server)
    # Ollama's client says a plain ConnectionError where nobody listens; its relatives mean an end amid the answer.
    if type(cause) is ConnectionError:
        return ModelUnavailable(f"{server} cannot be reached", hint=server.start)
    if isinstance(cause, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return ModelRefused(
            f"{server.address} is no address: {server.masked(str(cause))}", hint=f"Correct {server.section}.base_url"
        )
    if isinstance(cause, httpx.TransportError | OSError):
        return ModelBroken(
            f"{server} broke off its answer: {_short(str(cause) or type(cause).__name__, server)}",
            hint=f"Look at the log of {server.in_a_sentence}: it may have run out of memory",
        )
    return None


def _by_shape(error: Exception, server: ModelServer) -> ModelError:
    if "openai" in sys.modules and isinstance(error, sys.modules["openai"].OpenAIError):
        return ModelBroken(
            f"{server} failed: {_short(str(error), server)}", hint=f"Look at the log of {server.in_a_sentence}"
        )
    return UnusableReply(
        f"{server} gave a reply that cannot be read ({type(error).__name__}: {_short(str(error), server)})",
        hint=f"Is {server.section}.base_url really the address of {server.in_a_sentence}?",
    )


def _timeout(server: ModelServer) -> ModelTimeout:
    return ModelTimeout(
        f"{server} gave no sign for the time allowed",
        hint=f"Raise {server.section}.request_timeout, or choose a smaller model",
    )


def _cure_of_refusal(status: int, said: str, server: ModelServer) -> str:
    if 300 <= status < 400:
        return f"Set {server.section}.base_url to the address itself: no redirection is followed"
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return _CURE_WITHOUT_KEY.get(server.section, f"Let {server.in_a_sentence} answer without a key")
    if "think" in said:
        return _CURE_OF_THINKING.get(server.section, "Turn thinking off at the server, or choose another model")
    return f"Check the section {server.section} of the settings"


def _message_of(error: Exception) -> str:
    said = getattr(error, "error", None) or getattr(error, "message", None)
    return said if isinstance(said, str) else str(error)


def _short(text: str, server: ModelServer) -> str:
    """The beginning of what a server says, on one line and without the key that it was sent."""
    line = " ".join(without_halves(server.masked(text[:_MOST_READ])[: 2 * _MOST_QUOTED]).split())
    return line if len(line) <= _MOST_QUOTED else f"{line[:_MOST_QUOTED]}..."
