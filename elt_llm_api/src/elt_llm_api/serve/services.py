"""What every route, the user interface and agents are given: opened once, closed once."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elt_llm_core.closeable import Closeable
from elt_llm_core.models.embeddings import create_embedding
from elt_llm_core.settings_loader import LoadedSettings, load_profile
from elt_llm_core.state.database import open_state
from elt_llm_core.state.feedback import Feedback
from elt_llm_core.state.job_queue import JobQueue
from elt_llm_core.state.keys import Keys
from elt_llm_core.state.sessions import SessionRecord, Sessions
from elt_llm_core.store.database import Database
from elt_llm_core.store.store import Store, open_store
from elt_llm_query.engine import Engine, open_engine
from elt_llm_query.synthesis.prompts import load_prompts
from elt_llm_query.understanding.aliases import load_aliases

from elt_llm_api.serve.access.principal import Forbidden, Principal, collections_for
from elt_llm_api.serve.engines import Engines, Wanted
from elt_llm_api.serve.monitoring.opening import open_recorder
from elt_llm_api.serve.monitoring.recorder import Recorder
from elt_llm_api.serve.recent import RecentAnswers
from elt_llm_api.serve.workers import Workers

if TYPE_CHECKING:
    from elt_llm_core.models.embedding_model import EmbeddingModel


@dataclass(frozen=True)
class Services(Closeable):
    """The store, the engines, the threads and the state of one server."""

    loaded: LoadedSettings
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
    resources: ExitStack

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


def open_services(loaded: LoadedSettings, embedding: "EmbeddingModel | None" = None) -> Services:
    """Open what the settings say. Raises StoreError, ModelError, SettingsError."""
    serve = loaded.settings.serve
    with ExitStack() as opened:
        store = opened.enter_context(open_store(loaded.data_dir))
        state = open_state(loaded.data_dir)
        opened.callback(state.close)
        recorder = opened.enter_context(open_recorder(loaded, state))
        model = embedding or create_embedding(loaded.settings)

        def open_one(wanted: Wanted) -> Engine:
            names, profile = wanted
            settings = load_profile(profile, loaded).apply_to(loaded.settings)
            return open_engine(
                settings,
                loaded.data_dir,
                names,
                embedding=model,
                aliases=load_aliases(loaded),
                prompts=load_prompts(loaded.config_dir, loaded.project),
            )

        def published(names: Sequence[str]) -> tuple[tuple[str, int], ...]:
            return tuple((name, store.collections.get(name).published or 0) for name in names)

        engines = opened.enter_context(Engines(open_one, published))
        workers = opened.enter_context(Workers(serve.workers, serve.queue))
        sessions, queue, keys = Sessions(state), JobQueue(state), Keys(state)
        given = Feedback(state), RecentAnswers(), recorder
        return Services(loaded, store, engines, workers, sessions, queue, keys, state, model, *given, opened.pop_all())
