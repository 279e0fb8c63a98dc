"""What the server logs, and what never gets there: keys, query strings, and whatever errors say of documents."""

import asyncio
import logging
import re
import sys
import traceback
from collections.abc import Iterable

from elt_llm_core.state.keys import PREFIX

_HIDDEN = "[hidden]"
_SECRETS = (
    re.compile(r"\b(bearer|basic) {1,4}[^\s'\",;)\]}]{1,4096}", re.IGNORECASE),
    re.compile(r"\b(elt_llm_key)=[^\s'\",;)\]}]{1,4096}", re.IGNORECASE),
    re.compile(rf"\b({PREFIX})[A-Za-z0-9_-]{{20,200}}"),
    re.compile(r"\b(https?://[^\s'\"?#]{1,2048})\?[^\s'\"]{1,8192}", re.IGNORECASE),
    re.compile(r"\b(https?://)[^\s'\"/@]{1,200}@", re.IGNORECASE),
)
_TALKATIVE = ("httpx", "httpcore", "openai", "urllib3", "gradio", "mcp", "llama_index", "python_multipart", "asyncio")
"""Libraries that log addresses, headers, or whole requests with the text in them."""


class RedactingFormatter(logging.Formatter):
    """Hides secrets in the finished line, and tells of errors where they happened, not what they said.

    An error's own words may be a document's: a parser quotes what it could not read.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._secrets = tuple(secret for secret in secrets if secret)

    def format(self, record: logging.LogRecord) -> str:
        """The line, redacted after everything was put into it."""
        record.exc_text = None  # another formatter may have kept the error's words there
        line = super().format(record)
        record.exc_text = None
        for secret in self._secrets:
            line = line.replace(secret, _HIDDEN)
        for pattern in _SECRETS:
            line = pattern.sub(rf"\1{_HIDDEN}", line)
        return line

    def formatException(self, ei: object) -> str:  # noqa: N802 - the name that logging calls
        """The kinds of the errors and where they were raised, the innermost last."""
        error = ei[1] if isinstance(ei, tuple) else None
        told: list[str] = []
        while isinstance(error, BaseException):
            places = [f"  {one.filename}:{one.lineno} {one.name}" for one in traceback.extract_tb(error.__traceback__)]
            told = [f"{type(error).__module__}.{type(error).__qualname__}", *places, *told]
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return "\n".join(told)


def log_to_stderr(verbose: int, secrets: Iterable[str]) -> None:
    """Log warnings and errors; with `verbose` 1 each request, with 2 everything that holds no text of documents."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter(secrets))
    handler.addFilter(_is_told)
    levels = (logging.WARNING, logging.INFO, logging.DEBUG)
    logging.basicConfig(level=levels[min(verbose, 2)], handlers=[handler], force=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


def _is_told(record: logging.LogRecord) -> bool:
    """Requests that the end of the server cancelled are no errors."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or not issubclass(kind, asyncio.CancelledError)
