"""What stands on one side only: entities that the texts never name, and defined terms that the model lacks."""

from collections.abc import Mapping, Sequence

from elt_llm_core.enterprise_model import Entity

from elt_llm_consumer.context import JobContext
from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.joining.join import Join, Joined
from elt_llm_consumer.rows import Cell, Evidence, Row, Table, absent, by_first_group, found

COLUMNS = ("gap", "in_model", "in_handbook", "joined_by")
MATCHED, MODEL_ONLY, HANDBOOK_ONLY = "MATCHED", "MODEL_ONLY", "HANDBOOK_ONLY"


def gap_table(
    context: JobContext,
    entities: Sequence[Entity],
    joined: Joined,
    defined: Mapping[str, Sequence[Definition]],
    classes: Mapping[str, Cell],
) -> Table:
    """A row for each entity, and for each defined term that is none. `classes` are the coverage cells by entity id."""
    rows = [_entity_row(context, one, joined.of_left(one.id), defined, classes[one.id]) for one in entities]
    rows += [_term_row(key, defined[key]) for key in joined.right_alone]
    return Table(name="gaps", columns=COLUMNS, rows=by_first_group(rows))


def _entity_row(
    context: JobContext,
    entity: Entity,
    join: Join | None,
    defined: Mapping[str, Sequence[Definition]],
    coverage: Cell,
) -> Row:
    in_model = context.model.of_entity(entity) if context.model else ()
    at = tuple(one.evidence for one in defined[join.right]) if join else coverage.evidence
    gap = MATCHED if at else MODEL_ONLY
    cells = {
        "gap": _gap(gap, (*in_model, *at), coverage.note if gap == MODEL_ONLY else ""),
        "in_model": found(entity.name, in_model) if in_model else absent(),
        "in_handbook": found(_named_there(entity, join, defined), at) if at else absent(coverage.note),
        "joined_by": _joined_by(join, at, coverage),
    }
    group = tuple(filter(None, (entity.domain, entity.subgroup)))
    return Row(key=f"entity/{entity.id}", name=entity.name, group=group, cells=cells)


def _named_there(entity: Entity, join: Join | None, defined: Mapping[str, Sequence[Definition]]) -> str:
    return defined[join.right][0].term if join else entity.name


def _joined_by(join: Join | None, at: Sequence[Evidence], coverage: Cell) -> Cell:
    if join:
        return Cell(value=join.by, verdict="inferred", confidence=round(join.score, 4), note=join.reason)
    if at:
        return Cell(value="named", verdict="inferred", confidence=1.0, note=coverage.note)
    return absent()


def _term_row(key: str, definitions: Sequence[Definition]) -> Row:
    at = tuple(one.evidence for one in definitions)
    term = definitions[0].term
    cells = {
        "gap": _gap(HANDBOOK_ONLY, at, "No entity of the model has this name or another name of it."),
        "in_model": absent("No entity of the model has this name or another name of it."),
        "in_handbook": found(term, at),
    }
    return Row(key=f"term/{key}", name=term, cells=cells)


def _gap(gap: str, evidence: Sequence[Evidence], note: str) -> Cell:
    if not evidence:
        return Cell(value=gap, verdict="inferred", confidence=1.0, note=note)
    return found(gap, evidence, confidence=1.0, note=note)
