"""Prepare the data that all rows of a catalog share: names, matches between sources, definitions and statements."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from elt_llm_core.enterprise import FactSheet
from elt_llm_core.text.languages import word_pattern
from elt_llm_core.text.normalise import fold
from elt_llm_core.text.stems import KeywordTokeniser, stopwords_of
from elt_llm_query.understanding.aliases import Aliases

from elt_llm_consumer.catalog.amended_rules import AmendedRules
from elt_llm_consumer.catalog.mentions import StatementIndex
from elt_llm_consumer.catalog.text_fields import TextField
from elt_llm_consumer.definitions.comparison import DefinitionComparer
from elt_llm_consumer.definitions.definition import Definition, term_key
from elt_llm_consumer.definitions.find import Amendment, amendments_by_term, find_definitions
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.corpus import ModelSource
from elt_llm_consumer.jobs.sections import CatalogField, CatalogSection
from elt_llm_consumer.names.joins import (
    JoinResult,
    NamedItem,
    collect_aliases,
    definition_names,
    entity_items,
    fact_sheet_items,
    join_equal_names,
    join_names,
    term_items,
    term_name_key,
)
from elt_llm_consumer.names.mention_index import find_other_spellings
from elt_llm_consumer.names.names import Names, has_german_texts, name_key
from elt_llm_consumer.sentences.statements import read_statements
from elt_llm_consumer.sentences.words import finite_verbs

_DEFINING = frozenset({"table", "list", "sentence", "reference"})
"""Patterns that match statements which only define a term. The other patterns find definitions inside rules."""
_LEAD_LENGTH = 120
# What may precede a defined term in its sentence: punctuation, an article, and a scope such as "In these Rules,".
_LEADS_TO_TERM = word_pattern(
    r"^[\W\d]{0,12}(?:@before_scope@\s[^.;:]{1,90},\s{1,3})?(?:(?:@definite_articles@|@indefinite_articles@)\s{1,3})?\W{0,6}$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class CatalogTerm:
    """A term that the texts define, with all its definitions."""

    key: str
    name: str
    definitions: tuple[Definition, ...]


class CatalogIndex:
    """The data of a catalog job: entities, fact sheets (records of the inventory), defined terms and their matches."""

    def __init__(self, context: JobContext, model: ModelSource) -> None:
        self.context, self.model = context, model
        self.section: CatalogSection = context.file.spec.catalog
        self.fields: Mapping[str, CatalogField] = self.section.all_fields()
        left_out = set(map(name_key, self.section.skip))
        self.deeper = set(map(name_key, self.section.deeper))
        """The normalised names in `catalog.deeper` of the job file. They get twice as many search results."""
        self.not_in_texts = set(map(name_key, self.section.not_in_texts))
        """The normalised names in `catalog.not_in_texts` of the job file. The texts are not searched for them."""
        self.agreements = DefinitionComparer(context.embedding, KeywordTokeniser("en"))
        types = self.section.entity_types
        self.drawn = {one.id: one for one in model.model.entities}
        self.selected = [one for one in model.model.entities if not types or one.type in types]
        """The entities of the types selected in the job file."""
        self.entities = [one for one in self.selected if name_key(one.name) not in left_out]
        sheets = context.inventory.inventory.fact_sheets if context.inventory else ()
        self.sheets: Mapping[str, FactSheet] = {one.id: one for one in sheets}
        self.terms: Mapping[str, CatalogTerm] = {
            key: term for key, term in self._terms().items() if name_key(term.name) not in left_out
        }

    @cached_property
    def definitions(self) -> Sequence[Definition]:
        """All definitions in the texts."""
        return find_definitions(self.context.corpus, self.context.file.spec.glossary)

    @cached_property
    def amendments(self) -> Mapping[str, Sequence[Amendment]]:
        """The changes of definitions by the key of their term in `terms`."""
        named = {term_key(term.name): key for key, term in self.terms.items()}
        others = {
            term_key(name): key
            for key, term in self.terms.items()
            for one in term.definitions
            for name in definition_names(one)
        }
        return amendments_by_term(self.context.corpus, {**others, **named})

    @cached_property
    def aliases(self) -> Aliases:
        """The aliases from the configuration, the inventory and the texts."""
        columns = self.context.file.spec.sources.alias_columns
        return collect_aliases(self.context.aliases, self.sheets.values(), columns, self.definitions)

    @cached_property
    def names(self) -> Names:
        """The names of the enterprise model's entities, with their aliases."""
        return Names(
            [one.name for one in self.drawn.values()], self.aliases, german=has_german_texts(self.context.corpus)
        )

    @cached_property
    def to_sheets(self) -> JoinResult:
        """The matches between all entities of the enterprise model and the fact sheets."""
        right = fact_sheet_items(self.sheets.values(), self.context.file.spec.sources.alias_columns)
        return join_names(entity_items(self.drawn.values()), right, self.names, self.section.least_likeness)

    @cached_property
    def to_terms(self) -> JoinResult:
        """The matches between defined terms (by key in `terms`) and entities of the types selected in the job file."""
        left = entity_items(self.selected)
        joined = join_names(left, self._named_terms, self.names, self.section.least_likeness)
        return join_equal_names(joined, left, self.names)

    @cached_property
    def terms_to_sheets(self) -> JoinResult:
        """The matches between those defined terms and those fact sheets that match no entity."""
        alone = set(self.to_terms.right_alone)
        free = [self.sheets[key] for key in self.to_sheets.right_alone]
        left = [one for one in self._named_terms if one.key in alone]
        right = fact_sheet_items(free, self.context.file.spec.sources.alias_columns)
        return join_names(left, right, self.names, self.section.least_likeness)

    @cached_property
    def terms_alone(self) -> tuple[CatalogTerm, ...]:
        """The defined terms that match no entity, sorted by name."""
        return tuple(self.terms[key] for key in self.to_terms.right_alone if key in self.terms)

    @cached_property
    def statements(self) -> StatementIndex:
        """The index of the statements about entities, and about defined terms that match no entity."""
        names = [one.name for one in self.drawn.values()] + [one.name for one in self.terms_alone]
        records = [(name, *(f"{name} {word}" for word in self.section.record_words)) for name in dict.fromkeys(names)]
        corpus, aliases = self.context.corpus, Aliases((*self.aliases.groups, *records))
        return StatementIndex(read_statements(corpus), Names(names, aliases, german=has_german_texts(corpus)))

    @cached_property
    def other_spellings(self) -> Mapping[str, str]:
        """Notes on other spellings that the texts may have of entities which they neither define nor name."""
        linked = {pair.left for pair in self.to_terms.joins}
        names = [one.name for one in self.entities if one.id not in linked]
        unnamed = [name for name in names if not any(one.mentions for one in self.statements.of(name))]
        return find_other_spellings(self.context.corpus, self.names, unnamed)

    @cached_property
    def amended_rules(self) -> AmendedRules:
        """The sentences of the texts that another sentence amends."""
        return AmendedRules(self.statements.statements)

    @cached_property
    def text_fields(self) -> Mapping[str, TextField]:
        """The readers of the fields whose values come from the texts, by field name."""
        default, engines = self.context.engine, self.context.engines
        return {
            name: TextField(field, self.section, self.statements, engines.get(field.profile, default), self._defining)
            for name, field in self.fields.items()
            if field.kind == "text"
        }

    @cached_property
    def _defining(self) -> frozenset[int]:
        """The numbers of the statements that only define a term.

        Such a statement does not count as a rule about other names that it mentions.
        """
        found = (
            statement.number
            for one in (definition.evidence for definition in self.definitions if definition.pattern in _DEFINING)
            for statement in self.statements.within(
                one.collection, one.document_id, (one.span[0] - _LEAD_LENGTH, one.span[1] + 3)
            )
            if statement.end > one.span[0]
            and _LEADS_TO_TERM.match(statement.text[: max(0, one.span[0] - statement.start)])
        )
        return frozenset(found)

    @cached_property
    def _named_terms(self) -> Sequence[NamedItem]:
        known = {one.key: one for one in term_items(self.definitions)}
        return [known[key] for key in self.terms]

    def _terms(self) -> dict[str, CatalogTerm]:
        """Return the defined terms by key. A term has its first capitalised spelling as name, if there is one."""
        found: dict[str, list[Definition]] = defaultdict(list)
        names: dict[str, str] = {}
        for definition in self.definitions:
            name = definition_names(definition)[0]
            key = term_name_key(name)
            found[key].append(definition)
            names[key] = names[key] if names.get(key, "")[:1].isupper() else name
        return {
            key: CatalogTerm(key, names[key], tuple(definitions))
            for key, definitions in found.items()
            if key and not _is_common_word(names[key])
        }


def _is_common_word(name: str) -> bool:
    """Return whether a term consists only of stopwords and verbs such as "must", which rules about any term use."""
    small = stopwords_of("en") | stopwords_of("de")
    words = name.split()
    return not name.isupper() and all(
        fold(word) in small or finite_verbs().spans(word) == [(0, len(word))] for word in words
    )
