"""The model and the inventory that were ingested, joined to the documents in which each of their entries is told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from elt_llm_core.enterprise_model import EnterpriseModel, Entity, FactSheet, Inventory, Relationship
from elt_llm_core.errors import UsageError
from elt_llm_core.generation import Generation

from elt_llm_consumer.corpus import Corpus, read_corpus
from elt_llm_consumer.rows import Evidence

_ENTITY, _RELATIONSHIP, _FACT_SHEET = "#entity/", "#relationship/", "#fact-sheet/"


@dataclass(frozen=True)
class ModelSource:
    """An enterprise model and where it says what it says."""

    model: EnterpriseModel
    corpus: Corpus = field(repr=False)

    def of_entity(self, entity: Entity, words: str = "", score: float = 1.0) -> tuple[Evidence, ...]:
        """The model's own sentence about an entity, or `words` of it; none if its document is not there."""
        return _told(self.corpus, _ENTITY + entity.id, words, score)

    def of_relationship(self, relationship: Relationship, words: str = "", score: float = 1.0) -> tuple[Evidence, ...]:
        """The model's own sentence about a relationship, or `words` of it; none if its document is not there."""
        return _told(self.corpus, _RELATIONSHIP + relationship.id, words, score)


@dataclass(frozen=True)
class InventorySource:
    """An inventory and where it says what it says."""

    inventory: Inventory
    corpus: Corpus = field(repr=False)

    def of_fact_sheet(self, sheet: FactSheet, words: str = "", score: float = 1.0) -> tuple[Evidence, ...]:
        """The inventory's own sentence about a fact sheet, or `words` of it; none if its document is not there."""
        return _told(self.corpus, _FACT_SHEET + sheet.id, words, score)


def read_model_source(generation: Generation) -> ModelSource:
    """The model in a collection. Raises UsageError if it holds none, or more than one."""
    value = _only_artefact(generation, "enterprise_model", "an enterprise model", "model")
    return ModelSource(EnterpriseModel.from_json(value), read_corpus([generation]))


def read_inventory(generations: Sequence[Generation]) -> InventorySource:
    """The inventory in the first of some collections, told by the documents of all of them.

    An inventory that was split by type is whole in each of its collections; only its documents are spread. Raises
    UsageError as `read_model_source` does.
    """
    value = _only_artefact(generations[0], "inventory", "an inventory", "inventory")
    return InventorySource(Inventory.from_json(value), read_corpus(generations))


def _only_artefact(generation: Generation, name: str, what: str, job: str) -> Mapping[str, object]:
    found = list(generation.artefacts(name).values())
    if len(found) != 1:
        holds = "holds none" if not found else f"holds {len(found)} of them"
        raise UsageError(
            f"'{generation.collection}' was to hold {what}, and {holds}.",
            hint=f"Ingest the file first, for instance: elt-llm ingest --job {job}",
        )
    value: Mapping[str, object] = found[0]
    return value


def _told(corpus: Corpus, part: str, words: str, score: float) -> tuple[Evidence, ...]:
    document = corpus.parts.get(part)
    if document is None or not document.text.strip():
        return ()
    start = document.text.find(words) if words else -1
    if start >= 0 and words:
        return (document.evidence(start, start + len(words), score),)
    first = document.pieces[0]
    return (document.evidence(first.start, first.end, score),)
