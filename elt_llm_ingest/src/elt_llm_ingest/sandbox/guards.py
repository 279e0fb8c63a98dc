"""Limits of a worker process and how it applies them: memory, time, files, network, privileges, Landlock."""

import ctypes
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from elt_llm_core.settings.tree import IngestSettings

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class ParseLimits:
    """The limits of parsing a file: memory and size in megabytes, times in seconds, text in characters.

    `computing_share` is the part of the time that may be processor time. A process with `files_per_worker` files or
    `worker_megabytes` of memory is replaced by a fresh one.
    """

    memory_mb: int = 1536
    seconds: float = 120
    file_mb: int = 256
    characters: int = 20_000_000
    computing_share: float = 0.5
    files_per_worker: int = 1000
    worker_megabytes: int = 600

    @classmethod
    def of(cls, settings: IngestSettings) -> "ParseLimits":
        """Return the limits of the settings."""
        return cls(
            memory_mb=settings.parse_memory_mb,
            seconds=settings.parse_seconds,
            file_mb=settings.max_file_mb,
            characters=settings.max_characters,
        )

    @property
    def computing_seconds(self) -> int:
        """The processor time of a file, at least one second."""
        return max(1, round(self.seconds * self.computing_share))

    @property
    def answer_bytes(self) -> int:
        """The most bytes in a worker's answer for a file."""
        return 16 * MEGABYTE + 12 * self.characters


_LARGEST_FILE_WRITTEN = 256 * MEGABYTE
_MOST_OPEN_FILES = 256
_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION = 0x20080522
_CAP_DAC_READ_SEARCH = 1 << 2
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PEAK_MEMORY = re.compile(r"^VmHWM:\s{0,20}(\d{1,12}) kB$", re.MULTILINE)


def limit_resources(memory_mb: int) -> None:
    """Limit memory, open files and the size of written files; disable core dumps."""
    _lower_limit(resource.RLIMIT_CORE, 0)
    _lower_limit(resource.RLIMIT_NOFILE, _MOST_OPEN_FILES)
    _lower_limit(resource.RLIMIT_FSIZE, _LARGEST_FILE_WRITTEN)
    _lower_limit(resource.RLIMIT_AS, memory_mb * MEGABYTE)


def limit_computing(seconds: int) -> None:
    """Limit further processor time, to a second; beyond it the system ends this process (SIGXCPU)."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = int(usage.ru_utime + usage.ru_stime)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    wanted = used + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def die_with_parent(parent: int) -> None:
    """End this process when `parent` ends; outside Linux the closed pipe does so between files."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None, use_errno=True)
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def leave_network() -> bool:
    """Enter an empty network namespace; return False where the system does not allow that.

    An administrator needs no user namespace for it, and could not read other users' files in one.
    """
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    return any(library.unshare(flags) == 0 for flags in (_CLONE_NEWNET, _CLONE_NEWUSER | _CLONE_NEWNET))


def give_up_privileges() -> None:
    """Drop all capabilities of an administrator except reading other users' files; other users have none to drop.

    With the others a worker could return to the network of its parent, or read its memory.
    """
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    held = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then the upper halves of each
    if library.capget(header, held) == 0:
        kept = (ctypes.c_uint32 * 6)(held[0] & _CAP_DAC_READ_SEARCH, held[1] & _CAP_DAC_READ_SEARCH)
        library.capset(header, kept)


def can_leave_network() -> bool:
    """Whether workers can leave the network on this system: tried in a child process, since it cannot be undone."""
    if sys.platform != "linux":
        return False
    code = "import sys; from elt_llm_ingest.sandbox.guards import leave_network; sys.exit(not leave_network())"
    done = subprocess.run([sys.executable, "-s", "-P", "-c", code], check=False, stderr=subprocess.DEVNULL)  # noqa: S603
    return done.returncode == 0


def peak_memory_mb() -> float:
    """The peak memory of this program in megabytes.

    Linux includes the parent's memory in the resource usage of a child; /proc has the program's own.
    """
    status = Path("/proc/self/status")
    if status.is_file() and (own := _PEAK_MEMORY.search(status.read_text(encoding="ascii"))):
        return int(own.group(1)) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MEGABYTE if sys.platform == "darwin" else peak / 1024


def _lower_limit(kind: int, wanted: int) -> None:
    """Set a limit, unless it is lower already or the system has no such limit."""
    _, hard = resource.getrlimit(kind)
    value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(kind, (value, value))
    except (ValueError, OSError):
        return


_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_ASK_VERSION = 1
_PATH_BENEATH = 1

_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
_MOVE_BETWEEN_FOLDERS = 1 << 13
_BIND_AND_CONNECT_TCP = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


class _Ruleset(ctypes.Structure):
    """The rights that are denied unless a rule allows them: from version 3 files, 4 TCP, 6 other processes."""

    _fields_ = (("files", ctypes.c_uint64), ("tcp", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


def give_up_writing(but_below: Iterable[Path]) -> bool:
    """Deny this process and its children writing anywhere else and access to other processes; return False if not.

    On newer systems they can open no TCP connections and send no signals either. Reading does not change. False where
    the system has no Landlock, or a version before 3, which cannot deny truncation.
    """
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    version = library.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    if version < 3:
        return False
    ruleset = library.syscall(_CREATE_RULESET, *_forbidden_ruleset(version), 0)
    if ruleset < 0:
        return False
    try:
        for path in but_below:
            _allow_writing(library, ruleset, path)
        library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return bool(library.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _forbidden_ruleset(version: int) -> tuple["ctypes._CArgObject", ctypes.c_size_t]:
    """The part of the ruleset that a version supports, and its size."""
    words = 3 if version >= 6 else 2 if version >= 4 else 1
    files = _WRITE_FILE | _TRUNCATE | _REMOVE_AND_MAKE | _MOVE_BETWEEN_FOLDERS
    ruleset = _Ruleset(files, _BIND_AND_CONNECT_TCP, _ABSTRACT_SOCKETS_AND_SIGNALS)
    return ctypes.byref(ruleset), ctypes.c_size_t(words * ctypes.sizeof(ctypes.c_uint64))


def _allow_writing(library: ctypes.CDLL, ruleset: int, path: Path) -> None:
    """Allow writing in a folder or to a file; ignore paths that do not exist."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        allowed = _WRITE_FILE | _TRUNCATE | (_REMOVE_AND_MAKE | _MOVE_BETWEEN_FOLDERS if path.is_dir() else 0)
        rule = _PathBeneath(allowed, descriptor)
        library.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(descriptor)
