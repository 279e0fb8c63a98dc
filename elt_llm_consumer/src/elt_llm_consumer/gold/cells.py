"""Reading what a comparison needs out of rows."""

from collections.abc import Collection, Iterable, Sequence

from elt_llm_consumer.corpus import Corpus
from elt_llm_consumer.gold.report import Share
from elt_llm_consumer.gold.sameness import term_key
from elt_llm_consumer.rows import Cell, Evidence, JobResult, Row


class RowsByName:
    """Finds rows by name: as written, otherwise as the same term; of several the first."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._written: dict[str, Row] = {}
        self._same: dict[tuple[str, ...], Row] = {}
        for row in rows:
            self._written.setdefault(row.name, row)
            self._same.setdefault(term_key(row.name), row)

    def get(self, name: str) -> Row | None:
        """The row of that name, None if there is none."""
        return self._written.get(name) or self._same.get(term_key(name))


def texts_of(cell: Cell | None) -> tuple[str, ...]:
    """The value of a cell as texts, none where it has none."""
    if cell is None or cell.value is None:
        return ()
    return cell.value if isinstance(cell.value, tuple) else (str(cell.value),)


def cell_texts(row: Row, columns: Collection[str]) -> tuple[str, ...]:
    """Values of the cells in these columns."""
    return tuple(text for column in columns for text in texts_of(row.cells.get(column)))


def first_of(row: Row, classes: Collection[str]) -> str | None:
    """The first value of the row that is one of some classes."""
    return next((text for cell in row.cells.values() for text in texts_of(cell) if text in classes), None)


def in_document(evidence: Evidence, document: str) -> bool:
    """Whether evidence is from the file of that name, in whatever folder."""
    return evidence.source.split("#")[0].rsplit("/", 1)[-1] == document


def readable_back(result: JobResult, corpora: Sequence[Corpus]) -> tuple[Share, list[str]]:
    """Found cells all of whose quotes stand where they say, and a remark for each other one."""
    right = of = 0
    remarks = []
    for table in result.tables:
        for row in table.rows:
            for column, cell in row.cells.items():
                if cell.verdict != "found" or cell.method == "curated":
                    continue
                of += 1
                lost = [one.place for one in cell.evidence if not any(corpus.holds(one) for corpus in corpora)]
                right += not lost
                remarks += [f"quote not on its page: {row.name}, {column}: {place}" for place in lost[:1]]
    return Share("found cells with their quotes on the page", right, of), remarks
