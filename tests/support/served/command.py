"""Run `elt-llm serve` as a process, like in a terminal."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from processes.command_line import FAKE, command

_ADDRESS = re.compile(r"Listening at (https?://[^/]{1,80})/")


@dataclass(frozen=True)
class RunningCommand:
    """A started server, with its output in two files."""

    process: subprocess.Popen[bytes]
    address: str
    out: Path
    err: Path

    @property
    def output(self) -> str:
        """Return the whole output so far."""
        return self.out.read_text(encoding="utf-8") + self.err.read_text(encoding="utf-8")

    def get(self, path: str, **headers: str) -> httpx.Response:
        """Send a GET request, accepting any certificate."""
        return httpx.get(f"{self.address}{path}", headers=headers, timeout=30, verify=False)  # noqa: S501 - a test's own

    def end(self, number: signal.Signals) -> int:
        """Send a signal and wait for the exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)


@contextmanager
def serving(
    folder: Path, logs: Path, *arguments: str | Path, environment: Mapping[str, str] = FAKE, token: str | None = None
) -> Iterator[RunningCommand]:
    """Run the command on the project in `folder`, on a free port unless one is given, until the block ends."""
    out, err = logs / "out.txt", logs / "err.txt"
    secret = {"ELT_LLM_SERVE_TOKEN": token} if token else {}
    asked = command("serve", *arguments, *(() if "--port" in arguments else ("--port", "0")))
    with out.open("wb") as reported, err.open("wb") as warned:
        process = subprocess.Popen(
            asked, cwd=folder, env={**os.environ, **environment, **secret}, stdout=reported, stderr=warned
        )
    try:
        yield RunningCommand(process, _address(process, out, err), out, err)
    finally:
        process.kill()
        process.wait(60)


def _address(process: subprocess.Popen[bytes], out: Path, err: Path) -> str:
    deadline = time.monotonic() + 120
    while not (found := _ADDRESS.search(out.read_text(encoding="utf-8"))):
        assert process.poll() is None, err.read_text(encoding="utf-8")
        assert time.monotonic() < deadline, "the server did not start in time"
        time.sleep(0.05)
    return found[1]
