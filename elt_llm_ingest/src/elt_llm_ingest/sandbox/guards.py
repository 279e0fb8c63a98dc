"""What a worker does to itself before it looks at a file: it gives up memory, time, files and the network."""

import ctypes
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

from elt_llm_ingest.sandbox.limits import MEGABYTE

_LARGEST_FILE_WRITTEN = 256 * MEGABYTE
_MOST_OPEN_FILES = 256
_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION = 0x20080522
_CAP_DAC_READ_SEARCH = 1 << 2
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_HIGH_WATER = re.compile(r"^VmHWM:\s{0,20}(\d{1,12}) kB$", re.MULTILINE)


def limit_resources(memory_mb: int) -> None:
    """No more memory than that, no dumps of it, few open files, no large ones written."""
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_NOFILE, _MOST_OPEN_FILES)
    _lower(resource.RLIMIT_FSIZE, _LARGEST_FILE_WRITTEN)
    _lower(resource.RLIMIT_AS, memory_mb * MEGABYTE)


def limit_computing(seconds: int) -> None:
    """From now on so much processor time, at most one second more; then the system ends this process (SIGXCPU)."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = int(usage.ru_utime + usage.ru_stime)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    wanted = used + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def die_with_parent(parent: int) -> None:
    """Ends this process as soon as `parent` does; elsewhere than on Linux the closed pipe does it, between files."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None, use_errno=True)
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def leave_network() -> bool:
    """Into a network of its own that leads nowhere; false where the system does not allow that.

    An administrator needs no user namespace for it, and in one could not read other people's files any more.
    """
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    return any(library.unshare(flags) == 0 for flags in (_CLONE_NEWNET, _CLONE_NEWUSER | _CLONE_NEWNET))


def give_up_privileges() -> None:
    """Of what an administrator may do, keep reading other people's files alone; nothing changes for anybody else.

    With the rest, a worker could go back to the network of its parent, or look into its memory.
    """
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    held = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then the upper halves of each
    if library.capget(header, held) == 0:
        kept = (ctypes.c_uint32 * 6)(held[0] & _CAP_DAC_READ_SEARCH, held[1] & _CAP_DAC_READ_SEARCH)
        library.capset(header, kept)


def network_can_be_left() -> bool:
    """Whether workers will be without a network here: tried in a process of its own, since there is no way back."""
    if sys.platform != "linux":
        return False
    asked = "import sys; from elt_llm_ingest.sandbox.guards import leave_network; sys.exit(not leave_network())"
    done = subprocess.run([sys.executable, "-s", "-P", "-c", asked], check=False, stderr=subprocess.DEVNULL)  # noqa: S603
    return done.returncode == 0


def peak_memory_mb() -> float:
    """Most memory this program ever held.

    Linux counts the parent's memory into what it tells of a child's resources; it keeps the program's own apart.
    """
    status = Path("/proc/self/status")
    if status.is_file() and (own := _HIGH_WATER.search(status.read_text(encoding="ascii"))):
        return int(own.group(1)) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MEGABYTE if sys.platform == "darwin" else peak / 1024


def _lower(kind: int, wanted: int) -> None:
    """Sets a limit, or leaves it where it is lower already or the system knows no such limit."""
    _, hard = resource.getrlimit(kind)
    value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(kind, (value, value))
    except (ValueError, OSError):
        return
