"""How far a job of any kind is, in words that tell a person whether to wait."""

from collections.abc import Iterable, Mapping
from typing import Any

from elt_llm_core.state.job_queue import QueuedJob

from elt_llm_api.progress_display import STAGE_WORDS
from elt_llm_api.serve.safe_text import as_markdown

_STATES = {
    "queued": "⏳ waits for its turn",
    "running": "▶ is running",
    "done": "✓ is done",
    "failed": "✗ failed",
    "cancelled": "■ was stopped",
}
_MOST_LISTED = 5  # failures, and notes


def job_markdown(job: QueuedJob) -> str:
    """What it is and its status; then how far it is or what it waits for, or what came of it."""
    lines = [f"{_name(job)} {_STATES[job.status]}.", *_more(job), job.error]
    first, *others = (as_markdown(line) for line in lines if line)
    return "\n\n".join([f"**{first}**", *others])


def _name(job: QueuedJob) -> str:
    about = job.arguments
    if job.kind == "ingest":
        return f"Reading documents into {about['collection']}"
    if job.kind == "forget":
        return f"Forgetting a document of {about['collection']}"
    return f"{job.kind.capitalize()} of {about.get('job', '')}"


def _more(job: QueuedJob) -> Iterable[str]:
    if job.status == "queued":
        return list(job.progress.get("notes", []))[-1:]
    if job.status == "running":
        return [_far(job.progress)]
    if job.status != "done":
        return []
    if job.kind == "forget":
        return ["The document is forgotten: no answer uses it any more."]
    return _read(job.result) if job.kind == "ingest" else _made(job.result)


def _far(progress: Mapping[str, Any]) -> str:
    stage = progress.get("stage")
    if not stage:
        return "It begins."
    words, _ = STAGE_WORDS.get(stage, (stage, ""))
    of = f" of {progress['total']}" if progress["total"] else ""
    return f"{words}: {progress['done']}{of} {progress['detail']}".strip()


def _read(result: Mapping[str, Any]) -> list[str]:
    """What came of reading documents."""
    counts = ", ".join(f"{count} {status}" for status, count in result["counts"].items())
    failed = [f"{file['path']}: {file['reason']}" for file in result["files"] if file["status"] == "failed"]
    return [f"{counts}.", *_first(failed), *result["notes"]]


def _made(result: Mapping[str, Any]) -> list[str]:
    """What came of making rows."""
    if plan := result.get("plan"):
        return [
            f"It would make {plan['to_make']} of {plan['rows']} rows with {plan['calls']} calls of a language model;"
            f" {plan['kept']} are at hand."
        ]
    told = f"{result['rows']} rows: {result['made']} made now, {result['kept']} kept."
    failed = [f"{one['name']}: {one['reason']} {one['hint']}".strip() for one in result["failures"]]
    return [told, *_first(failed), *result["notes"][:_MOST_LISTED]]


def _first(failed: list[str]) -> list[str]:
    beyond = len(failed) - _MOST_LISTED
    return [*failed[:_MOST_LISTED], *([f"{beyond} more failed."] if beyond > 0 else [])]
