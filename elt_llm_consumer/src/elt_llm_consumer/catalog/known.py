"""What all rows of a catalog share: names, joins, definitions and the texts read once."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from elt_llm_core.enterprise_model import Entity, FactSheet
from elt_llm_core.text.normalise import fold
from elt_llm_core.text.stopwords import stopwords_of
from elt_llm_query.understanding.aliases import Aliases

from elt_llm_consumer.context import JobContext
from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.definitions.find import find_definitions
from elt_llm_consumer.fields.about import Subjects
from elt_llm_consumer.fields.cues import verbs
from elt_llm_consumer.fields.search import Searcher
from elt_llm_consumer.fields.statements import statements
from elt_llm_consumer.fields.text_field import TextField
from elt_llm_consumer.joining.join import Join, Joined, Named, join
from elt_llm_consumer.joining.named import (
    named_entities,
    named_fact_sheets,
    named_terms,
    names_of,
    other_names,
    term_key,
)
from elt_llm_consumer.names import Names
from elt_llm_consumer.sections.catalog import CatalogField, CatalogSection

_DEFINING = frozenset({"table", "list", "sentence", "reference"})
"""Patterns of definitions that are whole statements; others stand within a rule."""
_BEFORE = 120
# What may stand before a defined term: marks, an article, and for what it is defined.
_LEADS_TO_TERM = re.compile(
    r"^[\W\d]{0,12}(?:(?:for|in|im|für)\s[^.;:]{1,90},\s{1,3})?(?:(?:the|an?|der|die|das|ein|eine)\s{1,3})?\W{0,6}$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Term:
    """A term that the texts define, with every place that does."""

    key: str
    name: str
    definitions: tuple[Definition, ...]


class Known:
    """Entities, fact sheets and terms, who is who among them, and the fields that are read for each."""

    def __init__(self, context: JobContext) -> None:
        self.context = context
        self.section: CatalogSection = context.file.spec.catalog
        self.fields: Mapping[str, CatalogField] = self.section.all_fields()
        skip = Names([]).key
        left_out = {skip(name) for name in self.section.skip}
        self._deeper = {skip(name) for name in self.section.deeper}
        drawn = context.model.model.entities if context.model else ()
        types = set(self.section.entity_types)
        self.entities: tuple[Entity, ...] = tuple(
            one for one in drawn if (not types or one.type in types) and skip(one.name) not in left_out
        )
        self.drawn = {one.id: one for one in drawn}
        sheets = context.inventory.inventory.fact_sheets if context.inventory else ()
        self.sheets: Mapping[str, FactSheet] = {one.id: one for one in sheets}
        self.terms: Mapping[str, Term] = {
            key: term for key, term in self._terms().items() if skip(term.name) not in left_out
        }

    def is_deeper(self, name: str) -> bool:
        """Whether the job file asks for twice as much about it."""
        return Names([]).key(name) in self._deeper

    @cached_property
    def definitions(self) -> Sequence[Definition]:
        """Every definition in the texts."""
        return find_definitions(self.context.corpus, self.context.file.spec.glossary)

    @cached_property
    def aliases(self) -> Aliases:
        """Other names from the configuration, the inventory and the texts."""
        columns = self.context.file.spec.sources.alias_columns
        return other_names(self.context.aliases, self.sheets.values(), columns, self.definitions)

    @cached_property
    def names(self) -> Names:
        """Compares any names, knowing the aliases."""
        return Names([one.name for one in self.drawn.values()], self.aliases)

    @cached_property
    def to_sheets(self) -> Joined:
        """Entities of the whole model joined to fact sheets."""
        right = named_fact_sheets(self.sheets.values(), self.context.file.spec.sources.alias_columns)
        return join(named_entities(self.drawn.values()), right, self.names, self.section.least_likeness)

    @cached_property
    def to_terms(self) -> Joined:
        """Entities of the types that are taken joined to defined terms, by the keys of `terms`."""
        types = self.section.entity_types
        drawn = [one for one in self.drawn.values() if not types or one.type in types]
        return join(named_entities(drawn), self._named_terms, self.names, self.section.least_likeness)

    @cached_property
    def terms_to_sheets(self) -> Joined:
        """Terms that no entity stands for joined to fact sheets that nobody drew."""
        alone = set(self.to_terms.right_alone)
        free = [self.sheets[key] for key in self.to_sheets.right_alone]
        left = [one for one in self._named_terms if one.key in alone]
        right = named_fact_sheets(free, self.context.file.spec.sources.alias_columns)
        return join(left, right, self.names, self.section.least_likeness)

    @cached_property
    def terms_alone(self) -> tuple[Term, ...]:
        """Terms that no entity stands for, by name."""
        return tuple(self.terms[key] for key in self.to_terms.right_alone if key in self.terms)

    @cached_property
    def subjects(self) -> Subjects:
        """What each statement of the texts speaks of: of entities and of terms that are none."""
        names = [one.name for one in self.drawn.values()] + [one.name for one in self.terms_alone]
        records = [(name, *(f"{name} {word}" for word in self.section.record_words)) for name in dict.fromkeys(names)]
        return Subjects(statements(self.context.corpus), Names(names, Aliases((*self.aliases.groups, *records))))

    @cached_property
    def text_fields(self) -> Mapping[str, TextField]:
        """The fields that are read from the texts, by name."""
        searcher = Searcher(self.context.engine, self.context.engines, self.subjects)
        return {
            name: TextField(field, self.section, self.subjects, searcher, self._defining)
            for name, field in self.fields.items()
            if field.kind == "text"
        }

    def sheet_of(self, joined: Join | None) -> FactSheet | None:
        """The fact sheet of a join."""
        return self.sheets[joined.right] if joined else None

    @cached_property
    def _defining(self) -> frozenset[int]:
        """Statements that define a term, and so are no rule about what they name."""
        found = (
            statement.number
            for one in (definition.evidence for definition in self.definitions if definition.pattern in _DEFINING)
            for statement in self.subjects.within(
                one.collection, one.document_id, (one.span[0] - _BEFORE, one.span[1] + 3)
            )
            if statement.end > one.span[0]
            and _LEADS_TO_TERM.match(statement.text[: max(0, one.span[0] - statement.start)])
        )
        return frozenset(found)

    @cached_property
    def _named_terms(self) -> Sequence[Named]:
        known = {one.key: one for one in named_terms(self.definitions)}
        return [known[key] for key in self.terms]

    def _terms(self) -> dict[str, Term]:
        found: dict[str, list[Definition]] = defaultdict(list)
        called: dict[str, str] = {}
        for definition in self.definitions:
            name = names_of(definition)[0]
            found[term_key(name)].append(definition)
            known = called.setdefault(term_key(name), name)
            called[term_key(name)] = known if known[:1].isupper() else name
        return {
            key: Term(key, called[key], tuple(definitions))
            for key, definitions in found.items()
            if key and not _is_everyday(called[key])
        }


def _is_everyday(name: str) -> bool:
    """Whether a defined word is said of everything, such as "must", and so would collect the rules of all others."""
    small = stopwords_of("en") | stopwords_of("de")
    words = name.split()
    return not name.isupper() and all(fold(word) in small or verbs().spans(word) == [(0, len(word))] for word in words)
