"""Read the texts, the enterprise model and the inventory of a job when the job starts."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from elt_llm_core.enterprise import EnterpriseModel, Entity, FactSheet, Inventory, Relationship, RelationshipEnd
from elt_llm_core.errors import UsageError
from elt_llm_core.index.searchable import Searchable
from elt_llm_core.text.outline import MARKED_TERMS_ARTEFACT, MarkedTerms, Outline
from elt_llm_query.grounding.sentences import TextPiece, split_pieces

from elt_llm_consumer.evidence import Evidence


@dataclass(frozen=True)
class CorpusDocument:
    """A document with its complete text."""

    collection: str
    document_id: str
    source: str
    title: str
    document_hash: str
    text: str = field(repr=False)
    outline: Outline = field(repr=False)
    marked: MarkedTerms = field(default_factory=MarkedTerms, repr=False)
    """The terms that the file's markup emphasises or defines, for example in bold."""

    @cached_property
    def pieces(self) -> tuple[TextPiece, ...]:
        """The sentences, list items, table rows and headings in order, as spans of `text`."""
        return tuple(split_pieces(self.text, [section.title for section in self.outline.sections]))

    def evidence(self, start: int, end: int, score: float, about: str = "") -> Evidence:
        """Return the text between `start` and `end` as evidence, without surrounding white space.

        Raises ValueError if no text is left. `score`, 0 to 1, is how well the quote supports its value.
        """
        quote = self.text[start:end]
        start += len(quote) - len(quote.lstrip())
        quote = quote.strip()
        if not quote:
            raise ValueError(f"the span {start}:{end} of {self.source} contains no text")
        return Evidence(
            collection=self.collection,
            source=self.source,
            document_id=self.document_id,
            document_hash=self.document_hash,
            page=self.outline.page_at(start),
            section=self.outline.section_at(start),
            span=(start, start + len(quote)),
            quote=quote,
            quote_hash=quote_hash(quote),
            score=round(score, 4),
            about=about,
        )


class Corpus:
    """The documents of one or more collections, in order of collection and source."""

    def __init__(self, documents: Sequence[CorpusDocument]) -> None:
        self.documents = tuple(sorted(documents, key=lambda one: (one.collection, one.source, one.document_id)))
        self._by_id = {(one.collection, one.document_id): one for one in self.documents}

    def document(self, collection: str, document_id: str) -> CorpusDocument | None:
        """Return the document with this id, or None if the corpus has none."""
        return self._by_id.get((collection, document_id))

    @cached_property
    def _parts(self) -> Mapping[str, CorpusDocument]:
        return {one.source[one.source.find("#") :]: one for one in self.documents if "#" in one.source}

    def part_evidence(self, part: str, words: str, score: float) -> tuple[Evidence, ...]:
        """Return a quote of `words` from a part of a file. If the part lacks them, its first sentence is quoted.

        Such a part describes one entity or fact sheet; `part` is its name, such as `#entity/1f0c`. The result is empty
        if the corpus has no document for this part.
        """
        document = self._parts.get(part)
        if document is None or not document.text.strip():
            return ()
        start = document.text.find(words) if words else -1
        if start >= 0:
            return (document.evidence(start, start + len(words), score),)
        first = document.pieces[0]
        return (document.evidence(first.start, first.end, score),)

    def holds(self, evidence: Evidence) -> bool:
        """Return whether the quoted document still contains the quote at the same span and on the same page."""
        document = self.document(evidence.collection, evidence.document_id)
        start, end = evidence.span
        return (
            document is not None
            and document.text[start:end] == evidence.quote
            and quote_hash(evidence.quote) == evidence.quote_hash
            and document.outline.page_at(start) == evidence.page
        )


def read_corpus(generations: Sequence[Searchable]) -> Corpus:
    """Read all documents of these generations, with their texts. Parts of files, such as fact sheets, are included."""
    documents = []
    for generation in generations:
        listed = generation.documents()
        identities = [document.document_id for document in listed]
        texts, outlines = generation.texts(identities), generation.outlines(identities)
        marked = generation.artefacts(MARKED_TERMS_ARTEFACT)
        for one in listed:
            key, text = one.document_id, texts.get(one.document_id, "")
            terms = MarkedTerms.from_json(marked.get(key), len(text))
            names = (generation.collection, key, one.source, one.title, one.document_hash)
            documents.append(CorpusDocument(*names, text, outlines.get(key, Outline()), terms))
    return Corpus(documents)


def quote_hash(quote: str) -> str:
    """Return the SHA-256 of a quote as 64 hex digits."""
    return hashlib.sha256(quote.encode("utf-8", "surrogatepass")).hexdigest()


_HIERARCHY = " / "  # separates the ancestors' names in the display name of a fact sheet
_ENTITY, _RELATIONSHIP, _FACT_SHEET = "#entity/", "#relationship/", "#fact-sheet/"


@dataclass(frozen=True)
class ModelSource:
    """An enterprise model, and a corpus with one document for each entity and relationship in the model's file."""

    model: EnterpriseModel
    corpus: Corpus = field(repr=False)
    of_inventory: bool = False
    """Whether the entities are the fact sheets of an inventory or the rows of a data dictionary."""

    def of_entity(self, entity: Entity, words: str = "") -> tuple[Evidence, ...]:
        """Quote what the enterprise model's file contains about an entity: `words` if possible (`part_evidence`)."""
        return self.corpus.part_evidence((_FACT_SHEET if self.of_inventory else _ENTITY) + entity.id, words, 1.0)

    def of_relationship(self, relationship: Relationship) -> tuple[Evidence, ...]:
        """Quote what the enterprise model's file contains about a relationship: its sentence, if possible."""
        of_source = _FACT_SHEET + relationship.source.entity_id
        part = of_source if self.of_inventory else _RELATIONSHIP + relationship.id
        return self.corpus.part_evidence(part, relationship.sentence, 1.0)


@dataclass(frozen=True)
class InventorySource:
    """An inventory, and a corpus with one document for each fact sheet (record) of the inventory."""

    inventory: Inventory
    corpus: Corpus = field(repr=False)

    def of_fact_sheet(self, sheet: FactSheet, words: str, score: float) -> tuple[Evidence, ...]:
        """Quote what the inventory contains about a fact sheet: `words` if possible (`part_evidence`)."""
        return self.corpus.part_evidence(_FACT_SHEET + sheet.id, words, score)


def read_model_source(generation: Searchable) -> ModelSource:
    """Return the enterprise model of a collection.

    If the collection contains no diagram, the model is made from its inventory or data dictionary. Raises UsageError
    unless the collection contains exactly one such source.
    """
    if not generation.artefacts("enterprise_model") and len(generation.artefacts("inventory")) == 1:
        source = read_inventory([generation])
        return ModelSource(model_of_inventory(source.inventory), source.corpus, of_inventory=True)
    value = _single_artefact(generation, "enterprise_model", "enterprise model", "model")
    return ModelSource(EnterpriseModel.from_json(value), read_corpus([generation]))


def model_of_inventory(inventory: Inventory) -> EnterpriseModel:
    """Return a model with the fact sheets as entities, their ancestors as domains, and their relations.

    The domain of a fact sheet is its outermost ancestor, or its type if it has no ancestors. The subgroup is the
    ancestor below the domain.
    """
    parents = {sheet.parent for sheet in inventory.fact_sheets}
    by_id = {sheet.id: sheet for sheet in inventory.fact_sheets}
    entities = tuple(
        Entity(
            id=sheet.id,
            name=sheet.name,
            type=sheet.type,
            fact_sheet_id=sheet.fact_sheet_id,
            domain=above[0] if above else sheet.type,
            subgroup=above[1] if len(above) > 1 else "",
            container=sheet.display_name in parents,
        )
        for sheet in inventory.fact_sheets
        for above in [[name for name in sheet.parent.split(_HIERARCHY) if name]]
    )
    relationships = tuple(
        Relationship(
            id=f"{sheet.id}/{relation.kind}/{relation.target_id}",
            source=RelationshipEnd(entity_id=sheet.id, name=sheet.name),
            target=RelationshipEnd(entity_id=relation.target_id, name=by_id[relation.target_id].name),
            kind=relation.kind,
        )
        for sheet in inventory.fact_sheets
        for relation in sheet.relations
        if relation.target_id in by_id
    )
    unique = {one.id: one for one in relationships}
    return EnterpriseModel(entities=entities, relationships=tuple(unique.values()), notes=inventory.notes).in_order()


_MAX_NAMED = 5  # maximum duplicates that a note names


def duplicate_notes(entities: Sequence[Entity]) -> list[str]:
    """Return a note about the names, and one about the ids, that several entities of the model have."""
    notes = []
    by_name, by_id = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for one in entities:
        by_name[one.name.casefold()].append(f"{one.name} ({one.id})")
        by_id[one.fact_sheet_id].append(f"{one.name} ({one.fact_sheet_id})")
    for what, same in (("name", by_name), ("id", by_id)):
        found = [", ".join(ones) for value, ones in same.items() if value and len(ones) > 1]
        more = f"; and {len(found) - _MAX_NAMED:,} more" if len(found) > _MAX_NAMED else ""
        if found:
            notes.append(f"Entities of the model with the same {what}: {'; '.join(found[:_MAX_NAMED])}{more}.")
    return notes


def read_inventory(generations: Sequence[Searchable]) -> InventorySource:
    """Return the inventory of the first collection, with the documents of all collections.

    If an inventory was split by type, each collection stores the complete inventory and a part of the documents.
    Raises UsageError unless the first collection has exactly one inventory.
    """
    value = _single_artefact(generations[0], "inventory", "inventory", "inventory")
    return InventorySource(Inventory.from_json(value), read_corpus(generations))


def _single_artefact(generation: Searchable, name: str, what: str, job: str) -> Mapping[str, object]:
    found: list[Mapping[str, object]] = list(generation.artefacts(name).values())
    if len(found) != 1:
        raise UsageError(
            f"The collection '{generation.collection}' must contain exactly one {what}, but it contains {len(found)}.",
            hint=f"Ingest the file first, for instance: elt-llm ingest --job {job}",
        )
    return found[0]
