"""Places where a test can make the program die or fail: inert unless ELT_LLM_FAILPOINT names one.

`ELT_LLM_FAILPOINT=publish-before:2:kill` kills the process when it is about to publish for the second time.
"""

import errno
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

FAILPOINT_VARIABLE = "ELT_LLM_FAILPOINT"


class Stage(StrEnum):
    """Every stage of work that may be cut off."""

    DISCOVER = "discover"
    PARSE = "parse"
    CHUNK = "chunk"
    WRITE = "write"
    ENRICH = "enrich"
    EMBED = "embed"
    INDEX = "index"
    VERIFY = "verify"
    PUBLISH = "publish"
    COLLECT = "collect"
    FORGET = "forget"
    PURGE = "purge"
    EXPORT = "export"
    IMPORT = "import"
    BACKUP = "backup"
    MIGRATE = "migrate"


@contextmanager
def stage(name: Stage) -> Iterator[None]:
    """Marks where a stage begins and where it has ended well."""
    _reach(f"{name}-before")
    yield
    _reach(f"{name}-after")


def _reach(place: str) -> None:
    """Do what the environment asks for at this place, counting down there: one process, one plan."""
    plan = os.environ.get(FAILPOINT_VARIABLE, "")
    if not plan.startswith(f"{place}:"):
        return
    _, count, action = plan.split(":")
    if int(count) > 1:
        os.environ[FAILPOINT_VARIABLE] = f"{place}:{int(count) - 1}:{action}"
        return
    match action:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            time.sleep(3600)
        case "enospc" | "eio":
            number = errno.ENOSPC if action == "enospc" else errno.EIO
            raise OSError(number, os.strerror(number), place)
