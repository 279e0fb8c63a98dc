"""The enterprise model that a handbook job derives from texts: entities, their types, duties and relationships."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from elt_llm_query.understanding.aliases import Aliases

from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.definitions.find import find_definitions
from elt_llm_consumer.evidence import Cell
from elt_llm_consumer.handbook.candidates import CandidateIndex, EntityCandidate, find_candidates
from elt_llm_consumer.handbook.kinds import KindClassifier, personal_acts
from elt_llm_consumer.handbook.reading import ParsedSentence, TopicFilter, names_in_tables, read_sentences
from elt_llm_consumer.handbook.relations import CandidateRelation, Duty, DutyFinder, RelationFinder
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.names.joins import JoinPair, JoinResult, NamedItem, collect_aliases, entity_items, join_names
from elt_llm_consumer.names.mention_index import MentionIndex, MentionStatement
from elt_llm_consumer.names.names import Names, is_german


class HandbookModel:
    """The candidates with their kinds, duties and relationships, and the matching entities of the model."""

    def __init__(self, context: JobContext) -> None:
        self.context = context
        self.section = context.file.spec.handbook
        self._glossary = context.file.spec.glossary

    def prepare(self) -> None:
        """Compute all cached values before several threads use them at once."""
        _ = self.relations, self.duties, self._mentions, self._joined

    @cached_property
    def candidates(self) -> Sequence[EntityCandidate]:
        """The candidates about the topics, sorted by name."""
        if not self.section.topics:
            return self._index.candidates
        named = {
            one.key for sentence in self._on_topic for phrase in sentence.phrases if (one := self._index.of(phrase))
        }
        spans = {(one.document.document_id, one.start) for one in self._on_topic}
        return [
            one
            for one in self._index.candidates
            if one.key in named
            or any((it.evidence.document_id, it.evidence.span[0]) in spans for it in one.definitions)
        ]

    @cached_property
    def kinds(self) -> Mapping[str, Cell]:
        """Return the cell with the kind of each candidate, by the key of the candidate."""
        return {one.key: self._kinds.cell(one) for one in self._index.candidates}

    @cached_property
    def relations(self) -> Sequence[CandidateRelation]:
        """The relationships between the candidates about the topics."""
        known = {one.key for one in self.candidates}
        relations = RelationFinder(self._index, self._kinds).find(self._on_topic)
        return [one for one in relations if one.source.key in known and one.target.key in known]

    @cached_property
    def duties(self) -> Mapping[str, Sequence[Duty]]:
        """The duties and powers of each candidate, by the key of the candidate."""
        return DutyFinder(self._index, self.section.duty_words).find(self._on_topic)

    def statements(self, candidate: EntityCandidate) -> Sequence[MentionStatement]:
        """Return the statements that mention a candidate other than as part of a longer name."""
        return [
            one
            for one in self._mentions.of(candidate.key)
            if any(mention.doubt != "longer name" for mention in one.mentions)
        ]

    def entity_of(self, candidate: EntityCandidate) -> JoinPair | None:
        """Return the join of a candidate with its entity in the model, or None if it has no entity."""
        return self._joined.of_left(candidate.key)

    @cached_property
    def _on_topic(self) -> Sequence[ParsedSentence]:
        section = self.section
        return TopicFilter(section.topics, self.context.engine, section.passages_per_topic).keep(self._sentences)

    @cached_property
    def _index(self) -> CandidateIndex:
        in_tables = names_in_tables(self.context.corpus, self._glossary)
        return find_candidates(self._sentences, in_tables, self._definitions, self.context.aliases, self.section)

    @cached_property
    def _sentences(self) -> Sequence[ParsedSentence]:
        return read_sentences(self.context.corpus, self._glossary)

    @cached_property
    def _definitions(self) -> Sequence[Definition]:
        return find_definitions(self.context.corpus, self._glossary)

    @cached_property
    def _kinds(self) -> KindClassifier:
        return KindClassifier(self._index, self.section.kinds, personal_acts(self._index, self._sentences))

    @cached_property
    def _mentions(self) -> MentionIndex:
        """The mentions by candidate key. The names of a candidate are aliases of its key."""
        candidates = self._index.candidates
        groups = Aliases(tuple((one.key, *one.names) for one in candidates))
        german = is_german([one.name for one in candidates])
        return MentionIndex(self.context.corpus, Names([one.key for one in candidates], groups, german=german))

    @cached_property
    def _joined(self) -> JoinResult:
        model, candidates = self.context.model, self._index.candidates
        entities = entity_items(model.model.entities) if model else []
        aliases = collect_aliases(self.context.aliases, (), (), self._definitions)
        left = [NamedItem(one.key, one.name, (), one.names[1:]) for one in candidates]
        return join_names(left, entities, Names([one.name for one in candidates], aliases))
