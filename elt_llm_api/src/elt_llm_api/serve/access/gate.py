"""Whether a request comes in: its key, how many wrong ones came from its address, and how often it asks."""

import ipaddress
from dataclasses import dataclass

from elt_llm_api.serve.access.callers import Callers
from elt_llm_api.serve.access.lockout import Lockout, RateLimit
from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.asgi import Scope

_KEY_HINT = "Send the header Authorization: Bearer KEY. Make a key with: elt-llm keys add NAME"


@dataclass(frozen=True)
class Refused:
    """Why a request does not come in; `wait`: after how many whole seconds it may, where that helps."""

    status: int
    kind: str
    message: str
    hint: str
    wait: int | None = None

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """What goes with the refusal: when to come again, or what to show."""
        return (("www-authenticate", "Bearer"),) if self.wait is None else (("retry-after", str(self.wait)),)


class Gate:
    """Lets callers in. Wrong keys count against the network they come from, requests against caller and network.

    A right key does not undo wrong ones: who has a key could guess at others' for ever otherwise.
    """

    def __init__(self, callers: Callers, lockout: Lockout, rate: RateLimit) -> None:
        self._callers, self._lockout, self._rate = callers, lockout, rate

    def admit(self, scope: Scope, secret: str | None, *, counted: bool = True) -> Principal | Refused:
        """Who shows the secret, or why it is refused: 401 for a wrong key, 429 for too many, or for too much.

        `counted`: whether it is one of the requests that a caller may make in a minute.
        """
        network = network_of(scope)
        if (seconds := self._lockout.waits(network)) > 0:
            return _wait(seconds, "locked_out", "Too many wrong keys came from this address.")
        principal = self._callers.of(secret)
        if principal is None and secret is not None:
            self._lockout.failed(network)
        caller = f"{principal.name if principal else ''}@{network}"
        if (counted or principal is None) and (seconds := self._rate.waits(caller)) > 0:
            return _wait(seconds, "too_many_requests", "This caller asks too often.")
        if principal is None:
            return Refused(401, "unauthenticated", "A key is needed here, and this is none.", _KEY_HINT)
        return principal

    def demands_key(self) -> bool:
        """Whether a request without a key is refused."""
        return self._callers.demands_key


def network_of(scope: Scope) -> str:
    """Whom wrong keys are held against: an IPv4 address, or the 64 bits of an IPv6 network, which one person has."""
    address = str((scope.get("client") or ("unknown", 0))[0])
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((found, 64), strict=False))


def _wait(seconds: float, kind: str, message: str) -> Refused:
    whole = max(1, int(seconds + 0.999))
    return Refused(429, kind, message, f"Try again in {whole} s.", whole)
