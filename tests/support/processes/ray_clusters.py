"""A Ray cluster of two nodes on this machine, each with one processor."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_NODE = {"num_cpus": 1, "object_store_memory": 200_000_000}
_TRIES = 3  # a busy machine may start the processes of a cluster too slowly


@contextmanager
def two_nodes(home: Path) -> Iterator[Any]:
    """Start a cluster, and end its processes afterwards. Ray writes into `home`, if it writes into a home at all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")  # as RayCompute does, but before the first import of Ray
        patch.setenv("RAY_worker_niceness", "0")  # the default of 15 is too short while this machine does other work
        # Nodes talk to each other at this machine's own address, which the network guard of the tests refuses.
        patch.delenv("PYTHONPATH", raising=False)
        cluster = _start(_TRIES)
        try:
            yield cluster
        finally:
            cluster.shutdown()


_NEW_MOUNTS, _OWN_FOLDERS = 0x20000, 0x200  # CLONE_NEWNS, CLONE_FS
_PRIVATE, _RECURSIVE = 1 << 18, 1 << 14  # MS_PRIVATE, MS_REC


@contextmanager
def hidden_from_children(folder: Path) -> Iterator[None]:
    """Let the processes that are started in this context see an empty folder instead of this one, as long as they run.

    They get a separate mount namespace, which needs root.
    """
    if os.geteuid() != 0:
        pytest.skip("needs root, to start processes in a mount namespace of their own")
    libc, working = ctypes.CDLL(None, use_errno=True), Path.cwd()

    def call(name: str, *arguments: object) -> None:
        if getattr(libc, name)(*arguments):
            raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")

    with Path("/proc/thread-self/ns/mnt").open("rb") as former:
        call("unshare", _NEW_MOUNTS)
        try:
            call("mount", b"none", b"/", None, _RECURSIVE | _PRIVATE, None)
            call("mount", b"none", os.fsencode(folder), b"tmpfs", 0, None)
            yield
        finally:
            call("unshare", _OWN_FOLDERS)  # threads that were started meanwhile share the working directory
            call("setns", former.fileno(), _NEW_MOUNTS)
            os.chdir(working)


def _start(tries: int) -> Any:
    from ray import cluster_utils

    create: Any = cluster_utils.Cluster
    cluster = create()
    try:
        cluster.add_node(include_dashboard=False, **_NODE)
        cluster.add_node(**_NODE)
    except (Exception, SystemExit):  # Ray itself raises one of these if a node starts too slowly
        cluster.shutdown()
        if tries == 1:
            raise
        return _start(tries - 1)
    return cluster


def actors_of(cluster: Any) -> list[int]:
    """The process ids of the actors on the nodes of this cluster."""
    raylets = {info.process.pid for node in cluster.list_all_nodes() for info in node.all_processes["raylet"]}
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            title = (process / "cmdline").read_bytes()
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it ended
        if parent in raylets and title.startswith(b"ray::RayActor"):
            found.append(int(process.name))
    return found
