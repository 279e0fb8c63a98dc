"""Who asks is settled before anything else is: around every route, those of libraries included."""

import asyncio

from elt_llm_api.serve.access.callers import Callers
from elt_llm_api.serve.access.lockout import Lockout, RateLimit
from elt_llm_api.serve.asgi import PRINCIPAL, App, Receive, Scope, Send, refuse

OPEN = frozenset({"/health"})
"""What is told to whoever asks: that the process lives, and no more."""


class Authentication:
    """Refuses wrong and missing keys (401), those who try too many (429), and callers who ask too often (429)."""

    def __init__(self, app: App, callers: Callers, lockout: Lockout, rate: RateLimit) -> None:
        self._app, self._callers, self._lockout, self._rate = app, callers, lockout, rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on requests with the caller in their scope."""
        if scope["type"] not in {"http", "websocket"} or scope["path"] in OPEN:
            await self._app(scope, receive, send)
            return
        address = str((scope.get("client") or ("unknown", 0))[0])
        if (seconds := self._lockout.waits(address)) > 0:
            await _wait(scope, send, seconds, "locked_out", "Too many wrong keys came from this address.")
            return
        # Keys are looked up in a file: not in the loop that serves everybody.
        principal = await asyncio.to_thread(self._callers.of, scope)
        if principal is None:
            self._lockout.failed(address)
            hint = "Send the header Authorization: Bearer KEY. Make a key with: elt-llm keys add NAME"
            challenge = [("www-authenticate", "Bearer")]
            await refuse(
                scope, send, 401, "unauthenticated", "A key is needed here, and this is none.", hint, challenge
            )
            return
        if (seconds := self._rate.waits(f"{principal.name}@{address}")) > 0:
            await _wait(scope, send, seconds, "too_many_requests", "This caller asks too often.")
            return
        self._lockout.succeeded(address)
        scope[PRINCIPAL] = principal
        await self._app(scope, receive, send)


async def _wait(scope: Scope, send: Send, seconds: float, kind: str, message: str) -> None:
    whole = max(1, int(seconds + 0.999))
    await refuse(scope, send, 429, kind, message, f"Try again in {whole} s.", [("retry-after", str(whole))])
