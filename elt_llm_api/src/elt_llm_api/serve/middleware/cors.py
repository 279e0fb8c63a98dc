"""Pages of other origins that may call: those that were listed, with a key in a header, never with cookies."""

from collections.abc import Collection

from elt_llm_api.serve.asgi import App, Headers, Message, Receive, Scope, Send, has_header, header

_PREFLIGHT: Headers = [
    (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE"),
    (b"access-control-allow-headers", b"authorization, content-type, accept, x-request-id, last-event-id"),
    (b"access-control-max-age", b"600"),
    (b"content-length", b"0"),
]
_EXPOSED = b"x-request-id, retry-after, content-disposition"


class CrossOrigin:
    """Answers the questions that browsers ask ahead (https://fetch.spec.whatwg.org/#http-cors-protocol).

    Stands inside the check of origins, which has refused those that are not listed. No answer ever allows `*`, nor
    credentials: a page elsewhere shows a key of its own, and never the cookie of who looks at it.
    """

    def __init__(self, app: App, origins: Collection[str]) -> None:
        self._app = app
        self._origins = {origin.lower().rstrip("/") for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and the answer with what lets the page read it."""
        origin = header(scope, "origin")
        if scope["type"] != "http" or origin is None or origin.lower() not in self._origins:
            await self._app(scope, receive, send)
            return
        allowed: Headers = [(b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"origin")]
        if scope["method"] == "OPTIONS" and has_header(scope, "access-control-request-method"):
            await send({"type": "http.response.start", "status": 204, "headers": [*allowed, *_PREFLIGHT]})
            await send({"type": "http.response.body", "body": b""})
            return

        async def readable(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [it for it in message.get("headers", ()) if not it[0].lower().startswith(b"access-control-")]
                message["headers"] = [*own, *allowed, (b"access-control-expose-headers", _EXPOSED)]
            await send(message)

        await self._app(scope, receive, readable)
