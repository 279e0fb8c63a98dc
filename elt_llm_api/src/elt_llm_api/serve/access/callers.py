"""From the key that a request shows to who asks."""

import hmac
from collections.abc import Callable

from elt_llm_core.state.keys import KeyRecord

from elt_llm_api.serve.access.principal import LOCAL, Principal
from elt_llm_api.serve.asgi import Scope, header

_SCHEME = "bearer "
COOKIE = "elt_llm_key"


class Callers:
    """Knows the token the server was started with, and the keys in the state database.

    Without a token, and while there is no key, whoever reaches the server is the local user: it listens to this machine
    alone then. `find` gives the key of a secret, and `any_keys` tells whether there are some.
    """

    def __init__(
        self, token: str | None, find: Callable[[str], KeyRecord | None], any_keys: Callable[[], bool]
    ) -> None:
        self._token, self._find, self._any_keys = token, find, any_keys

    @property
    def demands_key(self) -> bool:
        """Whether a request without a key is refused."""
        return self._token is not None or self._any_keys()

    def of(self, scope: Scope) -> Principal | None:
        """Who asks; None for a wrong key, or none where one is demanded."""
        secret = shown(scope)
        if secret is None:
            return None if self.demands_key else LOCAL
        if self._token is not None and hmac.compare_digest(secret.encode("utf-8", "replace"), self._token.encode()):
            return LOCAL
        record = self._find(secret)
        if record is None:
            return None
        return Principal(record.name, record.read, record.write, administers=record.administers)


def shown(scope: Scope) -> str | None:
    """The secret that a request shows: a bearer token, or the cookie that a browser was given for one."""
    given = header(scope, "authorization")
    if given is not None:
        return given[len(_SCHEME) :].strip() if given[: len(_SCHEME)].lower() == _SCHEME else ""
    for part in (header(scope, "cookie") or "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    return None
