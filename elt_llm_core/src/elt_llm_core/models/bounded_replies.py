"""No reply of a model server is without end: one that is larger, or takes longer, than any may is given up."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import httpx

from elt_llm_core.errors import UnusableReply

MOST_BYTES = 128 << 20
"""Of one reply: a thousand vectors of 4096 numbers take 100 MB, an answer that fills a window of 128,000 tokens 50."""
_AFTERWARDS = 10.0  # seconds: who waits for the reply gives up first, and says better why
PLAIN = {"Accept-Encoding": "identity"}
"""The header that asks for replies as they are: a packed one may be a thousand times as large as what comes."""


class _Bound:
    """How much of one reply there may be, and until when."""

    def __init__(self, address: str, seconds: float, most_bytes: int) -> None:
        self._address = address
        self._deadline = time.monotonic() + seconds + _AFTERWARDS
        self._most_bytes = self._left = most_bytes

    def check(self, piece: bytes) -> bytes:
        """The piece. Raises UnusableReply or httpx.ReadTimeout if it goes beyond."""
        self._left -= len(piece)
        if self._left < 0:
            raise UnusableReply(
                f"The model server at {self._address} sends more than {self._most_bytes >> 20} MB in one reply",
                hint="Is this the address of a model server? Look at its log",
            )
        if time.monotonic() >= self._deadline:
            raise httpx.ReadTimeout("The reply goes on and on")
        return piece


class _BoundedStream(httpx.SyncByteStream):
    """The bytes of a reply, within its bound."""

    def __init__(self, stream: httpx.SyncByteStream, bound: _Bound) -> None:
        self._stream = stream
        self._bound = bound

    def __iter__(self) -> Iterator[bytes]:
        yield from map(self._bound.check, self._stream)

    def close(self) -> None:
        self._stream.close()


class _BoundedAsyncStream(httpx.AsyncByteStream):
    """The same for a client that does not wait."""

    def __init__(self, stream: httpx.AsyncByteStream, bound: _Bound) -> None:
        self._stream = stream
        self._bound = bound

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            yield self._bound.check(piece)

    async def aclose(self) -> None:
        await self._stream.aclose()


def bounded_for(seconds: float, most_bytes: int = MOST_BYTES) -> Callable[[httpx.Response], None]:
    """A hook for responses of a client: each ends ten seconds after the `seconds` it may take, and within `most_bytes`.

    What goes beyond raises UnusableReply or httpx.ReadTimeout as it is read; so does a packed reply, which nobody asked
    for.
    """

    def bound(response: httpx.Response) -> None:
        limit = _Bound(_address_if_plain(response), seconds, most_bytes)
        if isinstance(response.stream, httpx.SyncByteStream):
            response.stream = _BoundedStream(response.stream, limit)

    return bound


def async_bounded_for(seconds: float, most_bytes: int = MOST_BYTES) -> Callable[[httpx.Response], Awaitable[None]]:
    """The same hook for a client that does not wait."""

    async def bound(response: httpx.Response) -> None:
        limit = _Bound(_address_if_plain(response), seconds, most_bytes)
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _BoundedAsyncStream(response.stream, limit)

    return bound


def _address_if_plain(response: httpx.Response) -> str:
    """Where a reply comes from. Raises UnusableReply for one that is packed."""
    address = f"{response.url.scheme}://{response.url.netloc.decode()}"
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise UnusableReply(
            f"The model server at {address} packs its replies, which it was asked not to do",
            hint="Turn off compression in the server, or in the proxy before it",
        )
    return address
