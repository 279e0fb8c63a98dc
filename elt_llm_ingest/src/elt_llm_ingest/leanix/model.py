"""Build an enterprise model from diagrams: entities from LeanIX fact sheets, relationships from lines between them."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from elt_llm_core.enterprise import Cardinality, EnterpriseModel, Entity, Relationship, RelationshipEnd

from elt_llm_ingest.parsing.diagram import Diagram, DiagramCell, label_name
from elt_llm_ingest.parsing.document_builder import FileProblems, UniqueNames

NO_NAME = "(no name)"


def is_fact_sheet(cell: DiagramCell) -> bool:
    """Return whether a cell of a diagram (a shape or a line) is a LeanIX fact sheet, such as an application."""
    return cell.data.get("type", "").lower() == "factsheet" or "factSheetId" in cell.data


class DiagramFactSheets:
    """The fact sheets of one diagram, and the shapes and lines around them."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram

    @cached_property
    def drawn(self) -> dict[str, Entity]:
        """The fact sheets by the id of their cell, in the order of the file. Fact sheet ids may occur several times."""
        return {cell.id: self._drawn(cell) for cell in self.diagram.cells if is_fact_sheet(cell)}

    @cached_property
    def holders(self) -> dict[str, list[str]]:
        """The ids of cells that contain fact sheets at any depth, each with the cell ids of these fact sheets."""
        held: dict[str, list[str]] = {}
        for cell in self.diagram.cells:
            if is_fact_sheet(cell):
                for around in self.diagram.around(cell):
                    held.setdefault(around.id, []).append(cell.id)
        return held

    @property
    def texts(self) -> list[DiagramCell]:
        """The shapes with text, except fact sheets, their containers, labels of lines, and cardinalities."""
        return [cell for cell in self.diagram.cells if self._is_text(cell)]

    def at_end(self, cell_id: str) -> Entity | None:
        """Return the fact sheet at the end of a line, or None. `cell_id` is the cell to which that end is attached.

        The fact sheet is that cell itself, else the only fact sheet inside the cell, else the innermost fact sheet
        around the cell, unless that one contains fact sheets.
        """
        cell = self.diagram.by_id.get(cell_id)
        if cell is None or cell_id in self.drawn:
            return self.drawn.get(cell_id)
        held = self.holders.get(cell_id, [])
        if len(held) == 1:
            return self.drawn[held[0]]
        around = next((outer for outer in self.diagram.around(cell) if outer.id in self.drawn), None)
        return self.drawn[around.id] if around and around.id not in self.holders else None

    def _drawn(self, cell: DiagramCell) -> Entity:
        around = [outer.name for outer in self.diagram.around(cell) if outer.vertex and outer.label]
        along = next((label.name for label in self.diagram.labels_of(cell)), "") if cell.edge else ""
        container = cell.id in self.holders or any(key.startswith("leanix_fs_container") for key in cell.style)
        fact_sheet_id = label_name(cell.data.get("factSheetId", ""))
        return Entity(
            id=fact_sheet_id or cell.id,
            name=cell.name or along or NO_NAME,
            type=label_name(cell.data.get("factSheetType", "")),
            fact_sheet_id=fact_sheet_id,
            cell_id=cell.id,
            domain=around[-1] if around else "",
            subgroup=around[-2] if len(around) > 1 else "",
            container=container,
            page=self.diagram.number,
            diagram=self.diagram.name,
        )

    def _is_text(self, cell: DiagramCell) -> bool:
        if not cell.label or not cell.vertex or cell.id in self.drawn or cell.id in self.holders:
            return False
        parent = self.diagram.by_id.get(cell.parent)
        is_cardinality = label_cardinality(cell.name) or cardinality_pair(cell.name) is not None
        return not is_cardinality and (parent is None or not parent.edge)


_ARROWS: dict[str, Cardinality] = {
    "erone": "1",
    "ermandone": "1",
    "ermany": "*",
    "eronetomany": "1..*",
    "erzerotomany": "0..*",
    "erzerotoone": "0..1",
}
_WORDS: dict[str, Cardinality] = {
    **dict.fromkeys(("1", "1..1", "one", "exactly one"), "1"),
    **dict.fromkeys(("0..1", "0-1", "zero or one"), "0..1"),
    **dict.fromkeys(("*", "n", "m", "many"), "*"),
    **dict.fromkeys(("0..*", "0..n", "0..m", "0-*", "0-n", "zero or many"), "0..*"),
    **dict.fromkeys(("1..*", "1..n", "1..m", "1+", "one or many"), "1..*"),
}
_MAX_LABEL_LENGTH = 30
_PAIR = re.compile(r"([^:/\u2013-]{1,12}?) ?(?:[:/\u2013-]|\bto\b) ?([^:/\u2013-]{1,12})")


def arrow_cardinality(arrow: str) -> Cardinality:
    """Return the cardinality of an arrow such as ERzeroToMany; "" if the arrow has none."""
    return _ARROWS.get(arrow.lower(), "")


def label_cardinality(label: str) -> Cardinality:
    """Return the cardinality of a label such as `0..n` or `[1..*]`; "" for any other label."""
    return _WORDS.get(_strip_brackets(label), "")


def cardinality_pair(label: str) -> tuple[Cardinality, Cardinality] | None:
    """Return both cardinalities of a label such as `1:n` or `one to many`; None for any other label."""
    match = _PAIR.fullmatch(_strip_brackets(label))
    if match is None:
        return None
    source, target = label_cardinality(match[1]), label_cardinality(match[2])
    return (source, target) if source and target else None


def _strip_brackets(label: str) -> str:
    """Return the label without brackets; empty if the label is too long for a cardinality."""
    if len(label) > _MAX_LABEL_LENGTH:
        return ""
    bare = " ".join(label.strip(" ()[]{}").lower().split())
    return bare.replace("...", "..").replace(" ..", "..").replace(".. ", "..")


class RelationLine(NamedTuple):
    """A line between fact sheets. `ends` maps "source" and "target" to the cardinality at that end, such as "0..*".

    `unplaced` contains cardinality labels in the middle of the line, since they may belong to either end.
    """

    name: str
    ends: dict[str, Cardinality]
    unplaced: list[str]


def read_relation_line(diagram: Diagram, edge: DiagramCell) -> RelationLine:
    """Return the name and cardinalities of a line. A label at an end takes precedence over the arrow there."""
    arrows = {"source": edge.style.get("startArrow", ""), "target": edge.style.get("endArrow", "")}
    written = {side: arrow_cardinality(arrow) for side, arrow in arrows.items()}
    names = []
    unplaced = []
    labels = [cell for cell in diagram.labels_of(edge) if not cell.data.get("factSheetId")]
    for label in (edge, *labels):
        pair = cardinality_pair(label.name)
        single = label_cardinality(label.name)
        if pair:
            written["source"], written["target"] = pair
        elif single and label is not edge and label.x:
            written["source" if label.x < 0 else "target"] = single
        elif single:
            unplaced.append(label.name)
        elif label.name:
            names.append(label.name)
    return RelationLine(" / ".join(dict.fromkeys(names)), written, unplaced)


def build_model(diagrams: Sequence[Diagram]) -> EnterpriseModel:
    """Build one enterprise model from all diagrams. A fact sheet or relation that is drawn twice is counted once."""
    return _ModelBuilder(diagrams).build()


class _ModelBuilder:
    def __init__(self, diagrams: Sequence[Diagram]) -> None:
        self._pages = [DiagramFactSheets(diagram) for diagram in diagrams]
        self._findings = FileProblems()
        self._entities: dict[str, Entity] = {}
        self._relationships: dict[str, Relationship] = {}
        self._incomplete: dict[str, Relationship] = {}
        self._entity_of: dict[tuple[int, str], str] = {}
        self._ids = {kind: UniqueNames() for kind in ("entity", "relationship", "incomplete")}
        self._known: dict[tuple[str, ...], str] = {}

    def build(self) -> EnterpriseModel:
        for page in self._pages:
            for drawn in page.drawn.values():
                self._add_entity(drawn)
        for page in self._pages:
            for cell in page.diagram.cells:
                if cell.edge:
                    self._add_line(page, cell)
        return EnterpriseModel(
            entities=tuple(self._entities.values()),
            relationships=tuple(self._relationships.values()),
            incomplete=tuple(self._incomplete.values()),
            diagrams=tuple(page.diagram.name for page in self._pages),
            texts=tuple(dict.fromkeys(cell.words for page in self._pages for cell in page.texts)),
            notes=(*(note for page in self._pages for note in page.diagram.notes), *self._findings.notes),
        ).in_order()

    def _add_entity(self, drawn: Entity) -> None:
        # Fact sheets with the same id but different names become separate entities: merging them would lose a name.
        key = (drawn.fact_sheet_id, drawn.name.casefold())
        known = self._entities[self._known[key]] if drawn.fact_sheet_id and key in self._known else None
        if known is None:
            entity = self._new_entity(drawn)
            self._known[key] = entity.id
        else:
            # Another drawing of the same entity may have values that the first drawing lacks.
            update: dict[str, str | bool] = {"container": known.container or drawn.container}
            update["type"] = known.type or drawn.type
            if not known.domain:
                update |= {"domain": drawn.domain, "subgroup": drawn.subgroup}
            entity = known.model_copy(update=update)
            if known.page == drawn.page:
                self._findings.add("fact sheets drawn more than once in a diagram", known.name)
        self._entities[entity.id] = entity
        self._entity_of[drawn.page, drawn.cell_id] = entity.id

    def _new_entity(self, drawn: Entity) -> Entity:
        unique = self._ids["entity"].take(drawn.id)
        if not drawn.fact_sheet_id:
            self._findings.add("fact sheets without an id", drawn.name)
        elif unique != drawn.id:
            self._findings.add("fact sheet ids with several names", f"{drawn.id} ({drawn.name})")
        if drawn.name == NO_NAME:
            self._findings.add("fact sheets without a name", drawn.id)
        return drawn.model_copy(update={"id": unique})

    def _add_line(self, page: DiagramFactSheets, cell: DiagramCell) -> None:
        line = read_relation_line(page.diagram, cell)
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
            return
        marked = cell.data.get("type", "").lower() == "relation" or "relationId" in cell.data
        # A line's end is open if nothing is attached to it, not even a remark or a shape that is no fact sheet.
        is_open = any(end not in page.diagram.by_id for end in (cell.source, cell.target))
        if marked or (is_open and (source.entity_id or target.entity_id)):
            self._add_incomplete(relationship)

    def _relationship(self, page: DiagramFactSheets, cell: DiagramCell, line: RelationLine) -> Relationship:
        return Relationship(
            id=label_name(cell.data.get("relationId", "")) or cell.id,
            source=self._end(page, cell, "source", line),
            target=self._end(page, cell, "target", line),
            name=line.name,
            kind=label_name(cell.data.get("dependencyRelation", "")),
            cell_id=cell.id,
            page=page.diagram.number,
            diagram=page.diagram.name,
        )

    def _add_drawn_as_line(self, page: DiagramFactSheets, cell: DiagramCell, line: RelationLine) -> None:
        """Relate a fact sheet that is drawn as a line to the fact sheets at the line's two ends."""
        own = self._entities[self._entity_of[page.diagram.number, cell.id]]
        middle = RelationshipEnd(entity_id=own.id, name=own.name)
        whole = self._relationship(page, cell, line)
        for side, source, target in (("source", whole.source, middle), ("target", middle, whole.target)):
            relationship = whole.model_copy(
                update={"id": f"{own.id}/{side}", "name": "", "source": source, "target": target}
            )
            if source.entity_id and target.entity_id:
                self._add_relationship(relationship)
            else:
                self._add_incomplete(relationship)

    def _end(self, page: DiagramFactSheets, cell: DiagramCell, side: str, line: RelationLine) -> RelationshipEnd:
        """Find the entity at one end of a line: by the attached cell, else by the fact sheet id in the line's data."""
        cardinality = line.ends[side]
        drawn = page.at_end(cell.source if side == "source" else cell.target)
        named = label_name(cell.data.get(f"{side}FactSheetId", ""))
        entity_id = self._entity_of[drawn.page, drawn.cell_id] if drawn else named
        entity = self._entities.get(entity_id)
        if entity is None:
            return RelationshipEnd(name=named, cardinality=cardinality)
        return RelationshipEnd(entity_id=entity.id, name=entity.name, cardinality=cardinality)

    def _check_metadata(self, cell: DiagramCell, relationship: Relationship) -> None:
        """Report a relation if its line does not connect the fact sheets in its data, in either direction."""
        ends = (relationship.source, relationship.target)
        drawn = {self._entities[end.entity_id].fact_sheet_id for end in ends}
        named = {label_name(cell.data.get(f"{side}FactSheetId", "")) for side in ("source", "target")} - {""}
        if not named <= drawn:
            self._findings.add(
                "relations drawn between other fact sheets than their data names", _ends_label(relationship)
            )

    def _add_relationship(self, relationship: Relationship) -> None:
        # A relationship's key has one more part than an entity's key, so that the two never collide.
        key = (relationship.id, relationship.source.entity_id, relationship.target.entity_id)
        if key in self._known:
            known = self._relationships[self._known[key]]
            self._relationships[known.id] = _complete_relationship(known, relationship)
            return
        unique = self._ids["relationship"].take(relationship.id)
        if unique != relationship.id != relationship.cell_id:
            self._findings.add("relation ids of several relations", relationship.id)
        self._known[key] = unique
        self._relationships[unique] = relationship.model_copy(update={"id": unique})

    def _add_incomplete(self, relationship: Relationship) -> None:
        self._findings.add("relations with an end without an entity", _ends_label(relationship))
        unique = self._ids["incomplete"].take(relationship.id)
        self._incomplete[unique] = relationship.model_copy(update={"id": unique})


def _complete_relationship(known: Relationship, other: Relationship) -> Relationship:
    source = known.source.model_copy(update={"cardinality": known.source.cardinality or other.source.cardinality})
    target = known.target.model_copy(update={"cardinality": known.target.cardinality or other.target.cardinality})
    return known.model_copy(update={"name": known.name or other.name, "source": source, "target": target})


def _ends_label(relationship: Relationship) -> str:
    source, target = (end.name or "?" for end in (relationship.source, relationship.target))
    return f"{source} - {target}"
