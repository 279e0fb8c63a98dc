"""How much a request may bring: its bytes are counted as they come, whatever it says of its length."""

from elt_llm_api.serve.asgi import App, Message, Receive, Scope, Send, header, refuse
from elt_llm_api.serve.middleware.replacing import Replaceable

_UPLOADS = ("/v1/documents", "/gradio_api/upload")


class BodyLimit:
    """Refuses with 413 what is larger than `usual` bytes, or than `upload` bytes where documents are brought."""

    def __init__(self, app: App, usual: int, upload: int) -> None:
        self._app, self._usual, self._upload = app, usual, upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count what the app reads of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._upload if scope["path"].startswith(_UPLOADS) else self._usual
        told = header(scope, "content-length") or "0"
        if not told.isdecimal() or int(told[:20]) > most:
            await _refuse(scope, send, most)
            return
        read = 0
        answer = Replaceable(send)

        async def counted() -> Message:
            nonlocal read
            if answer.replaced:
                return {"type": "http.disconnect"}
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                answer.replace()
                return {"type": "http.disconnect"}
            return message

        if await answer.of(self._app, scope, counted):
            await _refuse(scope, send, most)


async def _refuse(scope: Scope, send: Send, most: int) -> None:
    message = f"A request may bring {most} bytes here."
    hint = "Bring less, or raise serve.max_body_mb or serve.max_upload_mb."
    await refuse(scope, send, 413, "too_large", message, hint, [("connection", "close")])
