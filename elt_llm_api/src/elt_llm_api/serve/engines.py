"""Engines that are open, lent to who asks: each answers from one generation, and a newer one takes over by itself."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition

from elt_llm_core.closeable import Closeable
from elt_llm_query.engine import Engine

Wanted = tuple[tuple[str, ...], str]
"""Names of collections in order, and a profile."""
Published = Callable[[Wanted], tuple[tuple[str, int], ...]]
"""The published generation of each collection that is wanted, and whatever else an engine stands on; cheap."""


@dataclass
class _Open:
    """An engine with the generations it was opened on, and how many are asking it."""

    engine: Engine
    published: tuple[tuple[str, int], ...]
    asking: int = 0
    superseded: bool = False


class Engines(Closeable):
    """Opens an engine when it is first asked for, and keeps the `most` last used. Safe to use from many threads.

    `open_one` opens an engine for what is wanted; it is never called twice at a time for the same.
    """

    def __init__(
        self, open_one: Callable[[Wanted], Engine], published: Published, most: int = 8, patience: float = 30.0
    ) -> None:
        """`patience`: seconds that closing waits for who asks."""
        self._open_one, self._published, self._most, self._patience = open_one, published, most, patience
        self._opened: OrderedDict[Wanted, _Open] = OrderedDict()
        self._opening: set[Wanted] = set()
        self._changed = Condition()
        self._closed = False

    @contextmanager
    def lend(self, collections: Sequence[str], profile: str) -> Iterator[Engine]:
        """An engine over what is published now; it stays open until the block ends, whatever is published meanwhile.

        Raises what opening an engine raises.
        """
        wanted = tuple(collections), profile
        one = self._taken(wanted)
        try:
            yield one.engine
        finally:
            self._given_back(one)

    @property
    def open_count(self) -> int:
        """How many engines are kept open."""
        with self._changed:
            return len(self._opened)

    def close(self) -> None:
        """Close every engine as soon as nobody asks it any more; lends none from now on.

        Waits for who asks, but not for ever: an engine that is still asked then is closed when it is given back.
        """
        with self._changed:
            self._closed = True
            left = [self._opened.pop(key) for key in list(self._opened)]
            self._changed.wait_for(lambda: not self._opening and all(one.asking == 0 for one in left), self._patience)
            for one in left:
                one.superseded = True
            idle = [one for one in left if one.asking == 0]
        for one in idle:
            one.engine.close()

    def _taken(self, wanted: Wanted) -> _Open:
        now = self._published(wanted)
        with self._changed:
            self._changed.wait_for(lambda: wanted not in self._opening)
            if self._closed:
                raise RuntimeError("the engines are closed")
            known = self._opened.get(wanted)
            if known and known.published == now:
                self._opened.move_to_end(wanted)
                known.asking += 1
                return known
            self._opening.add(wanted)
        fresh: _Open | None = None
        try:
            fresh = _Open(self._open_one(wanted), now, asking=1)
        finally:
            self._keep(wanted, fresh)
        return fresh

    def _keep(self, wanted: Wanted, fresh: _Open | None) -> None:
        """Have what was opened lent to others, in one step with its not being opened any more: none opens it again."""
        with self._changed:
            left = [self._opened.pop(wanted)] if fresh and wanted in self._opened else []
            if fresh and self._closed:
                left.append(fresh)
            elif fresh:
                self._opened[wanted] = fresh
            while len(self._opened) > self._most:
                left.append(self._opened.popitem(last=False)[1])
            for one in left:
                one.superseded = True
            idle = [one for one in left if one.asking == 0]
            self._opening.discard(wanted)
            self._changed.notify_all()
        for one in idle:
            one.engine.close()

    def _given_back(self, one: _Open) -> None:
        with self._changed:
            one.asking -= 1
            last = one.superseded and one.asking == 0
            self._changed.notify_all()
        if last:
            one.engine.close()
