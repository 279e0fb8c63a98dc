"""Blocking work: so much at once, so much waiting, the rest refused at once; what nobody waits for is told so."""

import asyncio
import gc
import logging
import threading
import time
from threading import Event

import pytest
from answering import every_turn_taken
from elt_llm_api.serve.workers import COMPUTING, Overloaded, Workers, retry_after
from hypothesis import given, settings
from hypothesis import strategies as st


async def begun(event: Event) -> None:
    """Wait for something in a thread, at most ten seconds."""
    assert await asyncio.to_thread(event.wait, 10)


def test_more_than_it_takes_is_refused_at_once_and_taken_again_when_there_is_room() -> None:
    async def main() -> None:
        go_on = Event()
        with Workers(2, 3) as workers:
            tasks = [asyncio.ensure_future(workers.run(lambda _: go_on.wait(10))) for _ in range(5)]
            await asyncio.sleep(0)
            assert workers.is_full
            since = time.monotonic()
            with pytest.raises(Overloaded, match="as many questions"):
                await workers.run(lambda _: True)
            assert time.monotonic() - since < 1
            go_on.set()
            assert all(await asyncio.gather(*tasks))
            assert workers.free == 5
            assert await workers.run(lambda _: "done") == "done"

    asyncio.run(main())


def test_work_that_was_begun_is_told_when_nobody_waits_and_keeps_its_place_until_it_ends() -> None:
    async def main() -> None:
        started, told, end = Event(), Event(), Event()

        def work(gone: Event) -> None:
            started.set()
            assert gone.wait(10)
            told.set()
            assert end.wait(10)

        with Workers(1, 0) as workers:
            task = asyncio.ensure_future(workers.run(work))
            await begun(started)
            task.cancel()
            await begun(told)
            assert workers.is_full
            end.set()
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.sleep(0.05)
        assert task.cancelled()

    asyncio.run(main())


def test_work_that_nobody_waits_for_before_it_begins_is_never_begun() -> None:
    async def main() -> list[str]:
        started, end, done = Event(), Event(), list[str]()

        def hold(_: Event) -> None:
            started.set()
            assert end.wait(10)

        with Workers(1, 1) as workers:
            holding = asyncio.ensure_future(workers.run(hold))
            await begun(started)
            waiting = asyncio.ensure_future(workers.run(lambda _: done.append("begun")))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert workers.free == 1
            end.set()
            await holding
        return done

    assert asyncio.run(main()) == []


def test_what_fails_after_everybody_left_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        started = Event()

        def work(gone: Event) -> None:
            started.set()
            assert gone.wait(10)
            raise ValueError("nobody waits")

        with Workers(1, 0) as workers:
            task = asyncio.ensure_future(workers.run(work))
            await begun(started)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await asyncio.sleep(0)
        gc.collect()

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert caplog.records == []


def test_the_event_loop_goes_on_while_threads_block() -> None:
    async def main() -> int:
        ticks = 0
        end = Event()
        with Workers(4, 0) as workers:
            tasks = [asyncio.ensure_future(workers.run(lambda _: end.wait(10))) for _ in range(4)]
            while ticks < 50:
                await asyncio.sleep(0)
                ticks += 1
            end.set()
            await asyncio.gather(*tasks)
        return ticks

    assert asyncio.run(main()) == 50


def test_closing_waits_for_what_is_being_done() -> None:
    async def main() -> bool:
        started, ended = Event(), Event()

        def work(_: Event) -> None:
            started.set()
            time.sleep(0.1)
            ended.set()

        workers = Workers(1, 0)
        task = asyncio.ensure_future(workers.run(work))
        await begun(started)
        await asyncio.to_thread(workers.close)
        was_ended = ended.is_set()
        await task
        return was_ended

    assert asyncio.run(main())


@settings(max_examples=25)
@given(st.integers(1, 3), st.integers(0, 3), st.lists(st.booleans(), max_size=12))
def test_never_more_at_once_than_there_are_places_and_every_place_comes_back(
    places: int, queue: int, leaving: list[bool]
) -> None:
    running, most, lock = 0, 0, threading.Lock()

    def work(gone: Event) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        gone.wait(0.002)
        with lock:
            running -= 1

    async def one(workers: Workers, *, leaves: bool) -> None:
        task = asyncio.ensure_future(workers.run(work))
        await asyncio.sleep(0)
        if leaves:
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def main() -> None:
        with Workers(places, queue) as workers:
            await asyncio.gather(*(one(workers, leaves=leaves) for leaves in leaving))
            deadline = time.monotonic() + 10
            while workers.free < places + queue and time.monotonic() < deadline:
                await asyncio.to_thread(time.sleep, 0.001)
            assert workers.free == places + queue

    asyncio.run(main())
    assert most <= places


def test_few_compute_at_once_however_many_are_at_work() -> None:
    async def main() -> int:
        lock, computing, most = threading.Lock(), 0, 0

        def work(gone: Event) -> None:
            nonlocal computing, most
            with workers.computing(gone):
                with lock:
                    computing += 1
                    most = max(most, computing)
                time.sleep(0.02)
                with lock:
                    computing -= 1

        with Workers(8, 8) as workers:
            await asyncio.gather(*(workers.run(work) for _ in range(16)))
        return most

    assert asyncio.run(main()) == COMPUTING


def test_a_turn_is_not_waited_for_by_work_that_nobody_waits_for() -> None:
    gone = Event()
    gone.set()
    with Workers(1, 0) as workers:
        with every_turn_taken(workers), workers.computing(gone):
            pass
        with every_turn_taken(workers):
            pass  # work that had no turn gave none back


def test_whoever_is_refused_together_is_not_told_to_come_back_together() -> None:
    told = {retry_after() for _ in range(200)}
    assert len(told) > 1
    assert min(told) >= 1
    assert max(told) <= 5
