"""The engine: opens collections, models and indexes once, then searches and answers.

For several questions, open an engine: `with open_engine(settings, data_dir, ["handbook"]) as engine: engine.ask(...)`.
For a single question from Python, call `query_collection` or `query_collections`.
"""

import os
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property, partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Self

from elt_llm_core.collection.lifecycle import check_fingerprint, generation_opener
from elt_llm_core.errors import CorruptIndex, EltError, UsageError
from elt_llm_core.index.qdrant import PointDatabases
from elt_llm_core.index.restricted import restrict
from elt_llm_core.index.searchable import Searchable
from elt_llm_core.models.embedded import MODEL_NAME as ENGLISH_MODEL
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.factory import LlmChoice, choose_llm, create_embedding
from elt_llm_core.models.model_files import with_models_dir
from elt_llm_core.models.multilingual import MODEL_NAME as MULTILINGUAL_MODEL
from elt_llm_core.results import Citation, QueryResult, RetrievedChunk, Trace
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.settings.tree import IndexSettings, QuerySettings, Settings, StrategyName
from elt_llm_core.settings.workspace import Workspace, as_workspace
from elt_llm_core.store.conditions import DocumentConditions
from elt_llm_core.store.store import Store, open_store
from elt_llm_core.text.languages import languages
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_core.utilities import Closeable, check_texts, check_type, close_if_possible, install_command

from elt_llm_query.extractive.answerer import Answer, AnswerRequest, ExtractiveAnswerer, Turns
from elt_llm_query.extractive.confidence import NOT_CALIBRATED, Calibration, OutcomeThresholds, read_calibration
from elt_llm_query.grounding.citations import add_locations, cited_chunks
from elt_llm_query.grounding.sentences import collection_term_weights
from elt_llm_query.rerank.reranker import Reranker
from elt_llm_query.retrieve.cache import CachingEmbedding, DocumentTexts, QueryCaches
from elt_llm_query.retrieve.trace import StageLog, traced_budget
from elt_llm_query.search import SearchPipeline, SearchResult
from elt_llm_query.synthesis.events import (
    AnswerDelta,
    AnswerStarted,
    Listener,
    SourcesFound,
    ignore_events,
    replay_events,
)
from elt_llm_query.understanding.aliases import NO_ALIASES, Aliases, load_aliases
from elt_llm_query.understanding.question import shown_language
from elt_llm_query.understanding.routing import concerns_models, has_only_fact_sheets

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from elt_llm_query.synthesis.iterative import IterativeAnswerer
    from elt_llm_query.synthesis.prompts import Prompts


MakeReranker = Callable[[QuerySettings], Reranker]
"""A function that creates the reranker for the given search settings."""


def open_generations(
    store: Store,
    names: Sequence[str],
    models: Sequence[EmbeddingModel],
    opened: ExitStack,
    index: IndexSettings,
    databases: PointDatabases | None,
    conditions: Mapping[str, DocumentConditions],
) -> tuple[list[Searchable], list[str]]:
    """Open each named collection's published generation, and pin it: a pinned generation is not deleted.

    Returns the generations in the order of `names`, and notes on collections that were left out or are empty. Closing
    `opened` closes the generations, which share a pool of open vector indexes. `index` configures connections to a
    vector database; `databases` are connections that the caller closes. Only documents that fulfil their collection's
    `conditions` are visible.
    Raises UnknownCollection, StoreError, and FingerprintMismatch if none of `models` made a collection's vectors. If no
    collection could be opened, raises the first failure.
    """
    open_one = opened.enter_context(generation_opener(store, index, databases))
    generations: list[Searchable] = []
    failures: list[EltError] = []
    notes: list[str] = []
    for name in names:
        store.collections.get(name)
        try:
            generation = opened.enter_context(open_one(name, conditions=conditions.get(name, ())))
        except (CorruptIndex, UsageError) as failure:  # damaged, or nothing was ever published
            failures.append(failure)
            notes.append(f"Collection '{name}' was left out. {failure} {failure.hint or ''}".rstrip())
            continue
        if generation.passport.fingerprint not in [model.fingerprint for model in models]:
            check_fingerprint(generation.passport, models[0].fingerprint)
        generations.append(generation)
    if failures and not generations:
        raise failures[0]
    empty = [one.collection for one in generations if not one.size]
    notes += [f"Collection '{name}' has no chunks. Run: elt-llm ingest PATH -c {name}" for name in empty]
    return generations, notes


# Only a language model uses these settings. Without a language model, answers are quotes from the chunks.
_WRITING_KEYS = {
    "llm": "model temperature top_p answer_language",
    "query": "use_lost_in_middle system_prompt",
    "answer": "strategy by_collection strict max_reasoning_steps branches reflect_steps further_steps",
}


def settings_without_effect(settings: Settings, *, writes: bool) -> list[str]:
    """Return a note on the changed settings that have no effect: a list with one text, or an empty list.

    Settings for a language model have no effect unless `writes` is true, which means that a model writes the answers.
    """
    defaults = Settings()
    idle = [
        f"{section}.{key}"
        for section, keys in _WRITING_KEYS.items()
        for key in keys.split()
        if getattr(getattr(settings, section), key) != getattr(getattr(defaults, section), key)
    ]
    if writes or not idle:
        return []
    return [f"These settings have no effect while no language model is in use: {', '.join(idle)}."]


EXTRACTIVE = "extractive"
_STYLE_IGNORED = "The requested style has no effect while no language model is in use."
_OLDER_VERSION = "An older version of {} is quoted, because the newest version could not be read ({})."
_MODELS_LEFT_OUT = "Enterprise models and inventories were not searched: {}. To search them too, name them."


def _without(collections: Sequence[str]) -> tuple[str, ...]:
    """Return filter conditions, such as `collection!=handbook`, that exclude these collections."""
    return tuple(f"collection!={name}" for name in collections)


def _check_answer_options(
    history: Turns, style: str, listen: Listener, cancelled: Callable[[], bool] | None
) -> tuple[tuple[str, str], ...]:
    """Return the history as tuples. Raises UsageError for an option that is not of the documented type."""
    check_type("history", history, (list, tuple), "a list of pairs: question and answer")
    for place, turn in enumerate(history):
        check_type(f"history[{place}]", turn, (list, tuple), "a pair of question and answer")
        check_texts(f"history[{place}]", turn)
        if len(turn) != 2:
            raise UsageError(f"history[{place}] has {len(turn)} texts, not a question and its answer.")
    check_type("style", style, str, "a text")
    check_type("listen", listen, Callable, "a function of one event")
    check_type("cancelled", cancelled or bool, Callable, "a function such as threading.Event().is_set")
    return tuple((asked, answered) for asked, answered in history)


class Engine(Closeable):
    """Searches generations and answers questions from them. Many threads may share one engine.

    The generations are pinned, which prevents their deletion, until the engine is closed.
    """

    def __init__(  # noqa: PLR0913 - all but the first three have defaults
        self,
        generations: Sequence[Searchable],
        embedding: EmbeddingModel | Sequence[EmbeddingModel],
        settings: Settings,
        *,
        caches: QueryCaches[SearchResult] | None = None,
        llm: "LLM | None" = None,
        aliases: Aliases = NO_ALIASES,
        prompts: "Prompts | None" = None,
        notes: Sequence[str] = (),
        without_model: str = "",
        calibration: Calibration = NOT_CALIBRATED,
        make_reranker: MakeReranker | None = None,
    ) -> None:
        """Build the search pipeline and the answerers.

        `embedding` is one model, or one for each fingerprint among the generations; the first also embeds sentences
        that an answer may quote. `llm` writes the answers with `prompts`, by default the shipped prompts. Without
        `llm`, answers quote the documents. `calibration` contains the weights for computing the confidence, which
        decides whether to answer. `make_reranker` replaces the configured reranker.
        Every answer contains `notes` and, if not empty, `without_model`, a note on why no language model is in use.
        Only the first answer contains the calibration's notes.
        """
        models = self._embeddings = _as_models(embedding)
        self._resources, self._closed = ExitStack(), False
        self._notes = tuple(notes)
        self._calibration, self._first_notes = calibration, calibration.notes
        self.generations, self.llm = tuple(generations), llm
        """The searched generations, pinned until the engine is closed, and the language model for answers, if any."""
        self._settings = settings
        self._without_model = without_model
        pipeline = partial(SearchPipeline, caches=caches, llm=llm, aliases=aliases, make_reranker=make_reranker)
        self._pipeline = self._resources.enter_context(pipeline(self.generations, models, settings))
        sentences = CachingEmbedding(models[0], self._pipeline.caches.sentences)
        self._answerer = self._create_answerer(sentences, cite=settings.answer.enable_citation)
        self._writer = self._create_writer(llm, self._create_answerer(sentences), prompts) if llm else None

    def search(
        self,
        question: str,
        *,
        top_k: int | None = None,
        where: Sequence[str] = (),
        strategy: StrategyName | None = None,
        explain: bool = False,
        everything: bool = False,
        cancelled: Callable[[], bool] | None = None,
    ) -> SearchResult:
        """Return the best chunks for a question, among those that fulfil every filter in `where`, best first.

        A filter is a condition such as `year>=2020`; see `elt_llm_query.retrieve.filters`. Set `everything` if the user
        chose no collection: enterprise models and inventories are then searched only if the question names one of them
        or is about relations; if they are skipped, a note lists them. By default, the configured strategy is used.
        `explain` adds a trace stage with the outcome of each candidate. Model calls stop once `cancelled` returns True.
        Raises UsageError, RetrievalError.
        """
        self._check_is_open()
        check_type("question", question, str, "a text")
        check_type("top_k", 1 if top_k is None else top_k, Integral, "a whole number")
        check_type("strategy", strategy or "", str, "a text")
        check_texts("where", where)
        left_out = self._left_out(question, everything=everything)
        where = (*where, *_without(left_out))
        found = self._pipeline.search(question, top_k=top_k, where=where, strategy=strategy, cancelled=cancelled)
        notes = [_MODELS_LEFT_OUT.format(", ".join(left_out))] if left_out else []
        found = replace(found, notes=(*self._notes, *notes, *found.notes))
        if not explain:
            return found
        from elt_llm_query.shape.explain import explain_stage

        return replace(found, stages=(*found.stages, explain_stage(found.stages, found.chunks, self.generations)))

    def ask(  # noqa: PLR0913 - all but the question have defaults
        self,
        question: str,
        *,
        where: Sequence[str] = (),
        strategy: StrategyName | None = None,
        explain: bool = False,
        everything: bool = False,
        history: Turns = (),
        style: str = "",
        listen: Listener = ignore_events,
        cancelled: Callable[[], bool] | None = None,
    ) -> QueryResult:
        """Return the answer to a question with its citations, or the statement that the documents hold no answer.

        `where` and `everything` are those of `search`. `history` (earlier questions with their answers) and `style`
        (how to write) affect only answers of a language model. `listen` is called with the sources and each part of the
        answer, in the calling thread. Once `cancelled` returns True, the answer ends after the part already written.
        Raises UsageError, and the errors of the search and of the language model.
        """
        turns = _check_answer_options(history, style, listen, cancelled)
        started = time.perf_counter()
        search = partial(self.search, strategy=strategy, explain=explain, everything=everything, cancelled=cancelled)
        found = search(question, where=where)
        # Chunks of a collection that is read whole are in document order; the answerer needs the best chunks first.
        whole = self._settings.query.full_context_max_chunks > 0
        chunks = sorted(found.chunks, key=lambda chunk: -chunk.score) if whole else found.chunks
        limits = (*where, *_without(self._left_out(question, everything=everything)))
        request = AnswerRequest(found.searched_for or question, chunks, limits, turns, cancelled, style)
        log = StageLog()
        if self._writer is None:
            return self._note_versions(self._result(question, found, self._quote(request, log, listen), log, started))
        key = (self._pipeline.key, self._writer.key, question, limits, strategy, explain, request.history, style)
        if (known := self._pipeline.caches.answers.get(key)) is not None:
            return self._note_versions(replay_events(known, listen, started))
        written = self._writer.answer(request, log, listen)
        result = self._result(question, replace(found, chunks=written.chunks), written.answer, log, started)
        if written.answer.whole and not found.failed:
            self._remember(key, result)
        return self._note_versions(result)

    def search_further(
        self, question: str, chunks: Sequence[RetrievedChunk], ask: Callable[[str], str]
    ) -> list[RetrievedChunk]:
        """Return `chunks`, followed by the chunks from further searches, whose queries a language model chooses.

        There are at most `answer.further_steps` searches, and none without a language model. `ask` sends a prompt to
        the language model and returns the reply. Raises the errors of `ask` and RetrievalError.
        """
        self._check_is_open()
        return list(chunks) if self._writer is None else self._writer.search_further(question, chunks, ask)

    def _left_out(self, question: str, *, everything: bool) -> tuple[str, ...]:
        """Return the enterprise models and inventories that are not searched because the question is not about them."""
        if not everything or concerns_models(question, self._models):
            return ()
        return self._models if len(self._models) < len(self.generations) else ()

    @cached_property
    def _models(self) -> tuple[str, ...]:
        """The collections that contain only an enterprise model or an inventory."""
        return tuple(one.collection for one in self.generations if has_only_fact_sheets(one))

    def _remember(self, key: Hashable, result: QueryResult) -> None:
        kept = tuple(note for note in result.notes if note not in self._calibration.notes)  # reported once
        self._pipeline.caches.answers.put(key, result.model_copy(update={"notes": kept}))

    def own(self, resources: ExitStack) -> Self:
        """Close these resources together with the engine."""
        self._resources.push(resources)
        return self

    def close(self) -> None:
        """Stop the threads, unpin the generations (so that they can be deleted), and close what was passed to `own`."""
        self._closed = True
        self._resources.close()

    def _check_is_open(self) -> None:
        if self._closed:
            names = ", ".join(one.collection for one in self.generations)
            hint = "Open a new engine, or ask before it is closed."
            raise UsageError(f"The engine over {names} is closed.", hint=hint)

    def _create_answerer(self, embedding: EmbeddingModel, *, cite: bool = True) -> ExtractiveAnswerer:
        return ExtractiveAnswerer(
            embedding,
            self.generations[0].tokeniser if self.generations else KeywordTokeniser(),
            terms=collection_term_weights(self.generations),
            weights=self._calibration.weights,
            thresholds=OutcomeThresholds.of(self._settings.answer),
            cite=cite,
            read_document=DocumentTexts(self.generations),
        )

    def _create_writer(
        self, llm: "LLM", extractive: ExtractiveAnswerer, prompts: "Prompts | None"
    ) -> "IterativeAnswerer":
        from elt_llm_query.synthesis.iterative import IterativeAnswerer
        from elt_llm_query.synthesis.prompts import load_prompts

        prompts = prompts or load_prompts(None)
        return IterativeAnswerer(llm, self._pipeline, self.generations, extractive, self._settings, prompts)

    def _quote(self, request: AnswerRequest, log: StageLog, listen: Listener) -> Answer:
        with log.stage("answer") as stage:
            answer = self._answerer.answer(request.question, request.chunks)
            stage.kept = len(answer.citations)
            stage.details.update(answer.reasoning)
        listen(SourcesFound(cited_chunks(answer.citations, request.chunks)))
        listen(AnswerStarted())
        listen(AnswerDelta(answer.text))
        return replace(answer, notes=(*answer.notes, _STYLE_IGNORED)) if request.style else answer

    def _result(self, question: str, found: SearchResult, answer: Answer, log: StageLog, started: float) -> QueryResult:
        writes = self._writer is not None
        notes = [*found.notes, *answer.notes, *settings_without_effect(self._settings, writes=writes)]
        notes += [] if answer.answered else _language_notes(question, found.chunks, self._embeddings)
        notes += self._first_notes
        self._first_notes = ()
        notes += [self._without_model] if self._without_model else []
        return QueryResult(
            question=question,
            answer=answer.text,
            answered=answer.answered,
            outcome=answer.outcome,
            chunks=found.chunks,
            citations=self._located(answer.citations) if self._settings.answer.enable_citation else (),
            reasoning_steps=answer.steps,
            checked=answer.checked,
            parts=answer.parts,
            complete=answer.whole,
            confidence=answer.confidence,
            tokens_used=answer.tokens_used,
            latency_ms=(time.perf_counter() - started) * 1000,
            metadata={
                "model": self._writer.model if self._writer else EXTRACTIVE,
                "calibration": self._calibration.state,
                "generations": {one.collection: one.number for one in self.generations},
                **({"budget": traced_budget(found.stages)} if len(self.generations) > 1 else {}),
                **({"cached": False} if writes else {}),
            },
            trace=Trace(stages=(*found.stages, *log.stages)),
            notes=tuple(dict.fromkeys(notes)),
        )

    def _note_versions(self, result: QueryResult) -> QueryResult:
        """Add a note for each cited document whose file has changed and could not be read since."""
        notes = []
        for generation in self.generations:
            cited = {one.source_id: one.source for one in result.citations if one.collection == generation.collection}
            reasons = generation.outdated(list(cited)) if cited else {}
            notes += [_OLDER_VERSION.format(cited[identity], reason) for identity, reason in reasons.items()]
        return result.model_copy(update={"notes": (*result.notes, *notes)}) if notes else result

    def _located(self, citations: Sequence[Citation]) -> tuple[Citation, ...]:
        """Return the citations with the page and section where each quote starts, which may differ from its chunk's."""
        for generation in self.generations:
            cited = [citation.source_id for citation in citations if citation.collection == generation.collection]
            citations = add_locations(citations, generation.outlines(cited)) if cited else citations
        return tuple(citations)


def open_engine(  # noqa: PLR0913 - all but the first three have defaults
    settings: Settings,
    place: str | Path | Workspace,
    collections: Sequence[str],
    *,
    prefixes: Sequence[str] = (),
    embedding: EmbeddingModel | Sequence[EmbeddingModel] | None = None,
    caches: QueryCaches[SearchResult] | None = None,
    llm: "LLM | None" = None,
    aliases: Aliases = NO_ALIASES,
    prompts: "Prompts | None" = None,
    make_reranker: MakeReranker | None = None,
    conditions: Mapping[str, DocumentConditions] | None = None,
    databases: PointDatabases | None = None,
) -> Engine:
    """Open an engine over the named collections and the collections whose names start with one of `prefixes`.

    A damaged collection is left out with a note, unless none can be searched. By default, the settings determine the
    models and caches; collections embedded by different models need all of these. `conditions` hide documents.
    Raises UsageError, UnknownCollection, FingerprintMismatch, CorruptIndex, ModelError, SettingsError.
    """
    check_type("settings", settings, Settings, "Settings", "Pass load_settings(...).settings, or Settings().")
    with ExitStack() as opened:
        store, names = _open_store_for(place := as_workspace(place), collections, prefixes, opened)
        models, allowed = _as_models(embedding or create_embedding(settings)), conditions or {}
        generations, notes = open_generations(store, names, models, opened, settings.index, databases, allowed)
        chosen = _choose_model(located := with_models_dir(settings, place.folder), llm, opened)
        return Engine(
            [restrict(one, allowed.get(one.collection, ())) for one in generations],
            models,
            located,
            caches=caches,
            llm=chosen.llm,
            aliases=aliases,
            prompts=prompts,
            notes=notes,
            without_model=chosen.note,
            calibration=read_calibration(place, generations, settings),
            make_reranker=make_reranker,
        ).own(opened.pop_all())


def _open_store_for(
    place: Workspace, collections: Sequence[str], prefixes: Sequence[str], opened: ExitStack
) -> tuple[Store, list[str]]:
    """Open the store. Also return the names in `collections`, and of all collections that start with a prefix.

    Each name is returned once. Raises UsageError if there would be none, or if a text is given instead of a list.
    """
    check_texts("collections", collections)
    check_texts("prefixes", prefixes)
    store = opened.enter_context(open_store(place))
    known = [record.name for record in store.collections.all()]
    matched = [name for prefix in prefixes for name in known if name.startswith(prefix)]
    names = list(dict.fromkeys([*collections, *matched]))
    if not names:
        raise UsageError(
            "No collection is named." if not prefixes else f"No collection starts with {' or '.join(prefixes)}.",
            hint=f"Add -c NAME. Known collections: {', '.join(known) or 'none yet; run elt-llm ingest PATH -c NAME'}.",
        )
    return store, names


def _choose_model(settings: Settings, llm: "LLM | None", opened: ExitStack) -> LlmChoice:
    """Return the given language model, if any; otherwise open the configured one, which `opened` closes."""
    if llm:
        from llama_index.core.llms import LLM

        check_type("llm", llm, LLM, "an LLM of LlamaIndex", "To choose a model by name, set llm.model.")
        return LlmChoice(llm)
    chosen = choose_llm(settings)
    opened.callback(close_if_possible, chosen.llm)
    return chosen


def _as_models(embedding: EmbeddingModel | Sequence[EmbeddingModel]) -> Sequence[EmbeddingModel]:
    """Return the embedding models as a list. Raises UsageError for an object that is no EmbeddingModel."""
    models = embedding if isinstance(embedding, (list, tuple)) else (embedding,)
    for model in models:
        check_type("embedding", model, EmbeddingModel, "an EmbeddingModel", "Call create_embedding(settings).")
    return models


def query_collection(
    question: str, collection: str, *, settings: Settings | None = None, data_dir: str | Path | None = None
) -> QueryResult:
    """Answer a question from one collection. Default settings and data directory are those of the command line."""
    check_type("collection", collection, str, "a text", "For several collections, call query_collections.")
    return query_collections(question, [collection], settings=settings, data_dir=data_dir)


def query_collections(
    question: str, collections: Sequence[str], *, settings: Settings | None = None, data_dir: str | Path | None = None
) -> QueryResult:
    """Answer a question from several collections, whose chunks are ranked together."""
    loaded = load_settings(None, os.environ, Path.cwd())
    aliases = load_aliases(loaded)
    place = loaded.workspace if data_dir is None else data_dir
    with open_engine(settings or loaded.settings, place, collections, aliases=aliases) as engine:
        return engine.ask(question)


def _language_notes(question: str, chunks: Sequence[RetrievedChunk], models: Sequence[EmbeddingModel]) -> list[str]:
    """Return a note with the extra that would help with a question in another language than the chunks, or [].

    There is a note if all models are all-MiniLM-L6-v2, and all chunks are in other languages than the question.
    Nothing is known about the languages of the models of a server.
    """
    asked, found = shown_language(question), {chunk.metadata.get("language") for chunk in chunks}
    names = {(model.fingerprint.provider, model.fingerprint.model) for model in models}
    is_english = names == {("embedded", ENGLISH_MODEL)}
    if not (asked and found and is_english) or asked in found or not found <= set(languages()):
        return []
    rebuilt = (f"elt-llm ingest -c {name} --rebuild" for name in sorted({chunk.collection for chunk in chunks}))
    return [
        f"The question is in another language than the closest chunks, and the embedding model {ENGLISH_MODEL} was"
        f" trained on English texts. To search across languages, run {install_command('multilingual')}, set"
        f" embedding.model to {MULTILINGUAL_MODEL}, and run {', '.join(rebuilt)}."
    ]
