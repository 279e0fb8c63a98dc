"""Refusing file systems whose locks and flushes cannot be trusted."""

from pathlib import Path

from elt_llm_core.errors import StoreError

_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "fuse.sshfs", "fuse.glusterfs"}
_MOUNTS = Path("/proc/self/mountinfo")


def file_system_of(path: Path, mounts: str) -> str:
    """The type of the file system that holds `path`, from the text of `mounts` (mountinfo); empty if unknown."""
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
    """Raise StoreError if `data_dir` is on a network file system. Where mounts cannot be listed, nothing is refused."""
    if not _MOUNTS.exists():
        return
    kind = file_system_of(data_dir.resolve(), _MOUNTS.read_text(encoding="utf-8", errors="replace"))
    if kind in _NETWORK:
        raise StoreError(
            f"{data_dir} is on a network file system ({kind}), where locks cannot be trusted.",
            hint="Choose a local folder: --data-dir DIR or ELT_LLM_DATA_DIR.",
        )
