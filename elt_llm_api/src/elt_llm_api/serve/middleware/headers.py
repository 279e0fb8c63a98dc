"""What browsers are told about every page and answer: run nothing of others, load nothing from others."""

from elt_llm_api.serve.asgi import App, Message, Receive, Scope, Send

POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; font-src 'self' data:;"
    " connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_ALWAYS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",  # with "no-referrer" browsers would send forms of ours with a null origin
    b"x-frame-options": b"DENY",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), microphone=(), geolocation=()",
}


class SafeHeaders:
    """Adds the headers that are not there yet; says nothing of what serves the page."""

    def __init__(self, app: App, policy: str = POLICY) -> None:
        self._app = app
        self._headers = {**_ALWAYS, b"content-security-policy": policy.encode("ascii")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and the answer with the headers."""

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = [
                    (name.lower(), value) for name, value in message.get("headers", ()) if name.lower() != b"server"
                ]
                known = {name for name, _ in given}
                message["headers"] = [*given, *((name, it) for name, it in self._headers.items() if name not in known)]
            await send(message)

        await self._app(scope, receive, guarded if scope["type"] == "http" else send)
