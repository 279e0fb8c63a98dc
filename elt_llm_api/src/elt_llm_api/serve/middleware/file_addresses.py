"""Gradio's own route for files fetches any address that is given for a file: such requests do not reach it."""

import re
from urllib.parse import unquote_to_bytes

from elt_llm_api.serve.asgi import App, Receive, Scope, Send, refuse

_ROUNDS = 4  # of decoding: deeper nesting than any server undoes
_ADDRESS = re.compile(rb"(?:file|path|url)=[^&]{0,4}(?:[a-z][a-z0-9+.-]{1,30}:|//|\\\\)", re.IGNORECASE)
_UPWARDS = re.compile(rb"(?:^|[/\\=])\.\.(?:[/\\]|$)|\x00")


class FileAddresses:
    """Refuses (403) requests that name a file by an address or a way upwards, however often it is encoded."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what names no file elsewhere."""
        if scope["type"] == "http" and names_elsewhere(_whole(scope)):
            await refuse(scope, send, 403, "forbidden_file", "Files elsewhere are not fetched.")
            return
        await self._app(scope, receive, send)


def names_elsewhere(target: bytes) -> bool:
    """Whether path and query of a request name a file by an address, or lead out of the folder they stand in."""
    for _ in range(_ROUNDS):
        if _ADDRESS.search(target) or _UPWARDS.search(target.partition(b"?")[0]):
            return True
        decoded = unquote_to_bytes(target)
        if decoded == target:
            return False
        target = decoded
    return True


def _whole(scope: Scope) -> bytes:
    raw: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogateescape")
    query: bytes = scope.get("query_string", b"")
    return raw.partition(b"?")[0] + (b"?" + query if query else b"")
