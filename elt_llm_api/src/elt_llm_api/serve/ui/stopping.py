"""Stopping what a browser asked for: by its button, or because another question was asked."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


class Stops:
    """What is being answered, by the session of a browser. To be used in one event loop alone."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Event] = {}

    def begin(self, session: str) -> asyncio.Event:
        """An event that is set when this session stops its answer; one that still runs is stopped."""
        self.stop(session)
        stopped = self._running[session] = asyncio.Event()
        return stopped

    def stop(self, session: str) -> bool:
        """Stop the answer of a session; whether there was one."""
        running = self._running.pop(session, None)
        if running is not None:
            running.set()
        return running is not None

    def runs(self, session: str) -> bool:
        """Whether something is being answered for this session."""
        return session in self._running

    def end(self, session: str, stopped: asyncio.Event) -> None:
        """Forget an answer that has ended."""
        if self._running.get(session) is stopped:
            del self._running[session]


async def until_stopped(events: AsyncGenerator[T, None], stopped: asyncio.Event) -> AsyncGenerator[T, None]:
    """The events until one sets `stopped`; the stream they come from is closed then, and when nobody listens."""
    waiting = asyncio.ensure_future(stopped.wait())
    try:
        while True:
            step = asyncio.ensure_future(anext(events, None))
            try:
                await asyncio.wait({step, waiting}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not step.done():
                    step.cancel()
                    with suppress(asyncio.CancelledError):
                        await step
            if step.cancelled() or (event := step.result()) is None:
                return
            yield event
    finally:
        waiting.cancel()
        await events.aclose()
