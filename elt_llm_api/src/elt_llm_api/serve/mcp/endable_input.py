"""Standard input that ends when the process is told to end, and not only when whoever writes it does.

The library of the protocol reads it in a thread that nothing can interrupt. So what it reads is a pipe of ours, filled
by a thread of ours that lets go of it at a signal: all ends then as it does with the input. What it holds open is held
until the process is gone, which is soon.
"""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread
from types import FrameType

_INPUT = 0
_AT_ONCE = 1 << 16  # bytes


@dataclass
class Ending:
    """Which signal ended the input, if one did."""

    signals: list[int] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 where the input ended by itself, else as shells tell of a signal."""
        return 128 + self.signals[0] if self.signals else 0


@contextmanager
def endable_input() -> Iterator[Ending]:
    """Within it SIGTERM and SIGINT end the standard input, a second one the process. For the main thread alone."""
    ending = Ending()
    real = os.dup(_INPUT)
    reading, writing = os.pipe()
    asleep, waking = os.pipe()
    os.dup2(reading, _INPUT)
    os.close(reading)

    def end(number: int, _: FrameType | None) -> None:
        if ending.signals:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        ending.signals.append(number)
        os.write(waking, b"!")

    former = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    Thread(target=_fill, args=(writing, real, asleep), name="input", daemon=True).start()
    try:
        yield ending
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        os.write(waking, b"!")


def _fill(writing: int, real: int, asleep: int) -> None:
    """Copy until the real input ends, or somebody says that it is enough, or nobody reads any more."""
    try:
        while asleep not in select.select([real, asleep], [], [])[0]:
            data = os.read(real, _AT_ONCE)
            if not data:
                break
            while data:
                data = data[os.write(writing, data) :]
    except OSError:
        pass  # nobody reads any more
    finally:
        os.close(writing)
