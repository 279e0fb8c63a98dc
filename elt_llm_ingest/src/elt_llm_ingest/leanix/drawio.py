"""Diagrams as one enterprise model: entities by their fact sheet, relationships by their ends."""

from collections.abc import Sequence

from elt_llm_core.enterprise_model import End, EnterpriseModel, Entity, Relationship

from elt_llm_ingest.leanix.cardinality import label_cardinality, pair_of_cardinalities
from elt_llm_ingest.leanix.diagram import NO_NAME, Drawn, DrawnFactSheets
from elt_llm_ingest.leanix.findings import Findings
from elt_llm_ingest.leanix.relations import Line, is_relation, read_line
from elt_llm_ingest.readers.drawio_cells import Cell, Diagram
from elt_llm_ingest.readers.drawio_labels import plain_name
from elt_llm_ingest.unique_names import UniqueNames


def build_model(diagrams: Sequence[Diagram]) -> EnterpriseModel:
    """The model that diagrams draw together: a fact sheet drawn twice is one entity, a relation one relationship."""
    return _ModelBuilder(diagrams).build()


class _ModelBuilder:
    """Entities of all diagrams first, then the lines between them."""

    def __init__(self, diagrams: Sequence[Diagram]) -> None:
        self._pages = [DrawnFactSheets(diagram) for diagram in diagrams]
        self._findings = Findings()
        self._entities: dict[str, Entity] = {}
        self._relationships: dict[str, Relationship] = {}
        self._incomplete: dict[str, Relationship] = {}
        self._entity_of: dict[tuple[int, str], str] = {}
        self._ids = {kind: UniqueNames() for kind in ("entity", "relationship", "incomplete")}
        self._known: dict[tuple[str, ...], str] = {}

    def build(self) -> EnterpriseModel:
        for page in self._pages:
            for drawn in page.drawn.values():
                self._add_entity(page.diagram, drawn)
        for page in self._pages:
            for cell in page.diagram.cells:
                if cell.edge:
                    self._add_line(page, cell)
        return EnterpriseModel(
            entities=tuple(self._entities.values()),
            relationships=tuple(self._relationships.values()),
            incomplete=tuple(self._incomplete.values()),
            diagrams=tuple(page.diagram.name for page in self._pages),
            texts=tuple(dict.fromkeys(cell.words for page in self._pages for cell in page.texts if _says_more(cell))),
            notes=(*(note for page in self._pages for note in page.diagram.notes), *self._findings.notes),
        ).in_order()

    def _add_entity(self, diagram: Diagram, drawn: Drawn) -> None:
        # The same id with another name is another entity: joining them would lose a name.
        key = (drawn.fact_sheet_id, drawn.name.casefold())
        known = self._entities[self._known[key]] if drawn.fact_sheet_id and key in self._known else None
        if known is None:
            entity = self._new_entity(diagram, drawn)
            self._known[key] = entity.id
        else:
            entity = _completed(known, drawn)
            if known.page == diagram.number:
                self._findings.add("fact sheets drawn more than once in a diagram", known.name)
        self._entities[entity.id] = entity
        self._entity_of[diagram.number, drawn.cell.id] = entity.id

    def _new_entity(self, diagram: Diagram, drawn: Drawn) -> Entity:
        wanted = drawn.fact_sheet_id or drawn.cell.id
        unique = self._ids["entity"].take(wanted)
        if not drawn.fact_sheet_id:
            self._findings.add("fact sheets without an id", drawn.name)
        elif unique != wanted:
            self._findings.add("fact sheet ids that stand for several names", f"{wanted} ({drawn.name})")
        if drawn.name == NO_NAME:
            self._findings.add("fact sheets without a name", wanted)
        return Entity(
            id=unique,
            name=drawn.name,
            type=drawn.type,
            fact_sheet_id=drawn.fact_sheet_id,
            cell_id=drawn.cell.id,
            domain=drawn.domain,
            subgroup=drawn.subgroup,
            container=drawn.container,
            page=diagram.number,
            diagram=diagram.name,
        )

    def _add_line(self, page: DrawnFactSheets, cell: Cell) -> None:
        line = read_line(page.diagram, cell)
        for text in line.unplaced:
            self._findings.add("cardinalities at neither end of their line", f"{text} on {cell.id}")
        if cell.id in page.drawn:
            self._add_drawn_as_line(page, cell, line)
            return
        relationship = self._relationship(page, cell, line)
        source, target = relationship.source, relationship.target
        if source.entity_id and target.entity_id:
            self._check_metadata(cell, relationship)
            self._add_relationship(relationship)
        elif is_relation(cell) or (self._is_loose(page, cell) and (source.entity_id or target.entity_id)):
            self._add_incomplete(relationship)

    def _relationship(self, page: DrawnFactSheets, cell: Cell, line: Line) -> Relationship:
        return Relationship(
            id=plain_name(cell.data.get("relationId", "")) or cell.id,
            source=self._end(page, cell, "source", line),
            target=self._end(page, cell, "target", line),
            name=line.name,
            kind=plain_name(cell.data.get("dependencyRelation", "")),
            cell_id=cell.id,
            page=page.diagram.number,
            diagram=page.diagram.name,
        )

    def _add_drawn_as_line(self, page: DrawnFactSheets, cell: Cell, line: Line) -> None:
        """A fact sheet drawn as a line is related to what is at both of its ends."""
        own = self._entities[self._entity_of[page.diagram.number, cell.id]]
        middle = End(entity_id=own.id, name=own.name)
        whole = self._relationship(page, cell, line)
        for side, source, target in (("source", whole.source, middle), ("target", middle, whole.target)):
            relationship = whole.model_copy(
                update={"id": f"{own.id}/{side}", "name": "", "source": source, "target": target}
            )
            if source.entity_id and target.entity_id:
                self._add_relationship(relationship)
            else:
                self._add_incomplete(relationship)

    def _end(self, page: DrawnFactSheets, cell: Cell, side: str, line: Line) -> End:
        """By the cell that the line is attached to, else by the fact sheet id it names."""
        is_source = side == "source"
        cardinality = line.source if is_source else line.target
        drawn = page.at_end(cell.source if is_source else cell.target)
        named = plain_name(cell.data.get(f"{side}FactSheetId", ""))
        entity_id = self._entity_of[page.diagram.number, drawn.cell.id] if drawn else named
        entity = self._entities.get(entity_id)
        if entity is None:
            return End(name=named, cardinality=cardinality)
        return End(entity_id=entity.id, name=entity.name, cardinality=cardinality)

    def _is_loose(self, page: DrawnFactSheets, cell: Cell) -> bool:
        """Whether an end hangs in the air, rather than on a shape that is no fact sheet, such as a remark."""
        return any(end not in page.diagram.by_id for end in (cell.source, cell.target))

    def _check_metadata(self, cell: Cell, relationship: Relationship) -> None:
        """Which end is the source may differ between the drawing and the relation; what the ends are may not."""
        ends = (relationship.source, relationship.target)
        drawn = {self._entities[end.entity_id].fact_sheet_id for end in ends}
        named = {plain_name(cell.data.get(f"{side}FactSheetId", "")) for side in ("source", "target")} - {""}
        if not named <= drawn:
            self._findings.add("relations drawn between other fact sheets than they name", _both_ends(relationship))

    def _add_relationship(self, relationship: Relationship) -> None:
        # The key has one part more than that of an entity, so that the two never meet.
        key = (relationship.id, relationship.source.entity_id, relationship.target.entity_id)
        if key in self._known:
            known = self._relationships[self._known[key]]
            self._relationships[known.id] = _completed_relationship(known, relationship)
            return
        unique = self._ids["relationship"].take(relationship.id)
        if unique != relationship.id != relationship.cell_id:
            self._findings.add("relation ids that stand for several relations", relationship.id)
        self._known[key] = unique
        self._relationships[unique] = relationship.model_copy(update={"id": unique})

    def _add_incomplete(self, relationship: Relationship) -> None:
        self._findings.add("relations with an end without an entity", _both_ends(relationship))
        unique = self._ids["incomplete"].take(relationship.id)
        self._incomplete[unique] = relationship.model_copy(update={"id": unique})


def _completed(known: Entity, drawn: Drawn) -> Entity:
    """An entity with what another drawing of it tells beyond the first."""
    update: dict[str, str | bool] = {"container": known.container or drawn.container, "type": known.type or drawn.type}
    if not known.domain:
        update |= {"domain": drawn.domain, "subgroup": drawn.subgroup}
    return known.model_copy(update=update)


def _completed_relationship(known: Relationship, other: Relationship) -> Relationship:
    source = known.source.model_copy(update={"cardinality": known.source.cardinality or other.source.cardinality})
    target = known.target.model_copy(update={"cardinality": known.target.cardinality or other.target.cardinality})
    return known.model_copy(update={"name": known.name or other.name, "source": source, "target": target})


def _both_ends(relationship: Relationship) -> str:
    source, target = (end.name or "?" for end in (relationship.source, relationship.target))
    return f"{source} - {target}"


def _says_more(cell: Cell) -> bool:
    return not label_cardinality(cell.name) and pair_of_cardinalities(cell.name) is None
