"""What the commands about reviews are given: a job, and which kind of it."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.job_commands import load_job_file
from elt_llm_api.options import CommandContext

if TYPE_CHECKING:
    from elt_llm_consumer.job_file import JobFile
    from elt_llm_core.settings_loader import LoadedSettings
    from elt_llm_core.state.rows import JobName
    from elt_llm_core.store.database import Database

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class ReviewedJob:
    """A job of which something was written, with the state that knows it."""

    name: "JobName"
    file: "JobFile"
    loaded: "LoadedSettings"
    state: "Database"


def review_options(function: Function) -> Function:
    """Adds `--job` and `--kind`."""
    job = click.option("--job", required=True, metavar="FILE", help="The job: a file, or a name in config/consumer.")
    kind = click.option("--kind", metavar="K", help="Which of its kinds; may be left out where it has one.")
    return job(kind(function))


@contextmanager
def reviewed_job(context: CommandContext, job: str, kind: str | None) -> Iterator[ReviewedJob]:
    """The job with its state open. Raises UsageError where nothing was written of it, or the kind is in doubt."""
    from elt_llm_consumer.kinds import KINDS
    from elt_llm_consumer.review.overview import kinds_shown
    from elt_llm_core.state.database import open_state
    from elt_llm_core.state.rows import JobName

    file, loaded = load_job_file(context, job)
    if kind is not None and kind not in KINDS:
        raise UsageError(f"There is no kind of job '{kind}'.", hint=f"Kinds are: {', '.join(KINDS)}.")
    with closing(open_state(loaded.data_dir)) as state:
        shown = kinds_shown(state, file.name, (kind,) if kind else KINDS)
        if not shown:
            what = kind or "KIND"
            raise UsageError(f"Nothing was written of job '{file.name}' yet.", hint=f"Run: elt-llm {what} --job {job}")
        if len(shown) > 1:
            raise UsageError(f"Job '{file.name}' has several kinds.", hint=f"Add --kind: {', '.join(shown)}.")
        yield ReviewedJob(JobName(file.name, shown[0]), file, loaded, state)
