"""Fields of a catalog held against gold: what was found where something is, and nothing where there is nothing."""

from collections.abc import Sequence
from pathlib import Path

from elt_llm_consumer.gold.cells import RowsByName, texts_of
from elt_llm_consumer.gold.files import GoldField, read_gold
from elt_llm_consumer.gold.report import Share
from elt_llm_consumer.gold.sameness import says
from elt_llm_consumer.rows import Cell, Table


def compare_fields(entities: Table, folder: Path) -> tuple[list[Share], list[str]]:
    """Cells that agree whether there is something, all and by field; of those found rightly, with the right words.

    A cell that is found, inferred or a conflict has something. Fields that the catalog does not have are not counted;
    an entity that it lacks has nothing.
    """
    rows = RowsByName(entities.rows)
    gold = [one for one in read_gold(folder, "fields.jsonl", GoldField) if one.verdict != "either"]
    counted = [one for one in gold if one.field in entities.columns]
    cells = [row.cells.get(one.field) if (row := rows.get(one.entity)) else None for one in counted]
    judged = list(zip(counted, cells, strict=True))
    both = [(one, cell) for one, cell in judged if one.verdict == "found" and cell is not None and _has_value(cell)]
    right = [one for one, cell in both if _has_words(one, cell)]
    fields = dict.fromkeys(one.field for one in counted)
    shares = [
        _agreement("found or absent as in gold", judged),
        *(_agreement(f"found or absent, {name}", [it for it in judged if it[0].field == name]) for name in fields),
        Share("found cells with the right words", len(right), len(both)),
    ]
    remarks = [f"{one.entity}, {one.field}: gold says {one.verdict}" for one, cell in judged if not _agrees(one, cell)]
    words = [
        f"{one.entity}, {one.field}: without the words of gold: {_beginning(cell)}"
        for one, cell in both
        if one not in right
    ]
    return shares, [*remarks, *words]


def _agreement(name: str, judged: Sequence[tuple[GoldField, Cell | None]]) -> Share:
    return Share(name, sum(_agrees(one, cell) for one, cell in judged), len(judged))


def _agrees(gold: GoldField, cell: Cell | None) -> bool:
    return (cell is not None and _has_value(cell)) == (gold.verdict == "found")


def _has_value(cell: Cell) -> bool:
    return cell.verdict != "absent"


def _has_words(gold: GoldField, cell: Cell) -> bool:
    texts = (*texts_of(cell), *(place.quote for place in cell.evidence))
    return any(says(text, one.words) for one in gold.any_of for text in texts)


def _beginning(cell: Cell) -> str:
    return " / ".join(texts_of(cell))[:100]
