"""Landlock, by which a process on Linux gives up writing files for good: what it reads cannot make it change any."""

import ctypes
import os
import sys
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_ASK_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
_MOVE_BETWEEN_FOLDERS = 1 << 13
_BIND_AND_CONNECT_TCP = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


class _Ruleset(ctypes.Structure):
    """What is forbidden unless a rule allows it: by version 3 files, by 4 TCP, by 6 reaching other processes."""

    _fields_ = (("files", ctypes.c_uint64), ("tcp", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


def give_up_writing(but_below: Iterable[Path]) -> bool:
    """From now on this process and its children write nowhere else, and reach no process outside; false if not.

    They cannot look into other processes either, nor, on newer systems, open TCP connections or send signals. Reading
    stays as it was. False where the system has no Landlock, and before version 3 of it, which cannot hold truncating.
    """
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    version = library.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    if version < 3:
        return False
    ruleset = library.syscall(_CREATE_RULESET, *_forbidden(version), 0)
    if ruleset < 0:
        return False
    try:
        for path in but_below:
            _allow(library, ruleset, path)
        library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return bool(library.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _forbidden(version: int) -> tuple["ctypes._CArgObject", ctypes.c_size_t]:
    """The ruleset as far as a version knows it, and its size."""
    words = 3 if version >= 6 else 2 if version >= 4 else 1
    files = _WRITE_FILE | _TRUNCATE | _REMOVE_AND_MAKE | _MOVE_BETWEEN_FOLDERS
    ruleset = _Ruleset(files, _BIND_AND_CONNECT_TCP, _ABSTRACT_SOCKETS_AND_SIGNALS)
    return ctypes.byref(ruleset), ctypes.c_size_t(words * ctypes.sizeof(ctypes.c_uint64))


def _allow(library: ctypes.CDLL, ruleset: int, path: Path) -> None:
    """Writing below a folder, or into a file; what does not exist needs no leave."""
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
