"""Documents of a collection as the tab shows them: a table, and what can be chosen from it."""

from collections.abc import Sequence

from elt_llm_core.state.job_queue import QueuedJob

from elt_llm_api.render import local_time
from elt_llm_api.serve.actions.documents import Listed
from elt_llm_api.serve.safe_text import as_markdown
from elt_llm_api.serve.ui.choices import Choice

HEADERS = ["Document", "Title", "Pages", "Passages", "Read", "Status"]
MOST_SHOWN = 1000
_STATUSES = {"ok": "✓ read", "empty": "○ no text in it", "failed": "✗ could not be read"}
_STATES = {
    "queued": "⏳ Waits for its turn.",
    "running": "▶ Is being read.",
    "done": "✓ Done.",
    "failed": "✗ That failed.",
    "cancelled": "■ That was stopped.",
}
_STAGES = {"read": "Reading files", "enrich": "Asking the language model", "embed": "Embedding passages"}


def table_rows(listed: Sequence[Listed]) -> list[list[str]]:
    """One row a document, in the order of `HEADERS`."""
    return [
        [
            f"{one.source} » {one.part}" if one.part else one.source,
            one.title,
            str(one.pages or "-"),
            str(one.chunks or "-"),
            local_time(one.ingested_at),
            f"{_STATUSES.get(one.outcome, one.outcome)}{f': {one.reason}' if one.reason else ''}",
        ]
        for one in listed[:MOST_SHOWN]
    ]


def document_choices(listed: Sequence[Listed]) -> list[Choice]:
    """The files among them, by name; parts of a file are opened and forgotten with it."""
    return [(one.source, one.id) for one in listed if not one.part]


def job_markdown(job: QueuedJob) -> str:
    """How far a job is, in words; when it has ended, what came of it."""
    lines = [f"**{_STATES[job.status]}**"]
    progress = job.progress
    if job.status == "running" and progress.get("stage"):
        of = f" of {progress['total']}" if progress.get("total") else ""
        stage = _STAGES.get(progress["stage"], "Building the index")
        lines.append(as_markdown(f"{stage}: {progress.get('done', 0)}{of} {progress.get('detail', '')}"))
    if job.status == "queued":
        lines += [as_markdown(note) for note in progress.get("notes", [])[-1:]]
    if job.error:
        lines.append(as_markdown(job.error))
    lines += [as_markdown(line) for line in _outcome(job)]
    return "\n\n".join(lines)


def _outcome(job: QueuedJob) -> list[str]:
    if job.status != "done":
        return []
    if job.kind == "forget":
        return ["The document is forgotten: no answer uses it any more."]
    counts = ", ".join(f"{count} {status}" for status, count in job.result.get("counts", {}).items())
    failed = [file for file in job.result.get("files", ()) if file["status"] == "failed"]
    reasons = [f"{file['path']}: {file['reason']}" for file in failed[:5]]
    return [f"{counts}.", *reasons, *job.result.get("notes", ())]
