"""From rows that were made to the result that is written: what reviewers put right and said, and what is missing."""

from collections.abc import Mapping
from pathlib import Path

from elt_llm_core.errors import SettingsError
from elt_llm_core.settings_loader import LoadedSettings, read_model
from elt_llm_core.state.reviews import JobReviews
from elt_llm_core.state.rows import JobName, JobRows, Place, Quoted
from elt_llm_core.store.database import Database

from elt_llm_consumer.context import JobContext
from elt_llm_consumer.review.curated import Curated, CuratedFile
from elt_llm_consumer.review.merging import shown_rows, with_reviews
from elt_llm_consumer.rows import JobResult
from elt_llm_consumer.runner import Ran
from elt_llm_consumer.runner_key import Sources
from elt_llm_consumer.runner_plan import Plan, place_of
from elt_llm_consumer.tasks import Job

_MOST_NAMED = 20


def read_curated(context: JobContext, kind: str, loaded: LoadedSettings) -> Curated:
    """What reviewers put in place of what is found. Raises SettingsError that names the line of each mistake."""
    given = context.file.spec.sources.curated
    corpora = Sources(context).corpora
    if given is None:
        return Curated((), kind, corpora)
    path = context.file.folder / Path(given)
    if not path.is_file():
        raise SettingsError(f"sources.curated: {path} is not a file", hint="Correct the path, or leave it out.")
    return Curated(read_model(path, CuratedFile, loaded.project).overrides, kind, corpora)


def finished(job: Job, plan: Plan, ran: Ran, curated: Curated, state: Database, name: JobName) -> JobResult:
    """The result as it is to be written; equal for equal rows, reviews and curated values."""
    rows = [curated.row(place.table, row) for place, row in ran.rows.items()]
    result = curated.result(job.result(rows))
    waiting = [(task.table, task.key, task.name) for task in plan.tasks if place_of(task) not in ran.rows]
    notes = (*result.notes, *_missing(plan, ran), *curated.problems(result, waiting))
    return with_reviews(result.model_copy(update={"notes": notes}), JobReviews(state).all(name))


def show(result: JobResult, state: Database, name: JobName) -> None:
    """Keep the rows as they are written now: reviews are of these."""
    rows, reviews = JobRows(state), JobReviews(state)
    read: Mapping[Place, frozenset[Quoted]] = {
        place: frozenset().union(*(row.documents for row in kept)) for place, kept in rows.all(name).items()
    }
    shown = shown_rows(result, read)
    rows.show(name, shown)
    known = reviews.all(name)
    for row in shown:
        review = known.get(row.place)
        if review is not None and review.digest == row.digest and review.documents != row.documents:
            reviews.rest_on(name, row.place, row.documents)


def _missing(plan: Plan, ran: Ran) -> list[str]:
    if not ran.missing:
        return []
    named = ", ".join(ran.missing[:_MOST_NAMED])
    more = f" and {len(ran.missing) - _MOST_NAMED} more" if len(ran.missing) > _MOST_NAMED else ""
    return [f"Not complete: {len(ran.missing)} of {len(plan.tasks)} rows are missing: {named}{more}."]
