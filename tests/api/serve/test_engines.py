"""Engines are opened once, lent over the published collections, and never closed while in use."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from elt_llm_api.serve.access.principal import ReadableCollection
from elt_llm_api.serve.engines import EngineKey, EnginePool
from elt_llm_query.engine import Engine
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import generated

NAMES = ("a", "b", "c")
A, B = ReadableCollection("a"), ReadableCollection("b")


@dataclass
class Library:
    """A fake store of collections: the published generations, and every engine that was opened on them."""

    generation: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 1))
    opened: list["Opened"] = field(default_factory=list)
    takes: float = 0.0
    failing: int = 0

    def open_one(self, wanted: EngineKey) -> Engine:
        time.sleep(self.takes)
        if self.failing:
            self.failing -= 1
            raise OSError("it cannot be opened")
        one = Opened(wanted, tuple(self.generation[collection.name] for collection in wanted[0]))
        self.opened.append(one)
        return cast(Engine, one)

    def published(self, wanted: EngineKey) -> tuple[tuple[str, int], ...]:
        return tuple((one.name, self.generation[one.name]) for one in wanted[0])

    def all_closed(self) -> bool:
        return all(one.closed for one in self.opened)

    def engines(self, **options: Any) -> EnginePool:
        return EnginePool(self.open_one, self.published, **options)


@dataclass
class Opened:
    """A fake engine that checks that it is closed only once."""

    wanted: EngineKey
    generations: tuple[int, ...]
    closed: bool = False

    def close(self) -> None:
        assert not self.closed
        self.closed = True


def opened(engine: Engine) -> Opened:
    return cast(Opened, engine)


@given(st.lists(st.tuples(st.sampled_from(["lend", "return", "publish"]), st.sampled_from(NAMES)), max_size=60))
def test_a_lent_engine_is_open_and_uses_the_published_generation(steps: list[tuple[str, str]]) -> None:
    library = Library()
    engines = library.engines(max_open=2)
    lent: dict[str, list[Any]] = {name: [] for name in NAMES}
    for step, name in steps:
        if step == "publish":
            library.generation[name] += 1
        elif step == "lend":
            loan = engines.lend([ReadableCollection(name)], "default")
            one = opened(loan.__enter__())
            assert one.generations == (library.generation[name],)
            lent[name].append((loan, one))
        elif lent[name]:
            loan, _ = lent[name].pop(0)
            loan.__exit__(None, None, None)
        assert not any(one.closed for loans in lent.values() for _, one in loans)
        held = {id(one) for loans in lent.values() for _, one in loans}
        assert sum(not one.closed for one in library.opened) <= 2 + len(held)
    for loans in lent.values():
        for loan, _ in loans:
            loan.__exit__(None, None, None)
    engines.close()
    assert library.all_closed()


def test_concurrent_requests_open_an_engine_once() -> None:
    for _ in range(50):
        library = Library(takes=0.001)
        engines = library.engines()
        begin = threading.Barrier(8)

        def ask(engines: EnginePool = engines, begin: threading.Barrier = begin) -> Opened:
            begin.wait()
            with engines.lend([A], "default") as engine:
                return opened(engine)

        with ThreadPoolExecutor(8) as threads:
            found = [future.result() for future in [threads.submit(ask) for _ in range(8)]]
        assert len(library.opened) == 1
        assert all(one is library.opened[0] for one in found)


def test_a_lent_engine_is_never_closed_while_new_generations_are_published() -> None:
    library = Library()
    engines = library.engines(max_open=2)
    stop = threading.Event()
    faults: list[str] = []

    def ask(name: str) -> None:
        while not stop.is_set():
            before = library.generation[name]
            with engines.lend([ReadableCollection(name)], "default") as engine:
                one = opened(engine)
                time.sleep(0.0005)
                if one.closed:
                    faults.append("closed while it was asked")
                if one.generations[0] < before:
                    faults.append("older than what was published when it was asked for")

    with ThreadPoolExecutor(6) as threads:
        asking = [threads.submit(ask, name) for name in NAMES for _ in range(2)]
        for number in range(100):
            library.generation[NAMES[number % 3]] += 1
            time.sleep(0.002)
        stop.set()
        for one in asking:
            one.result()
    engines.close()
    assert faults == []
    assert library.all_closed()


def test_a_new_generation_replaces_the_engine_and_the_former_engine_is_closed_when_returned() -> None:
    library = Library()
    engines = library.engines()
    with engines.lend([A], "default") as former:
        library.generation["a"] = 2
        with engines.lend([A], "default") as latter:
            assert opened(latter).generations == (2,)
            assert not opened(former).closed
        assert not opened(former).closed
    assert opened(former).closed
    assert not opened(latter).closed
    assert engines.open_count == 1


def test_an_engine_that_failed_to_open_is_opened_again_by_the_next_request() -> None:
    library = Library(failing=1)
    engines = library.engines()
    with pytest.raises(OSError, match="cannot be opened"), engines.lend([A], "default"):
        pytest.fail("it was lent")
    with engines.lend([A], "default") as engine:
        assert not opened(engine).closed


def test_requests_that_differ_in_collection_order_or_profile_get_separate_engines() -> None:
    library = Library()
    engines = library.engines()
    for names, profile in (([A, B], "default"), ([B, A], "default"), ([A, B], "fast")):
        with engines.lend(names, profile) as engine:
            assert opened(engine).wanted == (tuple(names), profile)
    assert len(library.opened) == 3


def test_closing_the_engine_pool_waits_for_engines_in_use_and_afterwards_no_engine_is_lent() -> None:
    library = Library()
    engines = library.engines()
    loan = engines.lend([A], "default")
    loan.__enter__()
    closing = threading.Thread(target=engines.close)
    closing.start()
    time.sleep(0.05)
    assert not library.all_closed()
    loan.__exit__(None, None, None)
    closing.join(10)
    assert library.all_closed()
    with pytest.raises(RuntimeError), engines.lend([A], "default"):
        pytest.fail("it was lent")


def test_an_engine_in_use_beyond_the_close_timeout_is_closed_when_returned() -> None:
    library = Library()
    engines = library.engines(close_seconds=0.01)
    with engines.lend([A], "default") as engine:
        engines.close()
        assert not opened(engine).closed
    assert opened(engine).closed


def test_an_engine_that_opens_while_the_pool_closes_is_closed() -> None:
    library = Library(takes=0.1)
    engines = library.engines(close_seconds=0.01)

    def ask() -> Opened:
        with engines.lend([A], "default") as engine:
            assert not opened(engine).closed
            return opened(engine)

    with ThreadPoolExecutor(1) as threads:
        asking = threads.submit(ask)
        time.sleep(0.03)
        engines.close()
        assert asking.result().closed
    assert engines.open_count == 0


@settings(max_examples=generated(12))
@given(st.integers(1, 4), st.lists(st.sampled_from(NAMES), max_size=20))
def test_at_most_max_open_engines_are_kept(most: int, asked: list[str]) -> None:
    library = Library()
    engines = library.engines(max_open=most)
    for name in asked:
        with engines.lend([ReadableCollection(name)], "default"):
            pass
    kept = list(dict.fromkeys(reversed(asked)))[:most]
    assert {one.wanted[0][0].name for one in library.opened if not one.closed} == set(kept)
