"""Comparing collections with their record, and rebuilding what is damaged."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from elt_llm_core.progress import Progress
from elt_llm_core.settings_loader import LoadedSettings
from elt_llm_core.store.lock import writer_lock


def run_verify(arguments: Mapping[str, Any], loaded: LoadedSettings, progress: Progress) -> dict[str, Any]:
    """Verify `collections`, every row of them if `deep`; what is damaged is built anew, nothing embedded.

    The result tells the `damage` found and, as pairs of numbers, generations `healed`. Raises LockHeld,
    UnknownCollection, StoreError for damage of the store itself.
    """
    deep = bool(arguments.get("deep", False))
    with writer_lock(loaded.data_dir, "elt-llm verify"):
        from elt_llm_core.collection import collect_garbage
        from elt_llm_core.store.store import open_store
        from elt_llm_core.verification import examine, heal

        with open_store(loaded.data_dir, for_writing=True) as store:
            damage = [fault for name in arguments["collections"] for fault in examine(store, name, deep=deep).damage]
            healed = heal(store, damage, progress)
            collect_garbage(store, loaded.settings.storage.keep_generations)
    return {"damage": [asdict(one) for one in damage], "healed": [list(pair) for pair in healed]}
