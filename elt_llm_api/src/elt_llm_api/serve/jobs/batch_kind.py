"""The jobs that make rows, glossary, catalog, coverage and handbook, as their commands run them."""

import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elt_llm_core.errors import UsageError
from elt_llm_core.progress import Progress
from elt_llm_core.settings_loader import LoadedSettings

if TYPE_CHECKING:
    from elt_llm_consumer.job_file import JobFile
    from elt_llm_consumer.runner_report import Cost

_NAME = re.compile(r"[\w-]{1,100}")


def run_batch(kind: str, arguments: Mapping[str, Any], loaded: LoadedSettings, progress: Progress) -> dict[str, Any]:
    """Run the job file of `config/consumer` that `job` names, as far as `only`, `domain`, `limit` and `anew` say.

    A handbook may have `topics` of its own. A `dry_run` ends with `plan`, what there is to do and what it costs. Files
    are told by their names alone: who reads the result learns nothing of the server's folders. Raises as `run_job`
    does; LockHeld if the same job is being run.
    """
    from elt_llm_consumer.job_run import JobRequest, run_job
    from elt_llm_consumer.runner_choice import Choice

    choice = Choice(
        tuple(arguments.get("only", ())),
        arguments.get("domain"),
        arguments.get("limit"),
        bool(arguments.get("anew", False)),
    )
    file = _file(kind, arguments, loaded)
    costs: list[Cost] = []
    request = JobRequest(
        kind,
        file,
        choice,
        dry_run=bool(arguments.get("dry_run", False)),
        on_cost=costs.append,
        progress=lambda: nullcontext(progress),
    )
    report = run_job(request, loaded)
    if report is None:
        return {"job": file.name, "kind": kind, "plan": costs[0].to_json()}
    return {**report.to_json(), "files": [Path(path).name for path in report.files]}


def _file(kind: str, arguments: Mapping[str, Any], loaded: LoadedSettings) -> "JobFile":
    from elt_llm_consumer.job_file import find_job_file, load_job

    name = str(arguments.get("job", ""))
    if not _NAME.fullmatch(name):
        raise UsageError("A job is named by the bare name of its file.", hint="Such files are in config/consumer.")
    file = load_job(find_job_file(name, loaded, loaded.config_dir), loaded)
    topics = tuple(arguments.get("topics", ()))
    if kind != "handbook" or not topics:
        return file
    section = file.spec.handbook.model_copy(update={"topics": topics})
    return replace(file, spec=file.spec.model_copy(update={"handbook": section}))
