"""The coverage job: how well the texts cover the model, entity by entity, and what is missing on either side."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from elt_llm_core.enterprise_model import Entity
from elt_llm_core.errors import UsageError
from elt_llm_query.understanding.aliases import Aliases

from elt_llm_consumer.context import JobContext
from elt_llm_consumer.coverage.gaps import HANDBOOK_ONLY, MATCHED, MODEL_ONLY, gap_table
from elt_llm_consumer.coverage.measure import CLASSES, RuleWords
from elt_llm_consumer.coverage.rules import Rules, rules_table
from elt_llm_consumer.coverage.task import COLUMNS, CoverageTask, Told
from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.definitions.find import find_definitions
from elt_llm_consumer.export.texts import shown
from elt_llm_consumer.joining.join import Joined, join
from elt_llm_consumer.joining.named import named_entities, named_terms, names_of, other_names, term_key
from elt_llm_consumer.mention_index import MentionIndex
from elt_llm_consumer.names import Names
from elt_llm_consumer.rows import Cell, JobResult, Row, Table, by_first_group
from elt_llm_consumer.tasks import RowTask

DOMAIN_COLUMNS = ("entities", *(name.lower() for name in CLASSES), "share_covered")


class CoverageJob:
    """Reads every text once, counts what it says of each entity, and searches for each. No language model is asked."""

    kind = "coverage"

    def __init__(self, context: JobContext) -> None:
        """Raises UsageError if the job names no model or no texts."""
        if context.model is None or not context.corpus.documents:
            raise UsageError(
                "A coverage job needs a model and texts to hold against each other.",
                hint=f"Give sources.model and sources.handbook in {context.file.path}",
            )
        self._context = context
        self._section = context.file.spec.coverage
        self._rules = RuleWords(self._section.rule_words, self._section.rule_openings)

    def tasks(self) -> Sequence[RowTask]:
        """A task for each entity, in the order of the model."""
        return [CoverageTask(self._context, one, self._told(one), self._rules) for one in self._entities]

    def result(self, rows: Sequence[Row]) -> JobResult:
        """Tables: coverage, gaps, domains, rules_without_entity."""
        known = {row.key: row for row in rows}
        measured = [one for one in self._entities if one.id in known]
        classes = {row.key: row.cells["coverage"] for row in rows}
        gaps = gap_table(self._context, measured, self._joined, self._definitions, classes)
        tables = (
            Table(name="coverage", columns=COLUMNS, rows=by_first_group(known[one.id] for one in measured)),
            gaps,
            Table(name="domains", columns=DOMAIN_COLUMNS, rows=tuple(_domain_rows(rows))),
            rules_table(self._context, self._entities, self._names, self._terms, Rules(self._rules, self._found)),
        )
        file = self._context.file
        return JobResult(
            job=file.name,
            kind=self.kind,
            description=file.spec.description,
            tables=tables,
            figures=_figures(tables),
        )

    @cached_property
    def _entities(self) -> list[Entity]:
        assert self._context.model is not None  # noqa: S101 - looked at in __init__
        types, skip = self._section.types, {name.casefold() for name in self._section.skip}
        return [
            one
            for one in self._context.model.model.entities
            if (not types or one.type in types) and one.name.casefold() not in skip
        ]

    @cached_property
    def _definitions(self) -> Mapping[str, list[Definition]]:
        """Definitions by the key of their term."""
        found: dict[str, list[Definition]] = {}
        for one in self._found:
            found.setdefault(term_key(names_of(one)[0]), []).append(one)
        return {key: definitions for key, definitions in found.items() if key}

    @cached_property
    def _found(self) -> list[Definition]:
        return find_definitions(self._context.corpus, self._context.file.spec.glossary)

    @cached_property
    def _aliases(self) -> Aliases:
        sheets = self._context.inventory.inventory.fact_sheets if self._context.inventory else ()
        columns = self._context.file.spec.sources.alias_columns
        return other_names(self._context.aliases, sheets, columns, self._found)

    @cached_property
    def _names(self) -> Names:
        return Names([one.name for one in self._entities], self._aliases)

    @cached_property
    def _terms(self) -> Names:
        return Names([definitions[0].term for definitions in self._definitions.values()], self._aliases)

    @cached_property
    def _mentions(self) -> MentionIndex:
        return MentionIndex(self._context.corpus, self._names)

    @cached_property
    def _joined(self) -> Joined:
        return join(named_entities(self._entities), named_terms(self._found), self._names)

    def _told(self, entity: Entity) -> Told:
        joined = self._joined.of_left(entity.id)
        definitions = self._definitions.get(joined.right, []) if joined else []
        return Told(self._mentions.of(entity.name), self._mentions.headed(entity.name), definitions)


def _domain_rows(rows: Sequence[Row]) -> list[Row]:
    domains: dict[str, list[Row]] = {}
    for row in rows:
        domains.setdefault(row.group[0] if row.group else "", []).append(row)
    return [_domain_row(name, found) for name, found in sorted(domains.items(), key=lambda it: (not it[0], it[0]))]


def _domain_row(name: str, rows: Sequence[Row]) -> Row:
    counts = Counter(shown(row.cells["coverage"].value) for row in rows)
    numbers = {
        "entities": len(rows),
        **{column.lower(): counts[column] for column in CLASSES},
        "share_covered": round(1 - counts["ABSENT"] / len(rows), 4),
    }
    cells = {column: Cell(value=value, verdict="inferred", confidence=1.0) for column, value in numbers.items()}
    return Row(key=f"domain/{name}", name=name or "(no domain)", cells=cells)


def _figures(tables: Sequence[Table]) -> dict[str, int | float | str]:
    by_name = {table.name: table.rows for table in tables}
    classes = Counter(shown(row.cells["coverage"].value) for row in by_name["coverage"])
    gaps = Counter(shown(row.cells["gap"].value) for row in by_name["gaps"])
    return {
        "entities": len(by_name["coverage"]),
        **{name: classes[name] for name in CLASSES},
        **{name: gaps[name] for name in (MATCHED, MODEL_ONLY, HANDBOOK_ONLY)},
        "rules without an entity": len(by_name["rules_without_entity"]),
    }
