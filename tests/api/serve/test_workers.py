"""A bounded amount of blocking work runs, a bounded amount waits, and further work is rejected at once."""

import asyncio
import gc
import logging
import threading
import time
from threading import Event

import pytest
from elt_llm_api.serve.workers import COMPUTE_THREADS, ServerOverloaded, Workers, retry_after_seconds
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import generated
from served.answering_server import every_turn_taken


async def wait_until_set(event: Event) -> None:
    """Wait in a thread for an event, at most ten seconds."""
    assert await asyncio.to_thread(event.wait, 10)


def test_work_beyond_the_queue_limit_is_rejected_at_once_until_a_place_is_free() -> None:
    async def main() -> None:
        go_on = Event()
        with Workers(2, 3) as workers:
            tasks = [asyncio.ensure_future(workers.run(lambda _: go_on.wait(10))) for _ in range(5)]
            await asyncio.sleep(0)
            assert workers.free == 0
            since = time.monotonic()
            with pytest.raises(ServerOverloaded, match="as many questions"):
                await workers.run(lambda _: True)
            assert time.monotonic() - since < 1
            go_on.set()
            assert all(await asyncio.gather(*tasks))
            assert workers.free == 5
            assert await workers.run(lambda _: "done") == "done"

    asyncio.run(main())


def test_running_work_is_notified_that_its_caller_was_cancelled_and_keeps_its_thread() -> None:
    async def main() -> None:
        started, reported, end = Event(), Event(), Event()

        def work(gone: Event) -> None:
            started.set()
            assert gone.wait(10)
            reported.set()
            assert end.wait(10)

        with Workers(1, 0) as workers:
            task = asyncio.ensure_future(workers.run(work))
            await wait_until_set(started)
            task.cancel()
            await wait_until_set(reported)
            assert workers.free == 0
            end.set()
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.sleep(0.05)
        assert task.cancelled()

    asyncio.run(main())


def test_work_abandoned_before_it_starts_never_starts() -> None:
    async def main() -> list[str]:
        started, end, done = Event(), Event(), list[str]()

        def hold(_: Event) -> None:
            started.set()
            assert end.wait(10)

        with Workers(1, 1) as workers:
            holding = asyncio.ensure_future(workers.run(hold))
            await wait_until_set(started)
            waiting = asyncio.ensure_future(workers.run(lambda _: done.append("started")))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert workers.free == 1
            end.set()
            await holding
        return done

    assert asyncio.run(main()) == []


def test_errors_of_work_that_its_caller_abandoned_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        started = Event()

        def work(gone: Event) -> None:
            started.set()
            assert gone.wait(10)
            raise ValueError("nobody waits")

        with Workers(1, 0) as workers:
            task = asyncio.ensure_future(workers.run(work))
            await wait_until_set(started)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await asyncio.sleep(0)
        gc.collect()

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert caplog.records == []


def test_the_event_loop_continues_while_worker_threads_are_blocked() -> None:
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


def test_closing_the_worker_pool_waits_for_running_work() -> None:
    async def main() -> bool:
        started, ended = Event(), Event()

        def work(_: Event) -> None:
            started.set()
            time.sleep(0.1)
            ended.set()

        workers = Workers(1, 0)
        task = asyncio.ensure_future(workers.run(work))
        await wait_until_set(started)
        await asyncio.to_thread(workers.close)
        was_ended = ended.is_set()
        await task
        return was_ended

    assert asyncio.run(main())


@settings(max_examples=generated(12))
@given(st.integers(1, 3), st.integers(0, 3), st.lists(st.booleans(), max_size=12))
def test_the_worker_pool_never_runs_more_work_than_it_has_threads_and_releases_every_thread(
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


def test_at_most_two_workers_compute_at_once() -> None:
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

    assert asyncio.run(main()) == COMPUTE_THREADS


def test_work_that_its_caller_abandoned_does_not_wait_for_a_compute_slot() -> None:
    gone = Event()
    gone.set()
    with Workers(1, 0) as workers:
        with every_turn_taken(workers), workers.computing(gone):
            pass
        with every_turn_taken(workers):
            pass  # work without a turn has released no turn


def test_the_retry_after_header_differs_between_rejected_requests() -> None:
    reported = {retry_after_seconds() for _ in range(200)}
    assert len(reported) > 1
    assert min(reported) >= 1
    assert max(reported) <= 5
