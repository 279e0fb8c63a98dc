"""The coverage job measures how well the texts cover each entity of the model, and finds gaps in texts and model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

from elt_llm_core.enterprise import Entity
from elt_llm_core.errors import UsageError
from elt_llm_query.understanding.aliases import Aliases

from elt_llm_consumer.coverage.gaps import HANDBOOK_ONLY, MATCHED, MODEL_ONLY, RuleWords, gap_table, rules_table
from elt_llm_consumer.definitions.definition import Definition, grouped
from elt_llm_consumer.definitions.find import find_definitions
from elt_llm_consumer.evidence import (
    Cell,
    Evidence,
    JobResult,
    Row,
    Table,
    absent_cell,
    found_cell,
    group_by_domain,
    inferred_cell,
    rows_by_group,
)
from elt_llm_consumer.export.text import value_text
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.corpus import ModelSource, duplicate_notes
from elt_llm_consumer.jobs.sections import CoverageClass, CoverageThresholds
from elt_llm_consumer.jobs.tasks import RowMaterial, RowTask
from elt_llm_consumer.names.joins import (
    JoinResult,
    collect_aliases,
    definition_names,
    entity_items,
    join_equal_names,
    join_names,
    term_items,
    term_name_key,
)
from elt_llm_consumer.names.mention_index import MentionIndex, MentionStatement, find_other_spellings
from elt_llm_consumer.names.names import Names, has_german_texts

COVERAGE_CLASSES: tuple[CoverageClass, ...] = get_args(CoverageClass)


@dataclass(frozen=True)
class CoverageMeasure:
    """Counts of the rules, statements, sections and headings about one entity.

    A rule or statement counts half if the name in it may mean something other than the entity.
    """

    defined: bool
    statements: float
    rules: float
    sections: int
    headings: int

    @property
    def reason(self) -> str:
        """The counts as a sentence, such as "Defined, 2 rules and 5 statements in 3 sections."."""
        parts = [
            "defined" if self.defined else "not defined",
            f"{_count_text(self.rules, 'rule')} and {_count_text(self.statements, 'statement')}"
            f" in {_count_text(self.sections, 'section')}",
        ]
        if self.headings:
            parts.append(_count_text(self.headings, "heading"))
        return ", ".join(parts).capitalize() + "."


def _count_text(number: float, one: str) -> str:
    return f"{number:g} {one}{'' if number == 1 else 's'}"


def measure_statements(
    statements: Sequence[MentionStatement], headings: int, rules: RuleWords, *, defined: bool
) -> CoverageMeasure:
    """Count the statements, rules and sections about one entity. `headings` is the number of headings with its name."""
    return CoverageMeasure(
        defined=defined,
        statements=sum(it.weight for it in statements),
        rules=sum(it.weight for it in statements if rules.is_rule(it.document, it.piece)),
        sections=len({(it.document.collection, it.document.document_id, it.section) for it in statements}),
        headings=headings,
    )


def coverage_class(measured: CoverageMeasure, bounds: CoverageThresholds) -> CoverageClass:
    """Return the coverage class. ABSENT means that neither a text nor a heading contains the name or an alias."""
    if measured.statements == 0 and measured.headings == 0 and not measured.defined:
        return "ABSENT"
    enough = bounds.strong_sections_if_defined if measured.defined else bounds.strong_sections
    if measured.rules >= bounds.strong_rules and measured.sections >= enough:
        return "STRONG"
    if measured.defined or measured.rules >= bounds.moderate_rules:
        return "MODERATE"
    return "THIN"


COVERAGE_COLUMNS = (
    *("coverage", "type", "defined", "rules", "statements", "sections"),
    *("chunks_found", "best_score", "mean_score"),
)


class CoverageTask(RowTask):
    """Measures the coverage of one entity and makes its row, without a language model."""

    table = "coverage"

    def __init__(
        self,
        context: JobContext,
        model: ModelSource,
        entity: Entity,
        mentions: MentionIndex,
        definitions: Sequence[Definition],
        rules: RuleWords,
        spelling: str = "",
    ) -> None:
        """`spelling` is a note on another spelling of the name in the texts."""
        self._spelling = spelling
        self._context, self._model, self._entity, self._rules = context, model, entity, rules
        self._statements, self._headings = mentions.of(entity.name), mentions.headed(entity.name)
        self._defined_at = tuple(definition.evidence for definition in definitions)
        self._section = context.file.spec.coverage
        self.key, self.name = entity.id, entity.name
        self.group = tuple(filter(None, (entity.domain, entity.subgroup)))

    def material(self) -> RowMaterial:
        """Return the inputs of the row: its finished cells, and the counts, quotes and scores behind the cells."""
        defined_at = self._defined_at
        measured = measure_statements(self._statements, len(self._headings), self._rules, defined=bool(defined_at))
        evidence, scores = self._evidence(), self._scores()
        inputs: dict[str, Any] = {
            "entity": self._entity.to_json(),
            "measured": measured.__dict__,
            "evidence": [place.to_json() for place in (*defined_at, *evidence)],
            "scores": list(scores),
            "thresholds": self._section.thresholds.model_dump(mode="json"),
        }
        of_model = self._model.of_entity(self._entity)
        cells = {
            "coverage": self._class(measured, (*defined_at[:1], *evidence), scores),
            "type": found_cell(self._entity.type, of_model) if self._entity.type and of_model else absent_cell(),
            "defined": found_cell("yes", defined_at) if defined_at else absent_cell("No definition was found."),
            "rules": inferred_cell(measured.rules),
            "statements": inferred_cell(measured.statements),
            "sections": inferred_cell(measured.sections),
            "chunks_found": inferred_cell(len(scores)),
            "best_score": inferred_cell(max(scores, default=0.0)),
            "mean_score": inferred_cell(round(sum(scores) / len(scores), 4) if scores else 0.0),
        }
        return RowMaterial(inputs, gathered=cells)

    def _class(self, measured: CoverageMeasure, evidence: Sequence[Evidence], scores: Sequence[float]) -> Cell:
        name = coverage_class(measured, self._section.thresholds)
        if name == "ABSENT" or not evidence:
            note = f"Neither the name nor an alias appears in the texts. {self._spelling}".strip()
            if scores:
                note += f" {len(scores)} chunks are similar to it, the nearest with a cosine of {max(scores):.2f}."
            return inferred_cell(name, note)
        return found_cell(name, evidence, confidence=1.0, note=measured.reason)

    def _evidence(self) -> tuple[Evidence, ...]:
        """Return the best quotes: those that surely mean the entity, then the first of each section, then rules."""
        statements = self._statements or self._headings
        seen: dict[str, int] = {}
        ranked = []
        for number, one in enumerate(statements):
            again = seen[one.section] = seen.get(one.section, -1) + 1
            ranked.append((not one.certain, again, not self._rules.is_rule(one.document, one.piece), number, one))
        ranked.sort(key=lambda item: item[:4])
        return tuple(item[4].evidence(item[4].weight) for item in ranked[: self._section.evidence])

    def _scores(self) -> tuple[float, ...]:
        """Search for the name, and return the cosines of the chunks that reach the configured minimum, best first."""
        if self._context.engine is None:
            return ()
        chunks = self._context.engine.search(self._entity.name, top_k=self._section.passages).chunks
        cosines = sorted((round(it.cosine, 4) for it in chunks if it.cosine is not None), reverse=True)
        return tuple(score for score in cosines if score >= self._section.thresholds.least_score)


DOMAIN_COLUMNS = ("entities", *(name.lower() for name in COVERAGE_CLASSES), "share_covered")


class CoverageJob:
    """Counts the statements about each entity and searches for its name, without a language model."""

    kind = "coverage"

    def __init__(self, context: JobContext) -> None:
        """Prepare the job. Raises UsageError unless the job file names both an enterprise model and texts."""
        if context.model is None or not context.corpus.documents:
            raise UsageError(
                "A coverage job needs an enterprise model and texts, but the job file does not name both.",
                hint=f"Set sources.model and sources.handbook in {context.file.path}",
            )
        self._context, self._model = context, context.model
        self._section = context.file.spec.coverage
        self._rules = RuleWords(self._section.rule_words, self._section.rule_openings)

    def tasks(self) -> Sequence[RowTask]:
        """Return one task per entity, in the order of the model."""
        joined = {
            pair.left: [one for one in self._definitions.get(pair.right, []) if one.gives_meaning]
            for pair in self._joined.joins
        }
        known, linked = self._mentions, {pair.left for pair in self._joined.joins}
        unnamed = [
            one.name
            for one in self._entities
            if one.id not in linked and not (known.of(one.name) or known.headed(one.name))
        ]
        spelt = find_other_spellings(self._context.corpus, self._names, unnamed)
        return [
            CoverageTask(
                self._context, self._model, one, known, joined.get(one.id, ()), self._rules, spelt.get(one.name, "")
            )
            for one in self._entities
        ]

    def result(self, rows: Sequence[Row]) -> JobResult:
        """Return a result with the tables coverage, gaps, domains and rules_without_entity."""
        known = {row.key: row for row in rows}
        terms = Names([definitions[0].term for definitions in self._definitions.values()], self._aliases)
        measured = [one for one in self._entities if one.id in known]
        classes = {row.key: row.cells["coverage"] for row in rows}
        domains = sorted(rows_by_group(rows, 0).items(), key=lambda it: (not it[0], it[0]))
        tables = (
            Table(name="coverage", columns=COVERAGE_COLUMNS, rows=group_by_domain(known[one.id] for one in measured)),
            gap_table(self._model, measured, self._joined, self._definitions, classes),
            Table(name="domains", columns=DOMAIN_COLUMNS, rows=tuple(_domain_row(*it) for it in domains)),
            rules_table(self._context, self._entities, self._names, terms, self._rules, self._found),
        )
        return self._context.result(self.kind, tables, _figures(tables), duplicate_notes(self._entities))

    @cached_property
    def _entities(self) -> list[Entity]:
        types, skip = self._section.types, {name.casefold() for name in self._section.skip}
        return [
            one
            for one in self._model.model.entities
            if (not types or one.type in types) and one.name.casefold() not in skip
        ]

    @cached_property
    def _definitions(self) -> Mapping[str, list[Definition]]:
        found = grouped(self._found, lambda one: term_name_key(definition_names(one)[0]))
        return {key: definitions for key, definitions in found.items() if key}

    @cached_property
    def _found(self) -> list[Definition]:
        return find_definitions(self._context.corpus, self._context.file.spec.glossary)

    @cached_property
    def _aliases(self) -> Aliases:
        sheets = self._context.inventory.inventory.fact_sheets if self._context.inventory else ()
        columns = self._context.file.spec.sources.alias_columns
        return collect_aliases(self._context.aliases, sheets, columns, self._found)

    @cached_property
    def _names(self) -> Names:
        names = [one.name for one in self._entities]
        return Names(names, self._aliases, german=has_german_texts(self._context.corpus))

    @cached_property
    def _mentions(self) -> MentionIndex:
        return MentionIndex(self._context.corpus, self._names)

    @cached_property
    def _joined(self) -> JoinResult:
        left = entity_items(self._entities)
        return join_equal_names(join_names(left, term_items(self._found), self._names), left, self._names)


def _domain_row(name: str, rows: Sequence[Row]) -> Row:
    counts = Counter(value_text(row.cells["coverage"].value) for row in rows)
    numbers = {
        "entities": len(rows),
        **{column.lower(): counts[column] for column in COVERAGE_CLASSES},
        "share_covered": round(1 - counts["ABSENT"] / len(rows), 4),
    }
    cells = {column: inferred_cell(value) for column, value in numbers.items()}
    return Row(key=f"domain/{name}", name=name or "(no domain)", cells=cells)


def _figures(tables: Sequence[Table]) -> dict[str, int | float | str]:
    by_name = {table.name: table.rows for table in tables}
    classes = Counter(value_text(row.cells["coverage"].value) for row in by_name["coverage"])
    gaps = Counter(value_text(row.cells["gap"].value) for row in by_name["gaps"])
    return {
        "entities": len(by_name["coverage"]),
        **{name: classes[name] for name in COVERAGE_CLASSES},
        **{name: gaps[name] for name in (MATCHED, MODEL_ONLY, HANDBOOK_ONLY)},
        "rules without an entity": len(by_name["rules_without_entity"]),
    }
