"""Fields that the model and the inventory give as they stand: nothing is searched for, nothing is understood."""

from collections.abc import Sequence

from elt_llm_core.enterprise_model import Entity, FactSheet

from elt_llm_consumer.joining.join import Join
from elt_llm_consumer.rows import Cell, Evidence, absent, found
from elt_llm_consumer.structured import InventorySource, ModelSource


def model_field(source: ModelSource, entity: Entity, column: str) -> Cell:
    """What the model draws of an entity: its id, name, type, place."""
    value = str(getattr(entity, column, ""))
    if not value:
        return absent("The model gives none.")
    return told(value, source.of_entity(entity, value), "As the model is drawn.")


def inventory_field(source: InventorySource | None, sheet: FactSheet | None, join: Join | None, column: str) -> Cell:
    """A column of the fact sheet that an entity was joined to."""
    if source is None:
        return absent("No inventory was read.")
    if sheet is None or join is None:
        return absent("It is not in the inventory.")
    value = column_of(sheet, column)
    if not value:
        return absent("The inventory gives none.")
    cell = told(value, source.of_fact_sheet(sheet, value, join.score), "As the inventory has it.")
    return cell if join.by == "id" else cell.model_copy(update={"note": join.reason})


def column_of(sheet: FactSheet, column: str) -> str:
    """A value of a fact sheet by the name of a column, in any case; relations by their kind; empty if there is none."""
    own = {"description", "status", "quality", "level", "parent", "name", "type", "display_name", "fact_sheet_id"}
    if column.casefold() in own:
        return " ".join(str(getattr(sheet, column.casefold()) or "").split())
    fields = {label.casefold(): value for label, value in sheet.fields.items()}
    related = [one.name for one in sheet.relations if one.kind.casefold() == column.casefold()]
    return fields.get(column.casefold(), "; ".join(related))


def told(value: str | tuple[str, ...], evidence: Sequence[Evidence], note: str) -> Cell:
    """A cell whose places say it; where their document is not there, it is concluded from the source itself."""
    if evidence:
        return found(value, evidence)
    return Cell(value=value, verdict="inferred", confidence=1.0, note=note)
