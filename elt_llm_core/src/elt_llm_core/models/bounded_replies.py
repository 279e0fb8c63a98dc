"""No reply of a model server is without end: one that is larger, or takes longer, than any may is given up."""

import time
from collections.abc import Callable, Iterator

import httpx

from elt_llm_core.errors import UnusableReply

MOST_BYTES = 128 << 20
"""Of one reply: a thousand vectors of 4096 numbers take 100 MB, an answer that fills a window of 128,000 tokens 50."""
_AFTERWARDS = 10.0  # seconds: who waits for the reply gives up first, and says better why
PLAIN = {"Accept-Encoding": "identity"}
"""The header that asks for replies as they are: a packed one may be a thousand times as large as what comes."""


class _BoundedStream(httpx.SyncByteStream):
    """The bytes of a reply, up to so many, and until so many seconds after its head."""

    def __init__(self, stream: httpx.SyncByteStream, address: str, seconds: float, most_bytes: int) -> None:
        self._stream = stream
        self._address = address
        self._deadline = time.monotonic() + seconds + _AFTERWARDS
        self._most_bytes = most_bytes

    def __iter__(self) -> Iterator[bytes]:
        left = self._most_bytes
        for piece in self._stream:
            left -= len(piece)
            if left < 0:
                raise UnusableReply(
                    f"The model server at {self._address} sends more than {self._most_bytes >> 20} MB in one reply",
                    hint="Is this the address of a model server? Look at its log",
                )
            if time.monotonic() >= self._deadline:
                raise httpx.ReadTimeout("The reply goes on and on")
            yield piece

    def close(self) -> None:
        self._stream.close()


def bounded_for(seconds: float, most_bytes: int = MOST_BYTES) -> Callable[[httpx.Response], None]:
    """A hook for responses of a client: each ends ten seconds after the `seconds` it may take, and within `most_bytes`.

    What goes beyond raises UnusableReply or httpx.ReadTimeout as it is read; so does a packed reply, which nobody asked
    for.
    """

    def bound(response: httpx.Response) -> None:
        address = f"{response.url.scheme}://{response.url.netloc.decode()}"
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise UnusableReply(
                f"The model server at {address} packs its replies, which it was asked not to do",
                hint="Turn off compression in the server, or in the proxy before it",
            )
        if isinstance(response.stream, httpx.SyncByteStream):
            response.stream = _BoundedStream(response.stream, address, seconds, most_bytes)

    return bound
