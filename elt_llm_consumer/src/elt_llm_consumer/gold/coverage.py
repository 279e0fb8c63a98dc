"""Classes of coverage and gaps held against gold."""

from pathlib import Path
from typing import get_args

from elt_llm_consumer.gold.cells import RowsByName, first_of
from elt_llm_consumer.gold.files import Class, Gap, GoldCoverage, GoldGap, read_gold
from elt_llm_consumer.gold.report import Share
from elt_llm_consumer.rows import JobResult, Table

COVERAGE, GAPS = "coverage", "gaps"


def compare_coverage(result: JobResult, folder: Path) -> tuple[list[Share], list[str]]:
    """Entities with the class that a careful reader gives, and names on the side that gold says."""
    classes, wrong_classes = _classes(result.table(COVERAGE), folder)
    gaps, wrong_gaps = _gaps(result.table(GAPS), folder)
    return [classes, *gaps], [*wrong_classes, *wrong_gaps]


def _classes(table: Table, folder: Path) -> tuple[Share, list[str]]:
    given = _Given(table, get_args(Class))
    right, remarks = 0, []
    gold = read_gold(folder, "coverage.jsonl", GoldCoverage)
    for one in gold:
        found = given.get(one.entity)
        right += found in (one.coverage, *one.also_right)
        if found not in (one.coverage, *one.also_right):
            remarks.append(f"coverage of {one.entity}: {found or 'no row'}, gold says {one.coverage}")
    return Share("coverage as in gold", right, len(gold)), remarks


def _gaps(table: Table, folder: Path) -> tuple[list[Share], list[str]]:
    given = _Given(table, get_args(Gap))
    counted = [one for one in read_gold(folder, "gaps.jsonl", GoldGap) if not one.optional]
    shares, remarks = [], []
    for gap in get_args(Gap):
        of_gap = [one for one in counted if one.gap == gap]
        wrong = [one for one in of_gap if given.get(one.name) != gap]
        shares.append(Share(f"gaps, {gap}", len(of_gap) - len(wrong), len(of_gap)))
        remarks += [f"gap of {one.name}: {given.get(one.name) or 'no row'}, gold says {gap}" for one in wrong]
    return shares, remarks


class _Given:
    """The class that a row of a name has."""

    def __init__(self, table: Table, classes: tuple[str, ...]) -> None:
        self._rows, self._classes = RowsByName(table.rows), classes

    def get(self, name: str) -> str | None:
        row = self._rows.get(name)
        return None if row is None else first_of(row, self._classes)
