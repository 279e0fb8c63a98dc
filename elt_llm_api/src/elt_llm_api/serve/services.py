"""Open the services that routes, user interface and MCP tools share, and apply changes of the settings files."""

import gc
import logging
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event, Lock, Thread

from elt_llm_core.errors import CorruptIndex, EltError
from elt_llm_core.index.qdrant import PointDatabases, point_databases
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.factory import create_embedding, is_model_available
from elt_llm_core.settings.loader import SETTINGS_FILE, LoadedSettings, load_settings
from elt_llm_core.settings.profiles import load_profile, profile_names
from elt_llm_core.settings.tree import Profile, Settings
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobQueue
from elt_llm_core.state.keys import KeyCache
from elt_llm_core.state.sessions import FeedbackTable, RatedAnswer, SessionRecord, SessionTable
from elt_llm_core.store.database import Database
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.records import CollectionRecord
from elt_llm_core.store.store import Store, has_store, open_store
from elt_llm_core.utilities import Closeable
from elt_llm_query.engine import Engine, open_engine
from elt_llm_query.retrieve.cache import LruCache
from elt_llm_query.synthesis.prompts import Prompts, load_prompts
from elt_llm_query.understanding.aliases import ALIASES_FILE, Aliases, load_aliases
from pydantic import BaseModel, ConfigDict

from elt_llm_api.serve.access.principal import Forbidden, Principal, ReadableCollection
from elt_llm_api.serve.engines import (
    MODEL_CHECK_SECONDS,
    CollectionHealthCache,
    EngineKey,
    EnginePool,
    FileState,
    ModelAvailability,
    file_state,
)
from elt_llm_api.serve.monitoring.recorder import QuestionRecorder, open_recorder
from elt_llm_api.serve.workers import Workers

RecentAnswers = LruCache[tuple[str, str], RatedAnswer]
"""The latest answers, without their text, by caller and request id, so that callers can rate them."""
_MOST_ANSWERS = 1000
RELOAD_SECONDS = 2.0  # seconds between two checks of the settings files
STARTUP_ONLY = ("storage", "chroma", "index", "embedding", "serve")
"""Sections of the settings that take effect only at the next start, because open resources depend on them."""
_PROFILE_NAME = re.compile(r"[\w-]{1,200}")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ActiveSettings:
    """The content of all settings files, validated. `version` grows with each applied change."""

    loaded: LoadedSettings
    profiles: Mapping[str, Profile]
    aliases: Aliases
    prompts: Prompts
    version: int = 1

    def profile(self, name: str) -> Profile:
        """Return a profile by its name. Raises UsageError if it does not exist."""
        return self.profiles[name] if name in self.profiles else load_profile(name, self.loaded)

    def settings_for(self, profile: str) -> Settings:
        """Return the settings with the values of a profile. Raises UsageError if the profile does not exist."""
        return self.profile(profile).apply_to(self.loaded.settings)

    def open_engine(
        self,
        profile: Profile,
        collections: Sequence[ReadableCollection],
        embedding: EmbeddingModel,
        databases: PointDatabases,
    ) -> Engine:
        """Open an engine over these collections with the settings of a profile. Raises the errors of `open_engine`."""
        return open_engine(
            profile.apply_to(self.loaded.settings),
            self.loaded.workspace,
            [one.name for one in collections],
            conditions={one.name: one.conditions for one in collections},
            embedding=embedding,
            databases=databases,
            aliases=self.aliases,
            prompts=self.prompts,
        )


class SettingsReloader(Closeable):
    """Checks the settings files every `seconds` in a thread, and applies valid changes.

    The constructor raises SettingsError if the files are invalid.
    """

    def __init__(self, loaded: LoadedSettings, seconds: float = RELOAD_SECONDS) -> None:
        self._seconds, self._checking = seconds, Lock()
        self._state = _settings_state(loaded)
        self._active = _read_settings(loaded, 1)
        self._at_start = _reload(loaded).settings  # settings in the files, without command-line options
        self._error = ""
        self._pending: tuple[str, ...] = ()
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="settings", daemon=True)
        self._thread.start()

    @property
    def active(self) -> ActiveSettings:
        """The settings that apply now."""
        return self._active

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for invalid changes of the settings files, and one for changes that wait for the next start."""
        error = (f"The changed settings files are invalid, so the earlier settings stay active: {self._error}",)
        pending = (f"These changed settings become active after the next start: {', '.join(self._pending)}.",)
        return (*(error if self._error else ()), *(pending if self._pending else ()))

    def check_now(self) -> None:
        """Check the settings files now. Valid changes are active when the method returns."""
        with self._checking:
            state = _settings_state(self._active.loaded)
            if state == self._state:
                return
            self._state = state
            try:
                self._apply_changes()
            except (EltError, OSError) as error:
                self._error = str(error)
                _log.warning("The settings files have changed, but are invalid: %s", error)

    def close(self) -> None:
        """Stop checking the settings files for changes."""
        self._stopped.set()
        self._thread.join()

    def _apply_changes(self) -> None:
        old, new = self._active, _reload(self._active.loaded)
        kept = {name: getattr(old.loaded.settings, name) for name in STARTUP_ONLY}
        loaded = replace(new, settings=new.settings.model_copy(update=kept), data_dir=old.loaded.data_dir)
        self._active = _read_settings(loaded, old.version + 1)
        self._error = ""
        self._pending = tuple(
            f"{name}.{key}"
            for name in STARTUP_ONLY
            for before, after in [(getattr(self._at_start, name), getattr(new.settings, name))]
            for key in type(after).model_fields
            if getattr(before, key) != getattr(after, key)
        )
        _log.warning("The settings files have changed, and the new settings are active.")

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            self.check_now()


def _reload(loaded: LoadedSettings) -> LoadedSettings:
    return load_settings(loaded.source, loaded.environment, loaded.working_directory)


def _read_settings(loaded: LoadedSettings, version: int) -> ActiveSettings:
    """Read profiles, aliases and prompts. Raises SettingsError for the first invalid file."""
    # Files with other names, such as backup copies of an editor, are ignored.
    names = [name for name in profile_names(loaded) if _PROFILE_NAME.fullmatch(name)]
    profiles = {name: load_profile(name, loaded) for name in names}
    prompts = load_prompts(loaded.config_dir, loaded.project)
    return ActiveSettings(loaded, profiles, load_aliases(loaded), prompts, version)


def _settings_state(loaded: LoadedSettings) -> FileState:
    folder = loaded.config_dir
    files = [folder / SETTINGS_FILE.name, folder / ALIASES_FILE]
    return file_state([*files, *sorted([*folder.glob("profiles/*.yaml"), *folder.glob("prompts/*.y*ml")])])


@dataclass(frozen=True)
class Services(Closeable):
    """The store, the engines, the threads and the state of one server."""

    reloader: SettingsReloader
    store: Store
    engines: EnginePool
    workers: Workers
    sessions: SessionTable
    queue: JobQueue
    state: Database
    embedding: EmbeddingModel
    databases: PointDatabases
    """The vector database connections of all engines, shared because only one can have a Qdrant folder open."""
    feedback: FeedbackTable
    recent_answers: RecentAnswers
    recorder: QuestionRecorder
    key_cache: KeyCache
    health: CollectionHealthCache
    writers: ModelAvailability
    """Whether a language model is available to write the answers of a profile."""
    resources: ExitStack
    upload_lock: Lock = field(default_factory=Lock)
    """A lock that is held while the upload quota is checked and files are stored."""

    @property
    def active(self) -> ActiveSettings:
        """The current settings, profiles, aliases and prompts. Changed files are read again."""
        return self.reloader.active

    @property
    def loaded(self) -> LoadedSettings:
        """The current settings, and the files they were read from."""
        return self.active.loaded

    def collections(
        self, principal: Principal, names: Sequence[str], prefixes: Sequence[str] = ()
    ) -> list[ReadableCollection]:
        """Return the collections in `names`, then further ones whose names start with one of the prefixes.

        A prefix matches only collections that the caller may read. Raises Forbidden for a name that does not exist or
        that the caller may not read. The message is the same, so that nobody learns which names exist. Also raises
        Forbidden if the conditions of the caller's groups on a collection cannot be joined into one list.
        """
        existing = self.collection_names()
        readable = principal.readable(existing)
        for name in names:
            if name not in existing or not principal.may_read(name):
                raise Forbidden(f"There is no collection '{name}', or this key may not read it.")
        named = dict.fromkeys([*names, *(one for prefix in prefixes for one in readable if one.startswith(prefix))])
        return [ReadableCollection(name, principal.conditions_of(name)) for name in named]

    def collection_names(self) -> list[str]:
        """Return the name of every collection, sorted."""
        return [record.name for record in self.store.collections.all()]

    def readable_names(self, principal: Principal) -> list[str]:
        """Return the name of every collection that the caller may read, sorted."""
        return principal.readable(self.collection_names())

    def record(self, principal: Principal, name: str) -> CollectionRecord:
        """Return the stored record of a collection. Raises Forbidden unless the caller may read the collection."""
        self.collections(principal, [name])
        return self.store.collections.get(name)

    def session(self, principal: Principal, session_id: str) -> SessionRecord:
        """Return the caller's conversation with this id, if the caller may still read all its collections.

        Otherwise raises Forbidden, with the same message for a missing conversation as for one of another caller.
        """
        record = self.sessions.find(session_id)
        if record is None or record.owner != principal.owner or not all(map(principal.may_read, record.collections)):
            raise Forbidden(f"There is no conversation '{session_id}', or this key may not read it.")
        return record

    def close(self) -> None:
        """Finish the running questions, then close all resources."""
        self.resources.close()


class RequestModel(BaseModel):
    """Base of request bodies. They are immutable, and an unknown field, such as a misspelt one, is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ServiceActions:
    """Base of the action classes. Their methods act for a caller of a route, the user interface or an MCP tool."""

    def __init__(self, services: Services) -> None:
        self._services = services


def open_services(loaded: LoadedSettings, *, model_check_seconds: float = MODEL_CHECK_SECONDS) -> Services:
    """Open store, state, models and threads as the settings describe. Raises StoreError, ModelError, SettingsError.

    `model_check_seconds` is how long provider `auto` relies on its last check of whether a model responds.
    """
    serve = loaded.settings.serve
    with ExitStack() as opened:
        store = opened.enter_context(_open_or_create_store(loaded.workspace))
        state = open_state(loaded.workspace)
        opened.callback(state.close)
        key_cache = opened.enter_context(KeyCache(loaded.workspace))
        recorder = opened.enter_context(open_recorder(loaded, state))
        reloader = opened.enter_context(SettingsReloader(loaded))
        embedding = create_embedding(loaded.settings)
        writers = ModelAvailability(partial(_has_model, reloader), model_check_seconds)
        databases = opened.enter_context(point_databases(store, loaded.settings.index))
        engines = opened.enter_context(_create_pool(reloader, store, embedding, writers, databases))
        return Services(
            reloader=reloader,
            store=store,
            engines=engines,
            workers=opened.enter_context(Workers(serve.workers, serve.queue)),
            sessions=SessionTable(state),
            queue=JobQueue(state),
            state=state,
            embedding=embedding,
            databases=databases,
            feedback=FeedbackTable(state),
            recent_answers=RecentAnswers(_MOST_ANSWERS),
            recorder=recorder,
            key_cache=key_cache,
            health=CollectionHealthCache(store),
            writers=writers,
            resources=opened.pop_all(),
        )


def _open_or_create_store(workspace: Workspace) -> Store:
    """Open the store. Create it if it is missing, so that the first document can be uploaded over HTTP."""
    if not has_store(workspace):
        with writer_lock(workspace, "elt-llm serve"):
            open_store(workspace, for_writing=True).close()
    return open_store(workspace)


def _has_model(reloader: SettingsReloader, profile: str) -> bool:
    """Return whether a language model is configured for a profile and, with provider `auto`, whether it responds."""
    settings = reloader.active.settings_for(profile)
    provider = settings.llm.provider
    return is_model_available(settings) if provider == "auto" else provider != "extractive"


def _create_pool(
    reloader: SettingsReloader,
    store: Store,
    embedding: EmbeddingModel,
    writers: ModelAvailability,
    databases: PointDatabases,
) -> EnginePool:
    data_dir = reloader.active.loaded.workspace.folder

    def open_one(key: EngineKey) -> Engine:
        (collections, profile), active = key, reloader.active
        try:
            return active.open_engine(active.profile(profile), collections, embedding, databases)
        except CorruptIndex as error:  # every caller sees the message, which must not reveal the data directory
            raise CorruptIndex(str(error).replace(f"{data_dir}/", ""), hint=error.hint) from error

    def versions(key: EngineKey) -> tuple[tuple[str, int], ...]:
        collections, profile = key
        generations = ((one.name, store.collections.get(one.name).published or 0) for one in collections)
        return (*generations, ("settings", reloader.active.version), ("model", int(writers.is_available(profile))))

    return EnginePool(open_one, versions)


def freeze_garbage_collector() -> None:
    """Exclude all current objects from garbage collection. Call it when all libraries are loaded.

    The libraries have some 230,000 objects. Under load, a full collection would stop every thread for 150 to 250 ms
    every few seconds. Objects are still freed by their reference count; only cycles among the current objects remain.
    """
    gc.collect()
    gc.freeze()
