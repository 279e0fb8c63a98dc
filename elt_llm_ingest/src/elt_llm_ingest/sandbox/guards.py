"""Limit the memory, time, files, network and privileges of a worker process; check files before they are parsed."""

import ctypes
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elt_llm_core.errors import UnreadableDocument

if TYPE_CHECKING:
    from elt_llm_core.settings.tree import IngestSettings  # a worker process needs no settings and starts sooner

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class ParseLimits:
    """The limits for parsing a file: memory and file size in megabytes, times in seconds, text in characters.

    `computing_share` is the share of `seconds` that may be processor time. A worker process is replaced after
    `files_per_worker` files, or when it has used `worker_megabytes` of memory.
    """

    memory_mb: int = 1536
    seconds: float = 120
    file_mb: int = 256
    characters: int = 20_000_000
    computing_share: float = 0.5
    files_per_worker: int = 1000
    worker_megabytes: int = 600

    @classmethod
    def of(cls, settings: "IngestSettings") -> "ParseLimits":
        """Create the limits from the ingest settings."""
        return cls(
            memory_mb=settings.parse_memory_mb,
            seconds=settings.parse_seconds,
            file_mb=settings.max_file_mb,
            characters=settings.max_characters,
        )

    @property
    def computing_seconds(self) -> int:
        """The processor time allowed for a file, in whole seconds; at least one."""
        return max(1, round(self.seconds * self.computing_share))

    @property
    def answer_bytes(self) -> int:
        """The maximum size of a worker's result for one file, in bytes."""
        return 16 * MEGABYTE + 12 * self.characters  # for the text as escaped JSON, and for its structure


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
    """Limit the memory, the open files and the size of written files of this process, and disable core dumps."""
    _lower_limit(resource.RLIMIT_CORE, 0)
    _lower_limit(resource.RLIMIT_NOFILE, _MOST_OPEN_FILES)
    _lower_limit(resource.RLIMIT_FSIZE, _LARGEST_FILE_WRITTEN)
    _lower_limit(resource.RLIMIT_AS, memory_mb * MEGABYTE)


def limit_computing(seconds: int) -> None:
    """Limit the further processor time of this process. If it exceeds the limit, the system ends it with SIGXCPU."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = int(usage.ru_utime + usage.ru_stime)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    wanted = used + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def die_with_parent(parent: int) -> None:
    """Make this process end when its parent ends. Outside Linux, it ends when its pipe is closed."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None, use_errno=True)
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def leave_network() -> bool:
    """Enter an empty network namespace. Return False if the system does not allow it.

    The root user enters it without a new user namespace, because it could not read other users' files in one.
    """
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    return any(library.unshare(flags) == 0 for flags in (_CLONE_NEWNET, _CLONE_NEWUSER | _CLONE_NEWNET))


def give_up_privileges() -> None:
    """Drop all of the root user's capabilities except that to read other users' files.

    With the other capabilities, a worker could return to its parent's network or read its parent's memory.
    """
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    # The lower, then the upper halves of the effective, permitted and inheritable capabilities.
    held = (ctypes.c_uint32 * 6)()
    if library.capget(header, held) == 0:
        kept = (ctypes.c_uint32 * 6)(held[0] & _CAP_DAC_READ_SEARCH, held[1] & _CAP_DAC_READ_SEARCH)
        library.capset(header, kept)


def can_leave_network() -> bool:
    """Return whether workers can leave the network here. A child process tries it, since it cannot be undone."""
    if sys.platform != "linux":
        return False
    code = "import sys; from elt_llm_ingest.sandbox.guards import leave_network; sys.exit(not leave_network())"
    done = subprocess.run([sys.executable, "-s", "-P", "-c", code], check=False, stderr=subprocess.DEVNULL)  # noqa: S603
    return done.returncode == 0


def peak_memory_mb() -> float:
    """Return the peak memory of this process in megabytes. On Linux, /proc shows it without the parent's memory."""
    status = Path("/proc/self/status")
    if status.is_file() and (own := _PEAK_MEMORY.search(status.read_text(encoding="ascii"))):
        return int(own.group(1)) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MEGABYTE if sys.platform == "darwin" else peak / 1024


def _lower_limit(kind: int, wanted: int) -> None:
    """Lower a resource limit to `wanted`, unless it is already lower or the system does not support the limit."""
    _, hard = resource.getrlimit(kind)
    value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(kind, (value, value))
    except (ValueError, OSError):
        return


_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # Landlock's system calls on every architecture
_ASK_VERSION = 1
_PATH_BENEATH = 1

_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
_MOVE_BETWEEN_FOLDERS = 1 << 13
_BIND_AND_CONNECT_TCP = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


class _Ruleset(ctypes.Structure):
    """The rights that Landlock denies: on files, on TCP (since version 4) and on other processes (since version 6)."""

    _fields_ = (("files", ctypes.c_uint64), ("tcp", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


def give_up_writing(but_below: Iterable[Path]) -> bool:
    """Forbid this process and its children to write outside the given paths. Return whether Landlock enforces it.

    On newer systems, TCP connections and signals to other processes are forbidden too. Reading stays allowed. The
    result is False if the system has no Landlock, or a version before 3, which cannot forbid truncation.
    """
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    version = library.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    if version < 3:
        return False
    rights = _Ruleset(
        _WRITE_FILE | _TRUNCATE | _REMOVE_AND_MAKE | _MOVE_BETWEEN_FOLDERS,
        _BIND_AND_CONNECT_TCP,
        _ABSTRACT_SOCKETS_AND_SIGNALS,
    )
    words = 3 if version >= 6 else 2 if version >= 4 else 1  # the fields of _Ruleset that this version supports
    size = ctypes.c_size_t(words * ctypes.sizeof(ctypes.c_uint64))
    ruleset = library.syscall(_CREATE_RULESET, ctypes.byref(rights), size, 0)
    if ruleset < 0:
        return False
    try:
        for path in but_below:
            _allow_writing(library, ruleset, path)
        library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return bool(library.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _allow_writing(library: ctypes.CDLL, ruleset: int, path: Path) -> None:
    """Allow writing to a file, or below a folder. Ignore a path that does not exist."""
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


def check_file(path: Path, within: Path | None, most_megabytes: int) -> None:
    """Check that a path is a readable regular file within the size limit and, if `within` is given, in this folder.

    The check does not block on a pipe, and does not follow a link that has meanwhile replaced the file.

    Raises:
        UnreadableDocument: the path is a pipe, device, folder or link out of `within`, or the file is too large.
    """
    real = path
    if within is not None:
        with _name_open_errors():
            real, folder = path.resolve(strict=True), within.resolve(strict=True)
        if not real.is_relative_to(folder):
            raise UnreadableDocument("is a symbolic link that leads out of the folder")
    with _name_open_errors(real):
        descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableDocument("is not a regular file")
    if status.st_size > most_megabytes * MEGABYTE:
        raise UnreadableDocument(
            f"is {status.st_size / MEGABYTE:,.0f} MB, more than the limit of {most_megabytes:,} MB",
            hint="divide it, or raise ingest.max_file_mb",
        )


@contextmanager
def _name_open_errors(unlinked: Path | None = None) -> Iterator[None]:
    """Convert errors from opening a file to UnreadableDocument. `unlinked` is a path that must not be a link."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        is_link = isinstance(error, OSError) and unlinked is not None and unlinked.is_symlink()
        reason = f"cannot be opened: {getattr(error, 'strerror', None) or error}"
        raise UnreadableDocument("is a symbolic link" if is_link else reason) from error


_OPENED = Path("/proc/self/fd")
_PIN_FOLDER = Path("/tmp")  # noqa: S108 - the only folder to which a worker may write
_PREFIX = "elt-llm-read-"


@contextmanager
def pin_file(path: Path, within: Path | None) -> Iterator[Path]:
    """Open a file, and yield a path with its name that leads to the open file even if another file replaces it.

    Links are followed only if `within` is given. If the system has no paths for open files, `path` itself is yielded.

    Raises:
        UnreadableDocument: the file cannot be opened, or the open file is not inside `within`.
    """
    if not _OPENED.is_dir():
        yield path
        return
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if within else os.O_NOFOLLOW)
    with _name_open_errors():
        descriptor = os.open(path, flags)
    try:
        opened = _OPENED / str(descriptor)
        if within is not None and not opened.readlink().is_relative_to(within.resolve()):
            raise UnreadableDocument("was replaced by a link that leads out of its folder")
        with own_folder() as folder:
            name = folder / path.name
            name.symlink_to(opened)
            yield name
    finally:
        os.close(descriptor)


@contextmanager
def own_folder() -> Iterator[Path]:
    """Create a temporary folder for the `with` block. If this process is killed, `remove_pinned` removes it later."""
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", dir=_PIN_FOLDER) as folder:
        yield Path(folder)


def remove_pinned() -> None:
    """Remove the folders that ended processes left behind. Without /proc, which shows the running ones, do nothing."""
    if not _OPENED.is_dir():
        return
    for folder in _PIN_FOLDER.glob(f"{_PREFIX}*-*"):
        process = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if not (_OPENED.parents[1] / process).exists():
            shutil.rmtree(folder, ignore_errors=True)
