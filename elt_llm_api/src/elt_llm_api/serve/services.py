"""What every route, the user interface and agents are given: opened once, closed once."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import CorruptIndex
from elt_llm_core.models.embeddings import create_embedding
from elt_llm_core.models.llms import finds_model
from elt_llm_core.settings import Profile
from elt_llm_core.settings_loader import LoadedSettings
from elt_llm_core.state.database import open_state
from elt_llm_core.state.feedback import Feedback
from elt_llm_core.state.job_queue import JobQueue
from elt_llm_core.state.key_book import KeyBook
from elt_llm_core.state.keys import Keys
from elt_llm_core.state.sessions import SessionRecord, Sessions
from elt_llm_core.store.database import STORE_NAME, Database
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.store import Store, open_store
from elt_llm_query.engine import Engine, open_engine

from elt_llm_api.serve.access.principal import Forbidden, Principal, collections_for
from elt_llm_api.serve.engines import Engines, Wanted
from elt_llm_api.serve.model_watch import SECONDS_BETWEEN_LOOKS, ModelWatch
from elt_llm_api.serve.monitoring.opening import open_recorder
from elt_llm_api.serve.monitoring.recorder import Recorder
from elt_llm_api.serve.recent import RecentAnswers
from elt_llm_api.serve.reload import InForce, Reloader
from elt_llm_api.serve.soundness import Soundness
from elt_llm_api.serve.workers import Workers

if TYPE_CHECKING:
    from elt_llm_core.models.embedding_model import EmbeddingModel


@dataclass(frozen=True)
class Services(Closeable):
    """The store, the engines, the threads and the state of one server."""

    reloader: Reloader
    store: Store
    engines: Engines
    workers: Workers
    sessions: Sessions
    queue: JobQueue
    keys: Keys
    state: Database
    embedding: "EmbeddingModel"
    feedback: Feedback
    recent: RecentAnswers
    recorder: Recorder
    key_book: KeyBook
    soundness: Soundness
    resources: ExitStack
    placing: Lock = field(default_factory=Lock)
    """Held while it is looked whether uploads have room, and they take it."""

    @property
    def in_force(self) -> InForce:
        """Settings, profiles, aliases and prompts as they are now; files that change are read again."""
        return self.reloader.in_force

    @property
    def loaded(self) -> LoadedSettings:
        """The settings as they are now, and where they come from."""
        return self.in_force.loaded

    def profile(self, name: str) -> Profile:
        """A profile as it is now. Raises UsageError if there is none."""
        return self.in_force.profile(name)

    def collections(self, principal: Principal, named: Sequence[str], prefixes: Sequence[str] = ()) -> list[str]:
        """The collections of a request that this caller may read. Raises Forbidden."""
        return collections_for(principal, named, prefixes, self.known())

    def known(self) -> list[str]:
        """Every collection there is, by name."""
        return [record.name for record in self.store.collections.all()]

    def session(self, principal: Principal, session_id: str) -> SessionRecord:
        """A conversation of this caller, all of whose collections it still may read. Raises Forbidden.

        What belongs to somebody else is refused as what does not exist is.
        """
        record = self.sessions.find(session_id)
        if record is None or record.owner != principal.name or not all(map(principal.may_read, record.collections)):
            raise Forbidden(f"There is no conversation '{session_id}', or this key may not read it.")
        return record

    def close(self) -> None:
        """Let go of everything, questions that are being answered first."""
        self.resources.close()


def _opened_store(data_dir: Path) -> Store:
    """The store; one that is not there yet is made, so that the first document can come over HTTP, too."""
    if not (data_dir / STORE_NAME).exists():
        with writer_lock(data_dir, "elt-llm serve"):
            open_store(data_dir, for_writing=True).close()
    return open_store(data_dir)


def _model_watch(reloader: Reloader, seconds: float) -> ModelWatch:
    """Whether `auto` finds a model with a profile, as the settings are now; other providers are not looked for."""

    def finds_one(profile: str) -> bool:
        settings = reloader.in_force.settings_for(profile)
        return settings.llm.provider == "auto" and finds_model(settings)

    return ModelWatch(finds_one, seconds)


def open_services(
    loaded: LoadedSettings, embedding: "EmbeddingModel | None" = None, *, look_again: float = SECONDS_BETWEEN_LOOKS
) -> Services:
    """Open what the settings say. Raises StoreError, ModelError, SettingsError.

    `look_again`: after how many seconds `auto` is asked once more whether a model is there.
    """
    serve = loaded.settings.serve
    with ExitStack() as opened:
        store = opened.enter_context(_opened_store(loaded.data_dir))
        state = open_state(loaded.data_dir)
        opened.callback(state.close)
        key_book = opened.enter_context(KeyBook(loaded.data_dir))
        recorder = opened.enter_context(open_recorder(loaded, state))
        reloader = opened.enter_context(Reloader(loaded))
        model = embedding or create_embedding(loaded.settings)
        models = _model_watch(reloader, look_again)

        def open_one(wanted: Wanted) -> Engine:
            now, (names, profile) = reloader.in_force, wanted
            settings, aliases, prompts = now.settings_for(profile), now.aliases, now.prompts
            try:
                return open_engine(settings, loaded.data_dir, names, embedding=model, aliases=aliases, prompts=prompts)
            except CorruptIndex as error:  # told to every caller: without where this machine keeps its data
                raise CorruptIndex(str(error).replace(f"{loaded.data_dir}/", ""), hint=error.hint) from error

        def published(wanted: Wanted) -> tuple[tuple[str, int], ...]:
            generations = ((name, store.collections.get(name).published or 0) for name in wanted[0])
            written_by_model = int(models.is_there(wanted[1]))
            return (*generations, ("settings", reloader.in_force.version), ("model", written_by_model))

        engines = opened.enter_context(Engines(open_one, published))
        workers = opened.enter_context(Workers(serve.workers, serve.queue))
        kept = Sessions(state), JobQueue(state), Keys(state), state, model, Feedback(state), RecentAnswers()
        soundness = Soundness(store)
        return Services(reloader, store, engines, workers, *kept, recorder, key_book, soundness, opened.pop_all())
