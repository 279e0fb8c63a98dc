"""Which fact sheet and which defined term each entity was joined with, held against gold.

The fact sheet is read from the evidence of a row, which names it; the term from the column TERM where the catalog has
it, otherwise from the definition that the row quotes.
"""

from collections.abc import Sequence
from pathlib import Path

from elt_llm_consumer.gold.cells import RowsByName, cell_texts
from elt_llm_consumer.gold.files import GoldEntity, GoldTerm, read_gold
from elt_llm_consumer.gold.report import Share, f1
from elt_llm_consumer.gold.sameness import holds, term_key
from elt_llm_consumer.rows import Row, Table

TERM, DEFINITION = "handbook_term", "formal_definition"
_SHEET = "#fact-sheet/"


def compare_matching(entities: Table, folder: Path) -> tuple[list[Share], list[str]]:
    """F1 of entity and fact sheet, of entity and term, of both together, and near-duplicates that were kept apart."""
    gold = [one for one in read_gold(folder, "entities.jsonl", GoldEntity) if one.entity is not None]
    terms = [one for one in read_gold(folder, "glossary.jsonl", GoldTerm) if not one.optional]
    rows = RowsByName(entities.rows)
    sheets = _Compared("fact sheet")
    defined = _Compared("term")
    near, crossed = 0, []
    for one in gold:
        row = rows.get(one.entity or "")
        sheets.count(one.entity or "", {one.fact_sheet_id} if one.fact_sheet_id else set(), _sheets_of(row))
        found = _terms_of(row, terms)
        wanted: set[object] = set()
        if one.term and _has_meaning(one.term, terms):
            wanted.add(term_key(one.term))
        tolerated: set[object] = {term_key(name) for name in (*one.also_right, one.term or "")}
        defined.count(one.entity or "", wanted, found - (tolerated - wanted))
        near += len(one.must_not_match)
        crossed += [f"near-duplicates joined: {one.entity}, {name}" for name in _joined_near(one, found)]
    shares = [
        f1("matching F1", sheets.both + defined.both, sheets.found + defined.found, sheets.gold + defined.gold),
        f1("matching F1, fact sheets", sheets.both, sheets.found, sheets.gold),
        f1("matching F1, terms", defined.both, defined.found, defined.gold),
        Share("near-duplicates kept apart", near - len(crossed), near),
    ]
    return shares, [*sheets.remarks, *defined.remarks, *crossed]


class _Compared:
    """Counts of joins that are in both, found, and in gold."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.both = self.found = self.gold = 0
        self.remarks: list[str] = []

    def count(self, entity: str, wanted: set[object], found: set[object]) -> None:
        """Add what one entity was joined with."""
        self.both += len(wanted & found)
        self.found += len(found)
        self.gold += len(wanted)
        self.remarks += [f"not joined with its {self._what}: {entity}: {_shown(one)}" for one in _less(wanted, found)]
        self.remarks += [f"joined with a wrong {self._what}: {entity}: {_shown(one)}" for one in _less(found, wanted)]


def _less(one: set[object], other: set[object]) -> list[object]:
    return sorted(one - other, key=str)


def _shown(one: object) -> str:
    return " ".join(one) if isinstance(one, tuple) else str(one)


def _sheets_of(row: Row | None) -> set[object]:
    sources = [place.source for place in row.evidence] if row else []
    return {source.split(_SHEET, 1)[1] for source in sources if _SHEET in source}


def _terms_of(row: Row | None, terms: Sequence[GoldTerm]) -> set[object]:
    if row is None:
        return set()
    if named := cell_texts(row, (TERM,)):
        return {term_key(name) for name in named}
    cell = row.cells.get(DEFINITION)
    quotes = [place.quote for place in cell.evidence] if cell else []
    return {term_key(one.term) for one in terms if _is_meant(one) and any(holds(one.definition, it) for it in quotes)}


def _is_meant(one: GoldTerm) -> bool:
    return one.pattern not in ("abbreviation", "cross_reference")


def _has_meaning(term: str, terms: Sequence[GoldTerm]) -> bool:
    """Whether a term is defined somewhere, not only spelt out: only then a catalog has to show what it is joined to."""
    return any(_is_meant(one) and term_key(one.term) == term_key(term) for one in terms)


def _joined_near(gold: GoldEntity, found: set[object]) -> list[str]:
    return [name for name in gold.must_not_match if term_key(name) in found]
