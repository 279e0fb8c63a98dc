"""Flush files to the disk, and check its free space and the type of its file system."""

import fcntl
import hashlib
import os
import shutil
import stat
from pathlib import Path
from tempfile import TemporaryFile

from elt_llm_core.errors import StoreError


def sync_file(path: Path) -> None:
    """Flush one file or directory to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Flush to disk every file and directory below `folder`, from the innermost outwards, and `folder` itself last."""
    for inner, _, names in os.walk(folder, topdown=False):
        for name in names:
            sync_file(Path(inner) / name)
        sync_file(Path(inner))


def replace_durably(path: Path, new: Path) -> None:
    """Flush the file `new` and rename it to `path`, so that a crash leaves either the old or the new file there."""
    sync_file(new)
    new.replace(path)
    sync_file(path.parent)


def link_or_copy(source: Path, target: Path) -> None:
    """Make a hard link to a file, or a copy if the file system does not support links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def write_once(path: Path, text: str) -> str:
    """Write a file atomically unless it exists already, and return its text. Processes may call this concurrently."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        if not path.exists():
            draft = path.with_name(f"{path.name}.new")
            draft.write_text(text, encoding="utf-8")
            replace_durably(path, draft)
        return path.read_text(encoding="utf-8", errors="replace")
    finally:
        os.close(folder)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of the content of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


_COPIES_OF_A_VECTOR = 3  # one in the arrays, one in Chroma's graph, one in its write-ahead log
_BYTES_PER_NODE = 1024  # bytes for ids, fields, keyword postings and graph links
_BYTES_PER_GENERATION = 1 << 20


def require_space(folder: Path, needed: int, purpose: str) -> None:
    """Raise StoreError unless `needed` bytes are free on the disk that contains `folder`."""
    existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise StoreError(
            f"{folder} has too little space for {purpose}: {needed} bytes are needed, {free} are free.",
            hint="Nothing was changed. Free space on that disk, then run the same command again.",
        )


def tree_size(folder: Path) -> int:
    """Return the total size in bytes of the files below `folder`, without links; 0 if there is no such folder."""
    return sum(map(file_size, folder.rglob("*")))


def file_size(path: Path) -> int:
    """Return the size of a file in bytes; 0 for a folder, a link, or a file that was deleted or hidden meanwhile."""
    try:
        found = path.lstat()
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def generation_size(nodes: int, dimension: int) -> int:
    """Return an upper estimate of a generation's size in bytes, for this number of nodes and vector dimension."""
    return _BYTES_PER_GENERATION + nodes * (_COPIES_OF_A_VECTOR * 4 * dimension + _BYTES_PER_NODE)


def can_write(folder: Path, size: int) -> bool:
    """Return whether a file of `size` bytes can be written to `folder` now. The check leaves no file."""
    try:
        with TemporaryFile(dir=folder) as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, max(1, size))
    except OSError:
        return False
    return True


_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "fuse.sshfs", "fuse.glusterfs"}
_MOUNTS = Path("/proc/self/mountinfo")


def file_system_of(path: Path, mounts: str) -> str:
    """Return the file system type of `path`, or "" if unknown. `mounts` is the text of `/proc/self/mountinfo`."""
    best, kind = "", ""
    for line in mounts.splitlines():
        before, separator, after = line.partition(" - ")
        fields = before.split(" ")
        if separator and len(fields) > 4:
            point = fields[4].replace("\\040", " ")
            if (path == Path(point) or Path(point) in path.parents) and len(point) >= len(best):
                best, kind = point, after.split(" ")[0]
    return kind


def refuse_network_file_system(data_dir: Path) -> None:
    """Raise StoreError if `data_dir` is on a network file system. Nothing is checked where mounts cannot be listed."""
    if not _MOUNTS.exists():
        return
    kind = file_system_of(data_dir.resolve(), _MOUNTS.read_text(encoding="utf-8", errors="replace"))
    if kind in _NETWORK:
        raise StoreError(
            f"{data_dir} is on a network file system ({kind}), where file locks are not reliable.",
            hint="Choose a local folder: --data-dir DIR or ELT_LLM_DATA_DIR.",
        )
