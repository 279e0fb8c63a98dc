"""What every job is given: the texts, the model, the inventory, other names, and a way to search."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from elt_llm_core.closeable import Closeable
from elt_llm_core.collection import open_generation
from elt_llm_core.errors import SettingsError
from elt_llm_core.generation import Generation
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.embeddings import create_embedding
from elt_llm_core.settings import Settings
from elt_llm_core.settings_loader import LoadedSettings, load_profile, read_model
from elt_llm_core.store.store import Store, open_store
from elt_llm_query.engine import Engine, open_engine
from elt_llm_query.understanding.aliases import Aliases, AliasFile, aliases_from, load_aliases

from elt_llm_consumer.corpus import Corpus, read_corpus
from elt_llm_consumer.job_file import JobFile
from elt_llm_consumer.structured import InventorySource, ModelSource, read_inventory, read_model_source

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


@dataclass(frozen=True)
class JobContext:
    """All that a job reads; nothing in it changes while the job runs."""

    file: JobFile
    settings: Settings
    corpus: Corpus
    model: ModelSource | None
    inventory: InventorySource | None
    aliases: Aliases
    embedding: EmbeddingModel
    engine: Engine | None = None
    """Searches the texts of the corpus, in the state the corpus has; None where the job reads no texts."""
    llm: "LLM | None" = None
    """Writes and cleans up; None where rules and quotes do all."""
    generations: tuple[str, ...] = ()
    """Identity of every generation read, in the order of the sources."""
    engines: Mapping[str, Engine] = field(default_factory=dict)
    """Those of other profiles that fields of the job name, by profile."""


class OpenedJob(Closeable):
    """A job's context with what has to be closed after it."""

    def __init__(self, context: JobContext, resources: ExitStack) -> None:
        self.context = context
        self._resources = resources

    def close(self) -> None:
        """Close the engine and let go of the generations."""
        self._resources.close()


def open_job(
    file: JobFile, loaded: LoadedSettings, *, embedding: EmbeddingModel | None = None, llm: "LLM | None" = None
) -> OpenedJob:
    """Open everything that a job reads; `embedding` and `llm` are made from the settings unless given.

    Raises UsageError, UnknownCollection, SettingsError, FingerprintMismatch, CorruptIndex, ModelError.
    """
    sources = file.spec.sources
    settings = settings_of(file, loaded)
    with ExitStack() as opened:
        store = opened.enter_context(open_store(loaded.data_dir))
        structured = _Structured(store, opened)
        model = structured.model(sources.model)
        inventory = structured.inventory(sources.inventory)
        embedding = embedding or create_embedding(settings)
        aliases = _aliases(file, loaded)
        engine = (
            opened.enter_context(
                open_engine(settings, loaded.data_dir, sources.handbook, embedding=embedding, llm=llm, aliases=aliases)
            )
            if sources.handbook
            else None
        )
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
            _engines_of_fields(file, loaded, engine, embedding, aliases, opened) if engine else {},
        )
        return OpenedJob(context, opened.pop_all())


def _engines_of_fields(
    file: JobFile,
    loaded: LoadedSettings,
    engine: Engine,
    embedding: EmbeddingModel,
    aliases: Aliases,
    opened: ExitStack,
) -> dict[str, Engine]:
    """One for each other profile that a field names, over the same generations: a field is searched for its own way."""
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
            )
        )
        for profile in profiles
    }


class _Structured:
    """Opens the collections of model and inventory, and remembers which generations they were."""

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


def settings_of(file: JobFile, loaded: LoadedSettings) -> Settings:
    """Those of the job's profile; without a language model where the job wants none."""
    running = file.spec.running
    settings = load_profile(running.profile, loaded).apply_to(loaded.settings)
    if running.use_model == "auto":
        return settings
    return settings.model_copy(update={"llm": settings.llm.model_copy(update={"provider": "extractive"})})


def _aliases(file: JobFile, loaded: LoadedSettings) -> Aliases:
    """Those of the configuration and those of the job; a job's group of a name that has one already is a second one."""
    known = load_aliases(loaded)
    given = file.spec.sources.aliases
    if given is None:
        return known
    path = file.folder / Path(given)
    if not path.is_file():
        raise SettingsError(f"sources.aliases: {path} is not a file", hint="Correct the path, or leave it out.")
    return Aliases((*known.groups, *aliases_from(read_model(path, AliasFile, loaded.project).aliases).groups))
