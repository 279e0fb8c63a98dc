"""Bind the server's address, read its token, and refuse to serve other machines without protection."""

import errno
import ipaddress
import socket
from collections.abc import Mapping
from pathlib import Path

from elt_llm_core.errors import UsageError
from elt_llm_core.settings.tree import ServeSettings

SHORTEST_TOKEN = 32  # characters
BACKLOG = 256  # connections that may wait to be accepted
_GENERATE_HINT = 'Make a token with: python3 -c "import secrets; print(secrets.token_urlsafe(32))"'


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address but does not listen yet.

    `host` is an IP address or `localhost`. Raises UsageError if the address or the port cannot be used, and for any
    other host name, because it may resolve to another address later.
    """
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host.strip("[]"))
    except ValueError as error:
        raise _unknown_address(host) from error
    family = socket.AF_INET if isinstance(address, ipaddress.IPv4Address) else socket.AF_INET6
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # else a restart waits until old connections expire
    try:
        bound.bind((str(address), port))
    except (OSError, OverflowError) as error:
        bound.close()
        raise _bind_error(host, port, error) from error
    return bound


def listen(bound: socket.socket) -> None:
    """Start to accept connections. Raises UsageError if another program has taken the port since `bind`."""
    try:
        bound.listen(BACKLOG)
    except OSError as error:
        host, port = bound.getsockname()[:2]
        raise _bind_error(host, port, error) from error


def reject_unsafe_exposure(
    bound: socket.socket, serve: ServeSettings, token: str | None, *, allow_remote: bool
) -> None:
    """Raise UsageError, which names what is missing, if the server lacks the protection that its address needs.

    A loopback address needs a token if it is behind a proxy. Any other address needs a token, --allow-remote, and
    either TLS or a proxy.
    """
    local = ipaddress.ip_address(bound.getsockname()[0].partition("%")[0]).is_loopback
    _reject_weak_token(token)
    if local and not serve.behind_proxy:
        return
    where = "Behind a proxy" if local else "At an address that other machines can reach"
    if token is None:
        raise UsageError(
            f"{where} a token is needed: {SHORTEST_TOKEN} characters or more, in ELT_LLM_SERVE_TOKEN or --token-file.",
            hint=_GENERATE_HINT,
        )
    if local:
        return
    if not allow_remote:
        raise UsageError(
            f"{where} the server listens only with --allow-remote.", hint="Add --allow-remote, or omit --host."
        )
    if serve.tls_certificate is None and not serve.behind_proxy:
        raise UsageError(
            f"{where} keys would be sent unencrypted.",
            hint="Add --certificate and --key, or --behind-proxy if a proxy terminates TLS.",
        )


def url_of(bound: socket.socket, *, encrypted: bool) -> str:
    """Return the URL of the server, such as `http://127.0.0.1:7860`."""
    host, port = bound.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if encrypted else 'http'}://{shown}:{port}"


def allowed_host_names(bound: socket.socket) -> tuple[str, ...]:
    """Return the allowed Host header of the bound address, such as `("192.168.1.5",)`; empty for `0.0.0.0` and `::`."""
    address = ipaddress.ip_address(bound.getsockname()[0].partition("%")[0])
    return () if address.is_unspecified else (str(address),)


def _reject_weak_token(token: str | None) -> None:
    if token is None:
        return
    if len(token) < SHORTEST_TOKEN:
        raise UsageError(
            f"A token needs {SHORTEST_TOKEN} characters or more; this one has {len(token)}.", hint=_GENERATE_HINT
        )
    if not all("!" <= sign <= "~" for sign in token):
        raise UsageError(
            "A token may contain only ASCII letters, digits and punctuation, no spaces.", hint=_GENERATE_HINT
        )


def _bind_error(host: str, port: int, error: OSError | OverflowError) -> UsageError:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        return UsageError(
            f"Port {port} of {host} is in use by another program.",
            hint="Try: elt-llm serve --port 0, which chooses a free one",
        )
    if number == errno.EACCES:
        return UsageError(f"This user may not listen at port {port}.", hint="Choose one above 1023: --port 7860")
    if number == errno.EADDRNOTAVAIL:
        return _unknown_address(host)
    return UsageError(f"Cannot listen at {host}, port {port}: {error}.", hint="Choose others: --host, --port")


def _unknown_address(host: str) -> UsageError:
    hint = "Omit --host, or give an IP address, such as 192.168.1.5."
    return UsageError(f"'{host}' is not an address of this machine.", hint=hint)


TOKEN_VARIABLE = "ELT_LLM_SERVE_TOKEN"  # noqa: S105 - the name of a variable
_LARGEST_TOKEN_FILE = 4096  # bytes of a file that holds one token
_OTHERS_MODE = 0o007


def read_token(file: Path | None, environment: Mapping[str, str]) -> str | None:
    """Return the token that `file` contains. If `file` is None, return that of ELT_LLM_SERVE_TOKEN, or None.

    Raises UsageError if the file is missing, empty or too large.
    """
    if file is None:
        return environment.get(TOKEN_VARIABLE, "").strip() or None
    if not file.is_file():
        raise UsageError(f"There is no file {file}.", hint="--token-file names a file that contains only the token.")
    with file.open("rb") as opened:
        content = opened.read(_LARGEST_TOKEN_FILE + 1)
    token = content.decode("utf-8", "replace").strip()
    if not token or len(content) > _LARGEST_TOKEN_FILE:
        raise UsageError(f"{file} contains no token.", hint="It must contain one line: the token.")
    return token


def is_world_readable(file: Path | None) -> bool:
    """Return whether every user of the machine may access the token file. False if there is no file."""
    return file is not None and bool(file.stat().st_mode & _OTHERS_MODE)
