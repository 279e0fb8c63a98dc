"""Who asks, and whether in secret, where a proxy in front says so: believed of the nearest one alone."""

import ipaddress

from elt_llm_api.serve.asgi import App, Receive, Scope, Send


class Proxies:
    """Takes address and scheme from the last X-Forwarded-For and X-Forwarded-Proto, which the nearest proxy added.

    What stands before the last came from further away, and may be made up. To be used only where every request comes
    through a proxy that sets both.
    """

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on as what the proxy was asked."""
        if scope["type"] in {"http", "websocket"}:
            address = _address(_last(scope, b"x-forwarded-for"))
            if address:
                scope["client"] = (address, 0)
            scheme = _last(scope, b"x-forwarded-proto").lower()
            if scheme in {"http", "https"}:
                secure = scheme == "https"
                scope["scheme"] = ("wss" if secure else "ws") if scope["type"] == "websocket" else scheme
        await self._app(scope, receive, send)


def _last(scope: Scope, name: bytes) -> str:
    values = [value for key, value in scope.get("headers", ()) if key.lower() == name]
    return values[-1].decode("latin-1").rpartition(",")[2].strip() if values else ""


def _address(given: str) -> str | None:
    """The address in such as `192.0.2.7`, `192.0.2.7:4711` or `[2001:db8::1]:4711`; None for what is none."""
    if given.startswith("["):
        text = given[1:].partition("]")[0]
    else:
        text = given.partition(":")[0] if given.count(":") == 1 else given
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None
