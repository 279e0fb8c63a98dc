"""Open everything that a job reads: texts, model, inventory, aliases, search engines and models."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from elt_llm_core.collection.generation import Generation
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.errors import SettingsError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.factory import create_embedding
from elt_llm_core.settings.loader import LoadedSettings, read_model
from elt_llm_core.settings.profiles import load_profile
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.store import Store, open_store
from elt_llm_core.utilities import Closeable
from elt_llm_query.engine import Engine, open_engine
from elt_llm_query.synthesis.prompts import Prompts, load_prompts
from elt_llm_query.understanding.aliases import Aliases, AliasFile, aliases_from, load_aliases

from elt_llm_consumer.jobs.corpus import (
    Corpus,
    InventorySource,
    ModelSource,
    read_corpus,
    read_inventory,
    read_model_source,
)
from elt_llm_consumer.jobs.job_file import JobFile

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
    """The language model that writes and cleans up text; None if the job uses only rules and quotes."""
    generations: tuple[str, ...] = ()
    """The identity of every generation, in the order of the sources."""
    engines: Mapping[str, Engine] = field(default_factory=dict)
    """The search engines of the other profiles that fields name, by profile."""


class OpenJob(Closeable):
    """A job's context with its open resources."""

    def __init__(self, context: JobContext, resources: ExitStack) -> None:
        self.context = context
        self._resources = resources

    def close(self) -> None:
        """Close the engine and release the generations."""
        self._resources.close()


def open_job(
    file: JobFile, loaded: LoadedSettings, *, embedding: EmbeddingModel | None = None, llm: "LLM | None" = None
) -> OpenJob:
    """Open all inputs of a job; `embedding` and `llm` default to the models of the settings.

    Raises UsageError, UnknownCollection, SettingsError, FingerprintMismatch, CorruptIndex, ModelError.
    """
    sources = file.spec.sources
    settings = job_settings(file, loaded)
    with ExitStack() as opened:
        store = opened.enter_context(open_store(loaded.data_dir))
        structured = _StructuredSources(store, opened)
        model = structured.model(sources.model)
        of_model = (sources.model,) if sources.model and model and model.of_inventory else ()
        inventory = structured.inventory(sources.inventory or of_model)
        embedding = embedding or create_embedding(settings)
        aliases = _load_aliases(file, loaded)
        opens = partial(open_engine, embedding=embedding, llm=llm, aliases=aliases, prompts=_load_prompts(file, loaded))
        handbook = sources.handbook
        engine = opened.enter_context(opens(settings, loaded.data_dir, handbook)) if handbook else None
        generations = engine.generations if engine else ()
        context = JobContext(
            file,
            settings,
            read_corpus(generations),
            model,
            inventory,
            aliases,
            embedding,
            engine,
            engine.llm if engine else None,
            (*(one.identity for one in generations), *structured.identities),
            _open_field_engines(file, loaded, engine, embedding, aliases, opened) if engine else {},
        )
        return OpenJob(context, opened.pop_all())


def _open_field_engines(
    file: JobFile,
    loaded: LoadedSettings,
    engine: Engine,
    embedding: EmbeddingModel,
    aliases: Aliases,
    opened: ExitStack,
) -> dict[str, Engine]:
    """Open an engine for each other profile that a field names, over the same generations."""
    fields = file.spec.catalog.all_fields().values()
    profiles = sorted({one.profile for one in fields if one.profile} - {file.spec.running.profile})
    return {
        profile: opened.enter_context(
            Engine(
                engine.generations,
                embedding,
                load_profile(profile, loaded).apply_to(loaded.settings),
                llm=engine.llm,
                aliases=aliases,
                prompts=_load_prompts(file, loaded),
            )
        )
        for profile in profiles
    }


class _StructuredSources:
    """Opens the collections of the model and the inventory, and records their generations."""

    def __init__(self, store: Store, opened: ExitStack) -> None:
        self._store, self._opened = store, opened
        self.identities: list[str] = []

    def model(self, name: str | None) -> ModelSource | None:
        return read_model_source(self._open(name)) if name else None

    def inventory(self, names: tuple[str, ...]) -> InventorySource | None:
        return read_inventory([self._open(name) for name in names]) if names else None

    def _open(self, name: str) -> Generation:
        generation = self._opened.enter_context(open_generation(self._store, name))
        self.identities.append(generation.identity)
        return generation


def job_settings(file: JobFile, loaded: LoadedSettings) -> Settings:
    """Return the settings of the job's profile, without a language model if the job uses none."""
    running = file.spec.running
    settings = load_profile(running.profile, loaded).apply_to(loaded.settings)
    if running.use_model == "auto":
        return settings
    return settings.model_copy(update={"llm": settings.llm.model_copy(update={"provider": "extractive"})})


def _load_prompts(file: JobFile, loaded: LoadedSettings) -> Prompts | None:
    """Return the project's prompts if the model may choose searches. No other part of a job uses them."""
    return load_prompts(loaded.config_dir, loaded.project) if file.spec.catalog.search_again else None


def _load_aliases(file: JobFile, loaded: LoadedSettings) -> Aliases:
    known = load_aliases(loaded)
    given = file.spec.sources.aliases
    if given is None:
        return known
    path = file.folder / Path(given)
    if not path.is_file():
        raise SettingsError(f"sources.aliases: {path} is not a file", hint="Correct or remove the path.")
    return Aliases((*known.groups, *aliases_from(read_model(path, AliasFile, loaded.project).aliases).groups))
