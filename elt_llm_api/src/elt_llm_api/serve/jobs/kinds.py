"""Every kind of job the server does: what runs it, and whether it needs the writer's lock."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from elt_llm_consumer.kinds import KINDS
from elt_llm_core.errors import UsageError
from elt_llm_core.progress import Progress
from elt_llm_core.settings_loader import LoadedSettings

from elt_llm_api.serve.jobs.batch_kind import run_batch
from elt_llm_api.serve.jobs.evaluate_kind import run_evaluation
from elt_llm_api.serve.jobs.forget_kind import run_forget
from elt_llm_api.serve.jobs.ingest_kind import run_ingest

Kind = Callable[[Mapping[str, Any], LoadedSettings, Progress], dict[str, Any]]
"""Does a job by its arguments and returns its result as plain values."""

WRITING: Mapping[str, Kind] = {"ingest": run_ingest, "forget": run_forget}
"""These hold the writer's lock: one after the other."""
READING: Mapping[str, Kind] = {
    **{kind: partial(run_batch, kind) for kind in KINDS},
    "evaluate": run_evaluation,
}
"""These read what is published, beside the others; of them, too, one after the other."""


def run_kind(kind: str, arguments: Mapping[str, Any], loaded: LoadedSettings, progress: Progress) -> dict[str, Any]:
    """Do a job. Raises UsageError for an unknown kind, and whatever doing it raises."""
    known = {**WRITING, **READING}
    if kind not in known:
        raise UsageError(f"There are no jobs of the kind '{kind}'.", hint=f"Kinds are: {', '.join(known)}.")
    return known[kind](arguments, loaded, progress)
