"""Tells Ollama with each request to refuse what does not fit, rather than to cut it."""

import json

import httpx

_PATHS = ("/api/chat", "/api/generate")
UNCUT = {"truncate": False, "shift": False}
"""Fields of Ollama's requests since its version 0.12.6; earlier ones pass over them.

Without `truncate` a prompt above the window is refused, without `shift` an answer that reaches the end of the window
ends there (`done_reason: length`), where otherwise the beginning of the prompt is forgotten as it is written.
"""


class UncutTransport(httpx.HTTPTransport):
    """Adds the two fields, which Ollama's client does not know."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends the request with them."""
        return super().handle_request(_uncut(request))


class AsyncUncutTransport(httpx.AsyncHTTPTransport):
    """The same for the client that does not wait."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends the request with them."""
        return await super().handle_async_request(_uncut(request))


def _uncut(request: httpx.Request) -> httpx.Request:
    if request.method != "POST" or not request.url.path.endswith(_PATHS):
        return request
    body = json.dumps({**json.loads(request.content), **UNCUT}).encode()
    headers = httpx.Headers(
        [(name, value) for name, value in request.headers.multi_items() if name != "content-length"]
    )
    return httpx.Request(request.method, request.url, headers=headers, content=body, extensions=request.extensions)
