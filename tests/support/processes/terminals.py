"""Run commands in a pseudo terminal and read their output."""

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from processes.command_line import FAKE


@contextmanager
def in_terminal(
    folder: Path, line: Sequence[str], columns: int = 100, environment: Mapping[str, str] = FAKE
) -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    """Start a program in a pseudo terminal; yield the descriptor of the terminal and the process."""
    mine, its = pty.openpty()
    settings = {"ELT_LLM_EMBEDDING__BATCH_SIZE": "1", "TERM": "xterm-256color", "COLUMNS": str(columns)}
    process = subprocess.Popen(
        line,
        cwd=folder,
        env={**os.environ, **environment, **settings},
        stdin=its,
        stdout=its,
        stderr=its,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 - one thread
    )
    os.close(its)
    try:
        yield mine, process
    finally:
        process.kill()
        process.wait()
        os.close(mine)


def read_until(terminal: int, *what: str, seconds: float = 60) -> str:
    """Read the output of a terminal until it has all these texts, or to its end, without colours.

    Without texts, read for `seconds`.
    """
    text, deadline = b"", time.monotonic() + seconds
    while time.monotonic() < deadline or what:
        assert time.monotonic() < deadline, f"not all of {what} in: {_plain(text)}"
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                text += os.read(terminal, 65536)
            except OSError:  # Linux reports the end of a closed terminal as an error
                break
        if what and all(one in _plain(text) for one in what):
            break
    return _plain(text)


def _plain(text: bytes) -> str:
    return re.sub(r"\x1b\[[0-9;?]{0,20}[A-Za-z]", "", text.decode("utf-8", "replace"))
