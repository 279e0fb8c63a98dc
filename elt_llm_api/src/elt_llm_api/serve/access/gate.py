"""Admit a request: look up its key, lock out clients that send wrong keys, limit the request rate."""

import hmac
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from urllib.parse import quote, unquote

from elt_llm_core.errors import StoreUnavailable
from elt_llm_core.settings.tree import ServeSettings
from elt_llm_core.state.keys import KeyRecord
from elt_llm_query.retrieve.filters import document_conditions
from starlette.types import Scope

from elt_llm_api.serve.access.principal import LOCAL, Grant, Principal
from elt_llm_api.serve.asgi import PEER, header, header_values

_MAX_CALLERS = 10_000


class Lockout:
    """Locks out an address after `tries` wrong keys within `seconds`, until `seconds` after the first of these."""

    def __init__(self, tries: int, seconds: float) -> None:
        self._tries, self._seconds = tries, seconds
        self._failures: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = Lock()

    def seconds_left(self, address: str) -> float:
        """Return the seconds until this address may send a key again, or 0 if it may do so now."""
        with self._lock:
            recent = self._recent(address)
            return recent[0] + self._seconds - time.monotonic() if len(recent) >= self._tries else 0.0

    def add_failure(self, address: str) -> None:
        """Count a wrong key that a client of this address has sent."""
        with self._lock:
            self._failures[address] = [*self._recent(address), time.monotonic()][-self._tries :]
            self._failures.move_to_end(address)
            while len(self._failures) > _MAX_CALLERS:
                self._failures.popitem(last=False)

    def warning(self, address: str) -> str:
        """Return how many wrong keys of this address are allowed before it is locked out, and for how long."""
        with self._lock:
            left = self._tries - len(self._recent(address))
        return f"Wrong keys left until this address is locked out for {self._seconds:g} s: {max(0, left)}."

    def _recent(self, address: str) -> list[float]:
        since = time.monotonic() - self._seconds
        return [moment for moment in self._failures.get(address, ()) if moment > since]


class RateLimit:
    """A token bucket for each caller. It holds up to `per_minute` requests and refills evenly within a minute."""

    def __init__(self, per_minute: int) -> None:
        self._per_second, self._capacity = per_minute / 60, float(per_minute)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def take(self, caller: str) -> float:
        """Count a request that is allowed now, and return 0. Otherwise return the seconds until one is allowed."""
        with self._lock:
            now = time.monotonic()
            tokens, since = self._buckets.pop(caller, (self._capacity, now))
            tokens = min(self._capacity, tokens + (now - since) * self._per_second)
            wait = 0.0 if tokens >= 1 else (1 - tokens) / self._per_second
            self._buckets[caller] = (tokens if wait else tokens - 1, now)
            while len(self._buckets) > _MAX_CALLERS:
                self._buckets.popitem(last=False)
            return wait


_SECONDS_TO_RETURN = 30  # after which a database server may be back
_SCHEME = "bearer "
COOKIE = "elt_llm_key"


_MAX_CHARACTERS = 200  # of a person's name


class ProxiedPeople:
    """Identifies the people whom a trusted proxy has signed in, by the headers that only this proxy may send."""

    def __init__(self, serve: ServeSettings) -> None:
        """Read the settings. Raises UsageError for an invalid condition of a group."""
        self._user, self._groups = serve.trusted_user_header or "", serve.trusted_groups_header or ""
        self._proxy = ipaddress.ip_network(serve.trusted_proxy) if serve.trusted_proxy else None
        self._refuses = serve.untrusted_headers == "refuse"
        self._admins = frozenset(name for name, group in serve.groups.items() if group.admin)
        self._grants = {
            name: Grant(group.read, group.write, document_conditions(group.where))
            for name, group in serve.groups.items()
        }

    @property
    def required(self) -> bool:
        """Whether a proxy signs people in, so that no request is anonymous."""
        return self._proxy is not None

    def identify(self, scope: Scope) -> "Principal | AccessRefusal | None":
        """Return the person whom the proxy's headers name, None without them, or a refusal of invalid headers."""
        names = _texts(scope, self._user) if self.required else []
        groups = _texts(scope, self._groups) if self.required else []
        if not (names or groups):
            return None
        if not self._comes_from_proxy(scope):
            return _UNTRUSTED if self._refuses else None
        name = names[0].strip() if len(names) == 1 and len(groups) <= 1 else ""
        if not name or len(name) > _MAX_CHARACTERS or not name.isprintable():
            return _NO_PERSON
        listed = {group.strip() for value in groups for group in value.split(",")}
        known = sorted(listed & self._grants.keys())
        if not known:
            return _NO_GROUP
        grants = tuple(self._grants[group] for group in known)
        return Principal(name, (), (), administers=bool(listed & self._admins), groups=grants, is_person=True)

    def _comes_from_proxy(self, scope: Scope) -> bool:
        peer = scope.get(PEER) or (scope.get("client") or ("", 0))[0]
        try:
            address = ipaddress.ip_address(str(peer))
        except ValueError:
            return False
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return self._proxy is not None and (mapped or address) in self._proxy


def _texts(scope: Scope, name: str) -> list[str]:
    """Return the values of a header as UTF-8, or as Latin-1 if one of them is not UTF-8."""
    values = header_values(scope, name.lower())
    try:
        return [value.encode("latin-1").decode("utf-8") for value in values]
    except UnicodeDecodeError:
        return values


class CallerRegistry:
    """Identifies callers by the token of the server and by the API keys in the state database.

    Without a token and without keys every caller is the local user, and the server listens on this machine only. `find`
    returns the key record for a secret, if any. `has_keys` returns whether there are keys. Both run in the event loop
    for each request, so they must not block. If `always`, a secret is required even if there are no keys.
    """

    def __init__(
        self,
        token: str | None,
        find: Callable[[str], KeyRecord | None],
        has_keys: Callable[[], bool],
        *,
        always: bool = False,
    ) -> None:
        self._token, self._find, self._has_keys, self._always = token, find, has_keys, always

    @property
    def requires_key(self) -> bool:
        """Whether a request without a key is refused."""
        return self._always or self._token is not None or self._has_keys()

    def identify(self, secret: str | None) -> Principal | None:
        """Return the caller with this secret (None: no secret). Return None if the caller is not admitted."""
        if secret is not None:
            if self._token is not None and hmac.compare_digest(secret.encode("utf-8", "replace"), self._token.encode()):
                return LOCAL
            if record := self._find(secret):
                return Principal(record.name, record.read, record.write, record.administers, record.conditions)
        # While no key is required, any secret is accepted, because many chat clients always send one.
        return None if self.requires_key else LOCAL


def presented_secret(scope: Scope) -> str | None:
    """Return the bearer token or the key cookie of a request; None if there is neither, "" for a malformed header."""
    if header_values(scope, "authorization"):
        value = header(scope, "authorization") or ""
        return value[len(_SCHEME) :].strip() if value[: len(_SCHEME)].lower() == _SCHEME else ""
    for part in (header(scope, "cookie") or "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return unquote(value)
    return None


def set_cookie_header(secret: str | None, scope: Scope) -> str:
    """Return the Set-Cookie header that keeps a secret until the browser closes. None deletes the cookie.

    Scripts cannot read the cookie, and requests of other sites do not contain it. Under TLS the browser sends it
    encrypted only.
    """
    value = f"{COOKIE}={quote(secret or '', safe='')}; Path=/; HttpOnly; SameSite=Strict"
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    return value + secure + ("" if secret else "; Max-Age=0")


_KEY_HINT = "Send the header Authorization: Bearer KEY. Make a key with: elt-llm keys add NAME"


@dataclass(frozen=True)
class AccessRefusal:
    """The reason why a request is refused. `retry_after` is in whole seconds, or None if waiting does not help."""

    status: int
    kind: str
    message: str
    hint: str
    retry_after: int | None = None

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The Retry-After header, or the WWW-Authenticate header if a key is missing or wrong."""
        if self.retry_after is None:
            return () if self.status == 403 else (("www-authenticate", "Bearer"),)
        return (("retry-after", str(self.retry_after)),)


_UNTRUSTED = AccessRefusal(
    403,
    "untrusted_headers",
    "Only the proxy may name the person who sends a request.",
    "Send the request through the proxy, or send a key and none of the proxy's headers.",
)
_NO_PERSON = AccessRefusal(
    403,
    "unnamed_person",
    "The headers of the proxy do not name exactly one person.",
    "Check the setting serve.trusted_user_header, and which headers the proxy sends.",
)
_NO_GROUP = AccessRefusal(
    403,
    "no_group",
    "This person is in no group with permissions.",
    "Add one of the person's groups to the setting serve.groups.",
)


class AccessGate:
    """Admits or refuses callers. Wrong keys are counted per network of the client, requests per caller and network.

    A right key does not reset the count of wrong keys. Otherwise the owner of one key could guess other keys without
    limit.
    """

    def __init__(
        self, callers: CallerRegistry, lockout: Lockout, rate: RateLimit, people: ProxiedPeople | None = None
    ) -> None:
        self.callers, self._lockout, self._rate, self._people = callers, lockout, rate, people

    def admit(self, scope: Scope, secret: str | None, *, counted: bool = True) -> Principal | AccessRefusal:
        """Return the caller with this secret, or a refusal. A person whom the trusted proxy signed in needs no secret.

        The status of a refusal is 401 for a wrong key, 429 for too many wrong keys or requests, 403 if the proxy's
        headers are not accepted, and 503 if the database that stores the keys does not respond.

        `counted` is whether the request counts against the rate limit of its caller.
        """
        network = network_key(scope)
        person = self._people.identify(scope) if self._people else None
        if person is not None:
            return person if isinstance(person, AccessRefusal) else self._admit_person(person, network, counted=counted)
        if (seconds := self._lockout.seconds_left(network)) > 0:
            return _refuse_until(seconds, "locked_out", "Too many wrong keys came from this address.")
        try:
            principal = self.callers.identify(secret)
        except StoreUnavailable as error:
            return AccessRefusal(503, "store_unavailable", str(error), "Try again in a minute.", _SECONDS_TO_RETURN)
        if principal is None and secret is not None:
            self._lockout.add_failure(network)
        caller = f"{principal.name if principal else ''}@{network}"
        if (counted or principal is None) and (seconds := self._rate.take(caller)) > 0:
            return _refuse_until(seconds, "too_many_requests", "This caller sends too many requests.")
        return principal or self._refuse_key(secret, network)

    def _refuse_key(self, secret: str | None, network: str) -> AccessRefusal:
        if secret is None:
            return AccessRefusal(401, "unauthenticated", "No key was sent.", _KEY_HINT)
        wrong = "The key is wrong." if secret else "The key is empty, or not sent as Bearer KEY."
        return AccessRefusal(401, "unauthenticated", f"{wrong} {self._lockout.warning(network)}", _KEY_HINT)

    def _admit_person(self, person: Principal, network: str, *, counted: bool) -> Principal | AccessRefusal:
        wait = self._rate.take(f"{person.owner}@{network}") if counted else 0
        return _refuse_until(wait, "too_many_requests", "This caller sends too many requests.") if wait else person


def network_key(scope: Scope) -> str:
    """Return the network for which wrong keys are counted: an IPv4 address, or the /64 network of an IPv6 address."""
    try:
        address = ipaddress.ip_address(str((scope.get("client") or ("unknown", 0))[0]).partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(address.ipv4_mapped or ipaddress.IPv6Network((address, 64), strict=False))


def _refuse_until(seconds: float, kind: str, message: str) -> AccessRefusal:
    whole = max(1, int(seconds + 0.999))
    return AccessRefusal(429, kind, message, f"Try again in {whole} s.", whole)
