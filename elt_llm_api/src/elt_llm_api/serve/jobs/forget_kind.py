"""Forgetting a document that was uploaded, or read from the server: for good, its upload included."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from elt_llm_core.progress import Progress
from elt_llm_core.settings_loader import LoadedSettings
from elt_llm_core.store.lock import writer_lock


def run_forget(arguments: Mapping[str, Any], loaded: LoadedSettings, progress: Progress) -> dict[str, Any]:
    """Forget `document`, an id, in `collection`, and delete its upload, unless that is newer than `asked_at`.

    The result is the report without names of what is gone. Raises LockHeld, UnknownCollection, UsageError, StoreError.
    """
    collection = str(arguments["collection"])
    with writer_lock(loaded.data_dir, f"forget in {collection}"):
        from elt_llm_core.forgetting import forget
        from elt_llm_core.store.store import open_store

        with open_store(loaded.data_dir, for_writing=True) as store:
            asked_at = float(arguments["asked_at"])
            report = forget(store, collection, str(arguments["document"]), progress, asked_at=asked_at)
    return {**asdict(report), "documents": len(report.documents)}
