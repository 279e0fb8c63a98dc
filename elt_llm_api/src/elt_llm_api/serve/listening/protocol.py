"""One connection: who never says what it wants, or never takes what it asked for, is hung up on."""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEADER_SECONDS = 20.0
TAKING_SECONDS = 60.0


class BoundedProtocol(H11Protocol):
    """As uvicorn's, with two more limits: for the head of a request to come whole, and for an answer to be taken.

    Uvicorn times the pauses between requests alone: a connection that never sends a whole head would stay for ever.
    """

    header_seconds, taking_seconds = HEADER_SECONDS, TAKING_SECONDS

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head: asyncio.TimerHandle | None = None
        self._taken: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._cancel_head()
        self._cancel_taken()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came; a request whose head is whole is served."""
        before = cast("RequestResponseCycle | None", self.cycle)  # uvicorn's own type leaves None out
        idle = before is None or before.response_complete
        super().data_received(data)
        if self.cycle is not before:
            self._cancel_head()
        elif idle and self._head is None:
            self._await_head()

    def pause_writing(self) -> None:
        """The client does not take what it is sent."""
        self._cancel_taken()
        self._taken = self.loop.call_later(self.taking_seconds, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        """It does again."""
        self._cancel_taken()
        super().resume_writing()

    def _await_head(self) -> None:
        self._head = self.loop.call_later(self.header_seconds, self.transport.abort)

    def _cancel_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _cancel_taken(self) -> None:
        if self._taken is not None:
            self._taken.cancel()
            self._taken = None
