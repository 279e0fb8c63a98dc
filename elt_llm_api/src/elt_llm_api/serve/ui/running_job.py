"""How far a job is, in words that tell a person whether to wait."""

from typing import Any

from elt_llm_core.state.job_queue import QueuedJob

from elt_llm_api.serve.safe_text import as_markdown

_STATES = {
    "queued": "⏳ waits for its turn",
    "running": "▶ is running",
    "done": "✓ is done",
    "failed": "✗ failed",
    "cancelled": "■ was stopped",
}
_MOST_NOTES = 5


def progress_markdown(job: QueuedJob) -> str:
    """Status, stage and count; when it has ended, what came of it."""
    named = as_markdown(f"{job.kind} of {job.arguments.get('job', '')}")
    lines = [f"**{named} {_STATES[job.status]}.**"]
    if job.status == "running":
        lines.append(as_markdown(_far(job.progress)))
    if job.status == "done":
        lines += [as_markdown(line) for line in _outcome(job.result)]
    if job.error:
        lines.append(as_markdown(job.error))
    return "\n\n".join(line for line in lines if line)


def _far(progress: Any) -> str:
    if not progress.get("stage"):
        return "It begins."
    of = f" of {progress['total']}" if progress.get("total") else ""
    return f"{progress['stage']}: {progress.get('done', 0)}{of} {progress.get('detail', '')}".strip()


def _outcome(result: Any) -> list[str]:
    if plan := result.get("plan"):
        return [
            f"It would make {plan['to_make']} of {plan['rows']} rows with {plan['calls']} calls of a language model;"
            f" {plan['kept']} are at hand."
        ]
    told = [f"{result.get('rows', 0)} rows: {result.get('made', 0)} made now, {result.get('kept', 0)} kept."]
    failures = result.get("failures") or ()
    told += [f"{one['name']}: {one['reason']} {one['hint']}".strip() for one in failures[:_MOST_NOTES]]
    if len(failures) > _MOST_NOTES:
        told.append(f"{len(failures) - _MOST_NOTES} more failed.")
    return [*told, *list(result.get("notes") or ())[:_MOST_NOTES]]
