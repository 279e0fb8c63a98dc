"""A job's result compared with a folder of gold files."""

from collections.abc import Sequence
from pathlib import Path

from elt_llm_core.errors import UsageError

from elt_llm_consumer.context import JobContext
from elt_llm_consumer.corpus import Corpus
from elt_llm_consumer.gold.cells import readable_back
from elt_llm_consumer.gold.coverage import compare_coverage
from elt_llm_consumer.gold.fields import compare_fields
from elt_llm_consumer.gold.glossary import compare_glossary
from elt_llm_consumer.gold.matching import compare_matching
from elt_llm_consumer.gold.report import GoldReport, Share
from elt_llm_consumer.rows import JobResult

ENTITIES = "entities"


def gold_figures(result: JobResult, folder: Path, corpora: Sequence[Corpus]) -> GoldReport:
    """How much of a result is as gold says. `corpora` hold the texts that its evidence quotes, as they were read.

    Raises UsageError if a gold file lacks or is wrong, and for a kind of job that has no gold.
    """
    shares, remarks = _compare(result, folder)
    quotes, lost = readable_back(result, corpora)
    return GoldReport(result.job, result.kind, (*shares, quotes), (*remarks, *lost))


def corpora_of(context: JobContext) -> tuple[Corpus, ...]:
    """All that the evidence of a job may quote: its texts, its model, its inventory."""
    structured = (context.model, context.inventory)
    return (context.corpus, *(one.corpus for one in structured if one is not None))


def _compare(result: JobResult, folder: Path) -> tuple[list[Share], list[str]]:
    match result.kind:
        case "glossary":
            return compare_glossary(result, folder)
        case "catalog":
            entities = result.table(ENTITIES)
            matched, wrong_matches = compare_matching(entities, folder)
            fields, wrong_fields = compare_fields(entities, folder)
            return [*matched, *fields], [*wrong_matches, *wrong_fields]
        case "coverage":
            return compare_coverage(result, folder)
        case _:
            raise UsageError(
                f"There is no gold for a {result.kind} job.", hint="Leave --gold out, or run another kind of job."
            )
