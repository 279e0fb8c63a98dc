"""Classes of coverage and gaps held against gold."""

from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from elt_llm_consumer.gold.cells import first_of
from elt_llm_consumer.gold.files import Class, Gap, GoldCoverage, GoldGap, read_gold
from elt_llm_consumer.gold.report import Share
from elt_llm_consumer.gold.sameness import term_key
from elt_llm_consumer.rows import JobResult, Table

COVERAGE, GAPS = "coverage", "gaps"


def compare_coverage(result: JobResult, folder: Path) -> tuple[list[Share], list[str]]:
    """Entities with the class that a careful reader gives, and names on the side that gold says."""
    classes, wrong_classes = _classes(result.table(COVERAGE), folder)
    gaps, wrong_gaps = _gaps(result.table(GAPS), folder)
    return [classes, *gaps], [*wrong_classes, *wrong_gaps]


def _classes(table: Table, folder: Path) -> tuple[Share, list[str]]:
    given = _by_name(table, get_args(Class))
    right, remarks = 0, []
    gold = read_gold(folder, "coverage.jsonl", GoldCoverage)
    for one in gold:
        found = given.get(term_key(one.entity))
        right += found in (one.coverage, *one.also_right)
        if found not in (one.coverage, *one.also_right):
            remarks.append(f"coverage of {one.entity}: {found or 'no row'}, gold says {one.coverage}")
    return Share("coverage as in gold", right, len(gold)), remarks


def _gaps(table: Table, folder: Path) -> tuple[list[Share], list[str]]:
    given = _by_name(table, get_args(Gap))
    counted = [one for one in read_gold(folder, "gaps.jsonl", GoldGap) if not one.optional]
    shares, remarks = [], []
    for gap in get_args(Gap):
        of_gap = [one for one in counted if one.gap == gap]
        wrong = [one for one in of_gap if given.get(term_key(one.name)) != gap]
        shares.append(Share(f"gaps, {gap}", len(of_gap) - len(wrong), len(of_gap)))
        remarks += [f"gap of {one.name}: {given.get(term_key(one.name)) or 'no row'}, gold says {gap}" for one in wrong]
    return shares, remarks


def _by_name(table: Table, classes: tuple[str, ...]) -> Mapping[tuple[str, ...], str | None]:
    """Class by name; of rows of one name the first."""
    given: dict[tuple[str, ...], str | None] = {}
    for row in table.rows:
        given.setdefault(term_key(row.name), first_of(row, classes))
    return given
