"""The coverage of one entity as a row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from elt_llm_core.enterprise_model import Entity

from elt_llm_consumer.context import JobContext
from elt_llm_consumer.coverage.measure import Measure, RuleWords, class_of, measure
from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.mention_index import Statement
from elt_llm_consumer.rows import Cell, Evidence, Row, absent, found
from elt_llm_consumer.tasks import AskModel, Material, RowTask

COLUMNS = (
    "coverage",
    "type",
    "defined",
    "rules",
    "statements",
    "sections",
    "chunks_found",
    "best_score",
    "mean_score",
)


@dataclass(frozen=True)
class Told:
    """All that the texts say of one entity."""

    statements: Sequence[Statement]
    headings: Sequence[Statement]
    definitions: Sequence[Definition]


@dataclass(frozen=True)
class _Gathered:
    measured: Measure
    evidence: tuple[Evidence, ...]
    defined_at: tuple[Evidence, ...]
    scores: tuple[float, ...]


class CoverageTask(RowTask):
    """Measures one entity and finds its class; no language model is asked."""

    table = "coverage"

    def __init__(self, context: JobContext, entity: Entity, told: Told, rules: RuleWords) -> None:
        self._context, self._entity, self._told, self._rules = context, entity, told, rules
        self._section = context.file.spec.coverage
        self.key, self.name = entity.id, entity.name
        self.group = tuple(filter(None, (entity.domain, entity.subgroup)))

    def material(self) -> Material:
        """The counts, the places and the scores of the passages found."""
        told = self._told
        measured = measure(told.statements, len(told.headings), self._rules, defined=bool(told.definitions))
        gathered = _Gathered(measured, self._evidence(), self._defined_at(), self._scores())
        inputs: dict[str, Any] = {
            "entity": self._entity.to_json(),
            "measured": measured.__dict__,
            "evidence": [place.to_json() for place in (*gathered.defined_at, *gathered.evidence)],
            "scores": list(gathered.scores),
            "thresholds": self._section.thresholds.model_dump(mode="json"),
        }
        return Material(inputs, gathered=gathered)

    def row(self, material: Material, ask: AskModel | None) -> Row:
        """The class with its evidence, and the measure behind it."""
        it: _Gathered = material.gathered
        measured = it.measured
        of_model = self._context.model.of_entity(self._entity) if self._context.model else ()
        kind = found(self._entity.type, of_model) if self._entity.type and of_model else absent()
        cells = {
            "coverage": self._class(it),
            "type": kind,
            "defined": found("yes", it.defined_at) if it.defined_at else absent("No definition was found."),
            "rules": _counted(measured.rules),
            "statements": _counted(measured.statements),
            "sections": _counted(measured.sections),
            "chunks_found": _counted(len(it.scores)),
            "best_score": _counted(max(it.scores, default=0.0)),
            "mean_score": _counted(round(sum(it.scores) / len(it.scores), 4) if it.scores else 0.0),
        }
        return Row(key=self.key, name=self.name, group=self.group, cells=cells)

    def _class(self, it: _Gathered) -> Cell:
        told = class_of(it.measured, self._section.thresholds)
        evidence = (*it.defined_at[:1], *it.evidence)
        if told == "ABSENT" or not evidence:
            note = "Neither the name nor another name of it stands in the texts."
            if it.scores:
                note += f" {len(it.scores)} passages are near in meaning, the nearest by {max(it.scores):.2f}."
            return Cell(value=told, verdict="inferred", confidence=1.0, note=note)
        return found(told, evidence, confidence=1.0, note=it.measured.reason)

    def _evidence(self) -> tuple[Evidence, ...]:
        """Rules before other statements, certain before uncertain ones, a section once before any twice."""
        statements = self._told.statements or self._told.headings
        seen: dict[str, int] = {}
        ranked = []
        for number, one in enumerate(statements):
            again = seen[one.section] = seen.get(one.section, -1) + 1
            ranked.append((not one.certain, again, not self._rules.is_rule(one.piece.text), number, one))
        ranked.sort(key=lambda item: item[:4])
        return tuple(item[4].evidence(item[4].weight) for item in ranked[: self._section.evidence])

    def _defined_at(self) -> tuple[Evidence, ...]:
        return tuple(definition.evidence for definition in self._told.definitions)

    def _scores(self) -> tuple[float, ...]:
        """Cosines of the passages found for the name, best first, those below the bound left out."""
        if self._context.engine is None:
            return ()
        chunks = self._context.engine.search(self._entity.name, top_k=self._section.passages).chunks
        cosines = sorted((round(it.cosine, 4) for it in chunks if it.cosine is not None), reverse=True)
        return tuple(score for score in cosines if score >= self._section.thresholds.least_score)


def _counted(number: float) -> Cell:
    return Cell(value=number, verdict="inferred", confidence=1.0)
