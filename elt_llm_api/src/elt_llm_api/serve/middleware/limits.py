"""Limit the size and the duration of request bodies."""

import asyncio

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from elt_llm_api.serve.asgi import header, send_error

_UPLOADS = ("/v1/documents", "/gradio_api/upload")
_TOO_SLOW = (408, "too_slow", "The body of the request came too slowly.", "Try again.")
_SIZE_HINT = "Send less, or raise serve.max_body_mb or serve.max_upload_mb."
BASE_SECONDS = 20.0
BYTES_PER_SECOND = 16_384


class BodyLimits:
    """Rejects bodies of more than `max_bytes` (`max_upload_bytes` for uploads) with 413, and slow bodies with 408.

    A body may take `seconds`, and one second more for each `bytes_per_second` that arrive. For the app the client
    then disconnects, which every framework handles. How long the answer takes is not limited.
    """

    def __init__(
        self,
        app: ASGIApp,
        max_bytes: int,
        max_upload_bytes: int,
        seconds: float = BASE_SECONDS,
        bytes_per_second: int = BYTES_PER_SECOND,
    ) -> None:
        self._app, self._max_bytes, self._max_upload_bytes = app, max_bytes, max_upload_bytes
        self._seconds, self._bytes_per_second = seconds, bytes_per_second

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request while its body keeps to the limits; send an error if the app has not answered by then."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._max_upload_bytes if scope["path"].startswith(_UPLOADS) else self._max_bytes
        length = header(scope, "content-length") or "0"
        body = _LimitedBody(receive, send, limit, self._seconds, self._bytes_per_second)
        if not length.isdecimal() or int(length[:20]) > limit:
            body.rejected = 413
        else:
            try:
                await self._app(scope, body.receive, body.send)
            except ClientDisconnect:
                if not body.rejected:
                    raise
        if body.answered or not body.rejected:
            return
        error = _TOO_SLOW
        if body.rejected == 413:
            error = (413, "too_large", f"A request may have {limit} bytes here.", _SIZE_HINT)
        await send_error(scope, send, *error, headers=[("connection", "close")])


class _LimitedBody:
    """Both directions of a request. Once `rejected` is 413 or 408, an answer that has not started yet is dropped."""

    def __init__(self, receive: Receive, send: Send, limit: int, seconds: float, bytes_per_second: int) -> None:
        self._receive, self._send, self._left, self._bytes_per_second = receive, send, limit, bytes_per_second
        self._deadline = asyncio.get_running_loop().time() + seconds
        self._complete = self.answered = False
        self.rejected = 0

    async def receive(self) -> Message:
        if self.rejected:
            return {"type": "http.disconnect"}
        if self._complete:
            return await self._receive()  # the next message is that the client disconnects
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            self.rejected = 408
            return {"type": "http.disconnect"}
        size = len(message.get("body", b""))
        self._left -= size
        self._deadline += size / self._bytes_per_second
        self._complete = message["type"] != "http.request" or not message.get("more_body", False)
        if self._left < 0:
            self.rejected = 413
            return {"type": "http.disconnect"}
        return message

    async def send(self, message: Message) -> None:
        if self.answered or not self.rejected:
            self.answered = True
            await self._send(message)
