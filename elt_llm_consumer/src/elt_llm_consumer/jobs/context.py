"""Open all inputs of a job: texts, enterprise model, inventory, aliases, search engines and AI models."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.index.searchable import Searchable
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.factory import create_embedding
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.settings.profiles import load_profile
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.store import open_store
from elt_llm_query.engine import Engine, open_engine
from elt_llm_query.synthesis.prompts import load_prompts
from elt_llm_query.understanding.aliases import Aliases, AliasFile, aliases_from, load_aliases

from elt_llm_consumer.evidence import JobResult, Table
from elt_llm_consumer.jobs.corpus import (
    Corpus,
    InventorySource,
    ModelSource,
    read_corpus,
    read_inventory,
    read_model_source,
)
from elt_llm_consumer.jobs.job_file import JobFile, read_source_file

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


@dataclass(frozen=True)
class JobContext:
    """All inputs of a job. The inputs do not change during a run."""

    file: JobFile
    settings: Settings
    corpus: Corpus
    model: ModelSource | None
    inventory: InventorySource | None
    aliases: Aliases
    embedding: EmbeddingModel
    engine: Engine | None = None
    """The search engine over the generations of the corpus; None if the job reads no texts."""
    llm: "LLM | None" = None
    """The language model that writes or cleans up text; None if the job uses only rules and quotes."""
    generations: tuple[str, ...] = ()
    """The identity of every generation (build of a collection) that the job reads, in the order of its sources."""
    engines: Mapping[str, Engine] = field(default_factory=dict)
    """The search engines for catalog fields that name another profile than the job does, by profile name."""

    def result(
        self, kind: str, tables: Sequence[Table], figures: Mapping[str, int | float | str], notes: Sequence[str] = ()
    ) -> JobResult:
        """Return a result with the given tables, and with the job's name and description."""
        spec, name = self.file.spec, self.file.name
        return JobResult(
            job=name, kind=kind, description=spec.description, tables=tuple(tables), figures=figures, notes=tuple(notes)
        )


@contextmanager
def open_job(
    file: JobFile, loaded: LoadedSettings, *, embedding: EmbeddingModel | None = None, llm: "LLM | None" = None
) -> Iterator[JobContext]:
    """Open all inputs of a job for a `with` block. `embedding` and `llm` default to the configured models.

    Raises UsageError, UnknownCollection or SettingsError if the job file is wrong, FingerprintMismatch if a collection
    was built with another embedding model, CorruptIndex if its index is damaged, and ModelError if a model is missing.
    """
    sources, settings = file.spec.sources, _job_settings(file, loaded)
    with ExitStack() as opened:
        store = opened.enter_context(open_store(loaded.workspace))
        structured: list[Searchable] = []

        def open_collection(name: str) -> Searchable:
            structured.append(opened.enter_context(open_generation(store, name)))
            return structured[-1]

        model = read_model_source(open_collection(sources.model)) if sources.model else None
        inventories = sources.inventory or ((sources.model,) if sources.model and model and model.of_inventory else ())
        inventory = read_inventory([open_collection(name) for name in inventories]) if inventories else None
        embedding = embedding or create_embedding(settings)
        own = read_source_file(file, "aliases", AliasFile, loaded)
        aliases = Aliases((*load_aliases(loaded).groups, *(aliases_from(own.aliases).groups if own else ())))
        # Only further searches need the prompts of the project.
        prompts = load_prompts(loaded.config_dir, loaded.project) if file.spec.catalog.search_again else None
        engine: Engine | None = None
        engines: dict[str, Engine] = {}
        if sources.handbook:
            opens = partial(open_engine, embedding=embedding, aliases=aliases, prompts=prompts)
            engine = opened.enter_context(opens(settings, loaded.workspace, sources.handbook, llm=llm))
            make = partial(Engine, engine.generations, embedding, llm=engine.llm, aliases=aliases, prompts=prompts)
            for profile, own_settings in _field_settings(file, loaded).items():
                engines[profile] = opened.enter_context(make(own_settings))
        generations = engine.generations if engine else ()
        yield JobContext(
            *(file, settings, read_corpus(generations), model, inventory, aliases, embedding, engine),
            llm=engine.llm if engine else None,
            generations=tuple(one.identity for one in (*generations, *structured)),
            engines=engines,
        )


def _field_settings(file: JobFile, loaded: LoadedSettings) -> dict[str, Settings]:
    """Return the settings of each profile that a catalog field names, except the job's own, by profile."""
    named = {one.profile for one in file.spec.catalog.all_fields().values()} - {"", file.spec.running.profile}
    return {profile: load_profile(profile, loaded).apply_to(loaded.settings) for profile in sorted(named)}


def _job_settings(file: JobFile, loaded: LoadedSettings) -> Settings:
    """Return the settings of the job's profile, without a language model if the job uses none."""
    running = file.spec.running
    settings = load_profile(running.profile, loaded).apply_to(loaded.settings)
    if running.use_model == "auto":
        return settings
    return settings.model_copy(update={"llm": settings.llm.model_copy(update={"provider": "extractive"})})
