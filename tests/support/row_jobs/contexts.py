"""Build contexts of jobs from texts in memory, without a store, files or models."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.corpus import Corpus, CorpusDocument, InventorySource, ModelSource
from elt_llm_consumer.jobs.job_file import ConsumerJob, JobFile
from elt_llm_core.enterprise import EnterpriseModel, Entity, FactSheet, Inventory, Relationship, RelationshipEnd
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import Settings
from elt_llm_core.text.outline import Outline, Section
from elt_llm_query.understanding.aliases import aliases_from

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

_HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)


def document_of(source: str, text: str, collection: str = "rules") -> CorpusDocument:
    """Build a document; Markdown headings start sections and form feeds start pages."""
    sections = [Section(it.start(), len(it[1]), it[2].strip()) for it in _HEADING.finditer(text)]
    pages = [0, *(it.end() for it in re.finditer("\f", text))] if "\f" in text else []
    digest = hashlib.sha256(text.encode()).hexdigest()
    return CorpusDocument(collection, digest[:32], source, source, digest, text, Outline(pages, sections))


def corpus_of(texts: Mapping[str, str], collection: str = "rules") -> Corpus:
    """Return a corpus of documents by their names."""
    return Corpus([document_of(source, text, collection) for source, text in texts.items()])


def model_of(
    domains: Mapping[str, Sequence[str]], relationships: Sequence[tuple[str, str, str]] = (), kind: str = "DataObject"
) -> ModelSource:
    """Return a model with entities by domain and relationships (source, verb, target), each with a document."""
    entities = tuple(
        Entity(id=f"id-{name}", name=name, type=kind, domain=domain)
        for domain, names in domains.items()
        for name in names
    )
    related = tuple(
        Relationship(
            id=f"relation-{number}",
            source=RelationshipEnd(entity_id=f"id-{source}", name=source, cardinality="1"),
            target=RelationshipEnd(entity_id=f"id-{target}", name=target, cardinality="1..*"),
            name=verb,
        )
        for number, (source, verb, target) in enumerate(relationships)
    )
    told = {f"model.xml#entity/{one.id}": f"{one.name} is a fact sheet of type {one.type}." for one in entities}
    told |= {f"model.xml#relationship/{one.id}": one.sentence for one in related}
    return ModelSource(EnterpriseModel(entities=entities, relationships=related), corpus_of(told, "model"))


def inventory_of(sheets: Sequence[FactSheet]) -> InventorySource:
    """Return an inventory of these fact sheets, each with a document."""
    told = {f"inventory.xlsx#fact-sheet/{one.id}": f"{one.name}.\n\n{one.description}" for one in sheets}
    return InventorySource(Inventory(fact_sheets=tuple(sheets)), corpus_of(told, "inventory"))


def context_of(
    texts: Mapping[str, str],
    *,
    model: ModelSource | None = None,
    inventory: InventorySource | None = None,
    aliases: Mapping[str, Sequence[str]] | None = None,
    llm: "LLM | None" = None,
    **sections: object,
) -> JobContext:
    """Return the context of a job over these texts; `sections` are those of a job file, such as `coverage={...}`."""
    spec = ConsumerJob.model_validate(sections)
    return JobContext(
        file=JobFile("trial", Path("trial.yaml"), Path(), spec),
        settings=Settings(),
        corpus=corpus_of(texts),
        model=model,
        inventory=inventory,
        aliases=aliases_from(aliases or {}),
        embedding=FakeEmbedding(),
        llm=llm,
    )
