"""What a handbook job has found, all of it: made once, from which its rows are written."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from elt_llm_query.understanding.aliases import Aliases

from elt_llm_consumer.context import JobContext
from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.definitions.find import find_definitions
from elt_llm_consumer.handbook.candidates import Candidate, Found, find_candidates
from elt_llm_consumer.handbook.duties import Duties, Duty
from elt_llm_consumer.handbook.kinds import Kinds, personal_acts
from elt_llm_consumer.handbook.reading import Sentence, names_in_tables, read_sentences
from elt_llm_consumer.handbook.relations import Relation, Relations
from elt_llm_consumer.handbook.topics import Topics
from elt_llm_consumer.joining.join import Join, Joined, Named, join
from elt_llm_consumer.joining.named import named_entities, other_names
from elt_llm_consumer.mention_index import MentionIndex, Statement
from elt_llm_consumer.name_words import is_german
from elt_llm_consumer.names import Names
from elt_llm_consumer.rows import Cell


class Drawn:
    """Candidates, their kinds, duties and relationships, and the entities of the model that they are."""

    def __init__(self, context: JobContext) -> None:
        self.context = context
        self.section = context.file.spec.handbook

    def prepare(self) -> None:
        """Read everything now: rows may be gathered at the same time, and each would begin anew."""
        _ = self.relations, self.duties, self._mentions, self._joined

    @cached_property
    def candidates(self) -> Sequence[Candidate]:
        """Those that the topics leave, in order of their names."""
        if not self.section.topics:
            return self.found.candidates
        named = {
            one.key for sentence in self.sentences for phrase in sentence.phrases if (one := self.found.of(phrase))
        }
        spans = {(one.document.document_id, one.start) for one in self.sentences}
        return [
            one
            for one in self.found.candidates
            if one.key in named
            or any((it.evidence.document_id, it.evidence.span[0]) in spans for it in one.definitions)
        ]

    @cached_property
    def kinds(self) -> Mapping[str, Cell]:
        """The kind of each candidate by its key."""
        return {one.key: self._kinds.cell(one) for one in self.found.candidates}

    @cached_property
    def relations(self) -> Sequence[Relation]:
        """The relationships between candidates that the topics leave."""
        known = {one.key for one in self.candidates}
        relations = Relations(self.found, self._kinds).find(self.sentences)
        return [one for one in relations if one.source.key in known and one.target.key in known]

    @cached_property
    def duties(self) -> Mapping[str, Sequence[Duty]]:
        """Terms of reference by the key of a candidate."""
        return Duties(self.found, self.section.duty_words).find(self.sentences)

    def statements(self, candidate: Candidate) -> Sequence[Statement]:
        """The statements that name a candidate, and not a longer name of which its own is a part."""
        return [
            one
            for one in self._mentions.of(candidate.key)
            if any(mention.doubt != "longer name" for mention in one.mentions)
        ]

    def entity_of(self, candidate: Candidate) -> Join | None:
        """The entity of the model that a candidate is."""
        return self._joined.of_left(candidate.key)

    @cached_property
    def sentences(self) -> Sequence[Sentence]:
        """The sentences about the topics of the job."""
        return Topics(self.section.topics, self.context.engine, self.section.passages_per_topic).of(self._read)

    @cached_property
    def found(self) -> Found:
        """Every candidate, whatever the topics."""
        in_tables = names_in_tables(self.context.corpus, self.context.file.spec.glossary)
        return find_candidates(self._read, in_tables, self._definitions, self.context.aliases, self.section)

    @cached_property
    def _read(self) -> Sequence[Sentence]:
        return read_sentences(self.context.corpus, self.context.file.spec.glossary)

    @cached_property
    def _definitions(self) -> Sequence[Definition]:
        return find_definitions(self.context.corpus, self.context.file.spec.glossary)

    @cached_property
    def _kinds(self) -> Kinds:
        return Kinds(self.found, self.section.kinds, personal_acts(self.found, self._read))

    @cached_property
    def _mentions(self) -> MentionIndex:
        """By the keys of candidates: their names are other names of the keys."""
        candidates = self.found.candidates
        groups = Aliases(tuple((one.key, *one.names) for one in candidates))
        german = is_german([one.name for one in candidates])
        return MentionIndex(self.context.corpus, Names([one.key for one in candidates], groups, german=german))

    @cached_property
    def _joined(self) -> Joined:
        model = self.context.model
        entities = named_entities(model.model.entities) if model else []
        aliases = other_names(self.context.aliases, (), (), self._definitions)
        left = [Named(one.key, one.name, (), one.names[1:]) for one in self.found.candidates]
        return join(left, entities, Names([one.name for one in self.found.candidates], aliases))
