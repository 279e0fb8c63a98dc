"""Checks of what `elt-llm serve` needs: its address, who may ask, and the optional parts, which are never demanded."""

import errno
from importlib import metadata

from elt_llm_core.errors import UsageError
from elt_llm_core.state.database import STATE_NAME
from elt_llm_core.state.keys import Keys
from elt_llm_core.store.database import Database

from elt_llm_api.diagnosis.check import Check, Facts, Verdict, ok, warning

_UNREAD = warning("not checked: the settings cannot be read", "Correct the settings first")
_EXTRAS = (
    ("pages for browsers", "ui", "gradio"),
    ("tools for agents", "mcp", "mcp"),
    ("traces elsewhere", "otel", "opentelemetry-exporter-otlp-proto-http"),
)


def extra(name: str, distribution: str) -> Verdict:
    """Which version of it is there; without it the server runs, and says what is missing where somebody asks for it."""
    try:
        return ok(f"{distribution} {metadata.version(distribution)}")
    except metadata.PackageNotFoundError:
        return ok(f"not installed; bring it with: uv sync --inexact --extra {name}")


def address(facts: Facts) -> Verdict:
    """The server could listen where the settings say. A port that is taken may well be taken by a server that runs."""
    from elt_llm_api.serve.listening.addresses import bind

    if facts.loaded is None:
        return _UNREAD
    serve = facts.loaded.settings.serve
    where = f"{serve.host}, port {serve.port}"
    try:
        bind(serve.host, serve.port).close()
    except UsageError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EADDRINUSE:
            return ok(f"{where}: taken, by a server that runs or by another program")
        return warning(str(error), error.hint)
    return ok(f"{where}: free")


def keys(facts: Facts) -> Verdict:
    """How many keys there are; with none and without a token nobody is asked for one."""
    if facts.loaded is None:
        return _UNREAD
    path = facts.loaded.data_dir / STATE_NAME
    count = _number_of_keys(Database(path, for_writing=False)) if path.exists() else 0
    return ok(str(count) if count else "none: without a token whoever uses this machine may ask")


def _number_of_keys(database: Database) -> int:
    try:
        written_before_keys = database.row("SELECT 1 FROM sqlite_master WHERE name = 'api_keys'") is None
        return 0 if written_before_keys else len(Keys(database).all())
    finally:
        database.close()


def _extra_check(title: str, name: str, distribution: str) -> Check:
    return Check(title, lambda _: extra(name, distribution))


CHECKS = (
    Check("server's address", address),
    Check("server's keys", keys),
    *(_extra_check(*one) for one in _EXTRAS),
)
