"""The lines of one diagram: between which cells they run, what they are called, how many stand at either end."""

from dataclasses import dataclass

from elt_llm_core.enterprise_model import Cardinality

from elt_llm_ingest.leanix.cardinality import arrow_cardinality, label_cardinality, pair_of_cardinalities
from elt_llm_ingest.readers.drawio_cells import Cell, Diagram


@dataclass(frozen=True)
class Line:
    """What is drawn and written along one line. `unplaced` are cardinalities that stand at neither end."""

    name: str
    source: Cardinality
    target: Cardinality
    unplaced: tuple[str, ...] = ()


def is_relation(cell: Cell) -> bool:
    """Whether a line says of itself that it is a relation between fact sheets."""
    return cell.data.get("type", "").lower() == "relation" or "relationId" in cell.data


def read_line(diagram: Diagram, edge: Cell) -> Line:
    """Name and cardinalities of a line. What is written at an end outweighs the shape of its arrow."""
    written: dict[str, Cardinality] = {}
    names = []
    unplaced = []
    labels = [cell for cell in diagram.labels_of(edge) if not cell.data.get("factSheetId")]
    for label in (edge, *labels):
        pair = pair_of_cardinalities(label.name)
        single = label_cardinality(label.name)
        if pair:
            written["source"], written["target"] = pair
        elif single and label is not edge and label.x:
            written["source" if label.x < 0 else "target"] = single
        elif single:
            unplaced.append(label.name)
        elif label.name:
            names.append(label.name)
    return Line(
        name=" / ".join(dict.fromkeys(names)),
        source=written.get("source") or arrow_cardinality(edge.style.get("startArrow", "")),
        target=written.get("target") or arrow_cardinality(edge.style.get("endArrow", "")),
        unplaced=tuple(unplaced),
    )
