"""The address to listen at, bound before anything else is opened; and what any but loopback needs."""

import errno
import ipaddress
import socket
from dataclasses import dataclass

from elt_llm_core.errors import UsageError

SHORTEST_TOKEN = 32  # characters
BACKLOG = 256  # connections that wait to be taken
_MAKING = 'Make a token with: python3 -c "import secrets; print(secrets.token_urlsafe(32))"'


@dataclass(frozen=True)
class Exposure:
    """What was said about who may reach the server."""

    token: str | None
    allowed: bool
    """Whether other machines were let in by a flag."""
    encrypted: bool
    behind_proxy: bool


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to that address, not listening yet. Raises UsageError with the cure.

    `host` is an address in numbers, or `localhost`: other names may come to mean something else.
    """
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host.strip("[]"))
    except ValueError as error:
        raise _no_address(host) from error
    family = socket.AF_INET if isinstance(address, ipaddress.IPv4Address) else socket.AF_INET6
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # or a restart would wait for old connections
    try:
        bound.bind((str(address), port))
    except (OSError, OverflowError) as error:
        bound.close()
        raise _unusable(host, port, error) from error
    return bound


def listen(bound: socket.socket) -> None:
    """Let connections queue. Raises UsageError if another program was quicker."""
    try:
        bound.listen(BACKLOG)
    except OSError as error:
        host, port = bound.getsockname()[:2]
        raise _unusable(host, port, error) from error


def refuse_exposure(bound: socket.socket, exposure: Exposure) -> None:
    """Raises UsageError for what would be open to others without enough in front of it, and says what is missing."""
    local = ipaddress.ip_address(bound.getsockname()[0].partition("%")[0]).is_loopback
    _refuse_token(exposure.token)
    if local and not exposure.behind_proxy:
        return
    where = "Behind a proxy" if local else "At an address that other machines reach"
    if exposure.token is None:
        raise UsageError(
            f"{where} a token is needed: {SHORTEST_TOKEN} characters or more, in ELT_LLM_SERVE_TOKEN or --token-file.",
            hint=_MAKING,
        )
    if local:
        return
    if not exposure.allowed:
        raise UsageError(
            f"{where} the server listens only if told to.", hint="Add --allow-remote, or leave --host away."
        )
    if not exposure.encrypted and not exposure.behind_proxy:
        raise UsageError(
            f"{where} keys would travel unencrypted.",
            hint="Add --certificate and --key, or --behind-proxy if a proxy in front ends TLS.",
        )


def address_of(bound: socket.socket, *, encrypted: bool) -> str:
    """The address as a browser takes it, such as `http://127.0.0.1:7860`."""
    host, port = bound.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if encrypted else 'http'}://{shown}:{port}"


def reached_as(bound: socket.socket) -> tuple[str, ...]:
    """The name that requests may give as their host since the server listens at it alone; none for every address."""
    address = ipaddress.ip_address(bound.getsockname()[0].partition("%")[0])
    return () if address.is_unspecified else (str(address),)


def _refuse_token(token: str | None) -> None:
    if token is None:
        return
    if len(token) < SHORTEST_TOKEN:
        raise UsageError(f"A token has {SHORTEST_TOKEN} characters or more; this one has {len(token)}.", hint=_MAKING)
    if not all("!" <= sign <= "~" for sign in token):
        raise UsageError("A token has only letters, digits and signs of ASCII, and no spaces.", hint=_MAKING)


def _unusable(host: str, port: int, error: OSError | OverflowError) -> UsageError:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        return UsageError(
            f"Port {port} of {host} is taken by another program.",
            hint="Try: elt-llm serve --port 0, which takes a free one",
        )
    if number == errno.EACCES:
        return UsageError(f"Port {port} may not be taken by this user.", hint="Take one above 1023: --port 7860")
    if number == errno.EADDRNOTAVAIL:
        return _no_address(host)
    return UsageError(f"Cannot listen at {host}, port {port}: {error}.", hint="Take another: --host, --port")


def _no_address(host: str) -> UsageError:
    hint = "Leave --host away, or give one in numbers, such as 192.168.1.5."
    return UsageError(f"'{host}' is no address of this machine.", hint=hint)
