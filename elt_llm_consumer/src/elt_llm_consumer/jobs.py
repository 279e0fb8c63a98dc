"""Which jobs there are, and how one of each is made."""

from elt_llm_core.errors import UsageError

from elt_llm_consumer.context import JobContext
from elt_llm_consumer.kinds import KINDS, Kind
from elt_llm_consumer.tasks import Job

__all__ = ["KINDS", "Kind", "create_job", "recipe_of"]


def create_job(kind: str, context: JobContext) -> Job:
    """A job of that kind over the context. Raises UsageError for a kind there is not, and as the job does."""
    match kind:
        case "glossary":
            from elt_llm_consumer.glossary.job import GlossaryJob

            return GlossaryJob(context)
        case "catalog":
            from elt_llm_consumer.catalog.job import CatalogJob

            return CatalogJob(context)
        case "coverage":
            from elt_llm_consumer.coverage.job import CoverageJob

            return CoverageJob(context)
        case "handbook":
            from elt_llm_consumer.handbook.job import HandbookJob

            return HandbookJob(context)
        case _:
            raise UsageError(f"There is no job of the kind '{kind}'.", hint=f"Kinds are: {', '.join(KINDS)}.")


def recipe_of(kind: str) -> int:
    """Number of the way in which rows of a kind are written by a language model.

    A higher one has them all written anew, and paid for: raise it where the same material gives another row. Rows that
    no model writes are made anew by every new version of the program, for they cost little.
    """
    recipes: dict[str, int] = {"catalog": 3, "glossary": 2, "handbook": 3}
    return recipes.get(kind, 1)
