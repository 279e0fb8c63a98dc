"""Samples of what was forgotten, kept in a file until a purge has searched for them: no row is left to tell them."""

import json
from collections.abc import Sequence
from pathlib import Path

from elt_llm_core.store.store import Store

SAMPLES_NAME = "forgotten-samples.json"
_MOST_KEPT = 600


def keep_samples(store: Store, samples: Sequence[str]) -> None:
    """Add samples to those that wait for the next purge; readable by its owner alone."""
    kept = list(dict.fromkeys([*kept_samples(store), *samples]))[:_MOST_KEPT]
    if not kept:
        return
    path = _path(store)
    path.touch(mode=0o600)
    path.write_text(json.dumps(kept), encoding="utf-8")


def kept_samples(store: Store) -> list[str]:
    """Those that wait; none where the file is not there, or was cut off as it was written."""
    try:
        kept = json.loads(_path(store).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [it for it in kept if isinstance(it, str)] if isinstance(kept, list) else []


def erase_samples(store: Store) -> None:
    """Write over the file, and delete it."""
    path = _path(store)
    if path.exists():
        with path.open("r+b") as stream:
            stream.write(b"\0" * path.stat().st_size)
        path.unlink()


def _path(store: Store) -> Path:
    return store.data_dir / SAMPLES_NAME
