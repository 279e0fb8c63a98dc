"""From the key that a request shows to who asks."""

import hmac
from collections.abc import Callable
from urllib.parse import quote, unquote

from elt_llm_core.state.keys import KeyRecord

from elt_llm_api.serve.access.principal import LOCAL, Principal
from elt_llm_api.serve.asgi import Scope, has_header, header

_SCHEME = "bearer "
COOKIE = "elt_llm_key"


class Callers:
    """Knows the token the server was started with, and the keys in the state database.

    Without a token, and while there is no key, whoever reaches the server is the local user: it listens to this machine
    alone then. `find` gives the key of a secret, and `any_keys` tells whether there are some; both are asked for every
    request in the event loop, and so must not wait.
    """

    def __init__(
        self, token: str | None, find: Callable[[str], KeyRecord | None], any_keys: Callable[[], bool]
    ) -> None:
        self._token, self._find, self._any_keys = token, find, any_keys

    @property
    def demands_key(self) -> bool:
        """Whether a request without a key is refused."""
        return self._token is not None or self._any_keys()

    def of(self, secret: str | None) -> Principal | None:
        """Who shows this secret, or none at all; None for a wrong one, or none, where one is demanded."""
        if secret is None:
            return None if self.demands_key else LOCAL
        if self._token is not None and hmac.compare_digest(secret.encode("utf-8", "replace"), self._token.encode()):
            return LOCAL
        record = self._find(secret)
        if record is None:
            # Where nobody needs a key, any will do: clients of chat models always send one.
            return None if self.demands_key else LOCAL
        return Principal(record.name, record.read, record.write, administers=record.administers)


def shown(scope: Scope) -> str | None:
    """The secret that a request shows: a bearer token, or the cookie that a browser was given for one.

    None where it shows none; empty, which is no key's secret, where what it shows cannot be one.
    """
    if has_header(scope, "authorization"):
        given = header(scope, "authorization") or ""
        return given[len(_SCHEME) :].strip() if given[: len(_SCHEME)].lower() == _SCHEME else ""
    for part in (header(scope, "cookie") or "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return unquote(value)
    return None


def cookie_of(secret: str | None, scope: Scope) -> str:
    """The Set-Cookie header that has a browser show a secret until it is closed; None: that has it forget.

    No script can read it, no other site's request carries it, and under TLS it never leaves unencrypted.
    """
    value = f"{COOKIE}={quote(secret or '', safe='')}; Path=/; HttpOnly; SameSite=Strict"
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    return value + secure + ("" if secret else "; Max-Age=0")
