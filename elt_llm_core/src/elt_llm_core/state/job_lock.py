"""The lock that allows one run of a batch job at a time."""

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from elt_llm_core.errors import LockHeld
from elt_llm_core.state.jobs import JobName
from elt_llm_core.store.lock import lock_holder, writer_lock

_FOLDER = "jobs"


@contextmanager
def job_lock(data_dir: Path, name: JobName) -> Iterator[None]:
    """Hold the lock of one batch job. The lock ends with the block or with the process.

    Raises LockHeld, with the name of the other process, if the lock is still held after half a second.
    """
    digest = hashlib.sha256(f"{name.kind}\0{name.job}".encode()).hexdigest()[:16]
    folder = data_dir / _FOLDER / digest
    for private in (data_dir, folder.parent):
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(writer_lock(folder, f"elt-llm {name.kind} --job {name.job}"))
        except LockHeld as error:
            raise LockHeld(
                f"The {name.kind} of job '{name.job}' is being run by {lock_holder(folder) or 'another process'}.",
                hint="Finished rows are kept. Run this command again when that process has ended.",
            ) from error
        yield
