"""One line a question for a file: ids, times and outcome, and words only where the settings ask for them."""

from typing import Any

from elt_llm_core.state.trace_files import TraceFiles

from elt_llm_api.serve.monitoring.observation import Observation


class TraceLines:
    """Writes questions to trace files. `words`: with those of question and answer.

    The documents of a question are named in its line, so that forgetting one takes the line out.
    """

    def __init__(self, files: TraceFiles, *, words: bool) -> None:
        self._files, self._words = files, words

    def __call__(self, seen: Observation) -> None:
        """Write one line. Raises OSError."""
        self._files.append(trace_line(seen, words=self._words))


def trace_line(seen: Observation, *, words: bool) -> dict[str, Any]:
    """What a line tells; times are milliseconds."""
    told: dict[str, Any] = {
        "id": seen.id,
        "at": seen.at.isoformat(timespec="milliseconds"),
        "kind": seen.kind,
        "profile": seen.profile,
        "asked_by": seen.principal,
        "outcome": seen.outcome,
        "error": seen.error,
        "took_ms": round(seen.took_ms, 3),
        "confidence": seen.confidence,
        "stages": [{"name": it.name, "took_ms": round(it.took_ms, 3), "kept": it.kept} for it in seen.stages],
        "caches": dict(seen.caches),
        "found_by": seen.found_by,
        "passages": dict(seen.legs),
        "generations": dict(seen.generations),
        "documents": [list(one) for one in seen.documents],
    }
    return {**told, "question": seen.question, "answer": seen.answer} if words else told
