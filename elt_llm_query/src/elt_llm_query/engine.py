"""An engine: stores, models and indexes opened once; asking opens nothing and changes nothing."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from elt_llm_core.closeable import Closeable, close_if_possible
from elt_llm_core.generation import Generation
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.embeddings import create_embedding
from elt_llm_core.models.llms import ChosenLlm, choose_llm
from elt_llm_core.models.model_folder import with_models_dir
from elt_llm_core.results import Citation, QueryResult, RetrievedChunk, Trace
from elt_llm_core.settings import Settings, StrategyName
from elt_llm_core.store.store import open_store
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.answer.citations import chunks_of, with_places
from elt_llm_query.answer.extractive import Answer, ExtractiveAnswerer
from elt_llm_query.asking import Asked, Turns, Weights
from elt_llm_query.cache import CacheCounts, QueryCaches
from elt_llm_query.calibration import NOT_CALIBRATED, Calibration, read_calibration
from elt_llm_query.events import AnswerBegins, Listener, Piece, SourcesFound, told_again, unheard
from elt_llm_query.opening import expanded, open_all
from elt_llm_query.retrieve.budgets import budget_of
from elt_llm_query.retrieve.pipeline import Found, PassageFinder
from elt_llm_query.retrieve.stages import StageLog
from elt_llm_query.understanding.aliases import NO_ALIASES, Aliases
from elt_llm_query.without_effect import settings_without_effect

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from elt_llm_query.synthesis.prompts import Prompts
    from elt_llm_query.written_answers import WrittenAnswers

EXTRACTIVE = "extractive"


class Engine(Closeable):
    """Answers questions over pinned generations. May be asked from many threads; close it to let go of the pins."""

    def __init__(  # noqa: PLR0913 - all but the first three have defaults
        self,
        generations: Sequence[Generation],
        embedding: EmbeddingModel | Sequence[EmbeddingModel],
        settings: Settings,
        *,
        caches: QueryCaches[Found] | None = None,
        llm: "LLM | None" = None,
        aliases: Aliases = NO_ALIASES,
        prompts: "Prompts | None" = None,
        notes: Sequence[str] = (),
        without_model: str = "",
        calibration: Calibration = NOT_CALIBRATED,
    ) -> None:
        """`embedding` is a model, or one for each fingerprint; the first answers. Every result has the `notes`.

        `llm` writes the answers, with `prompts` (unset: those that are shipped); without it the documents are quoted,
        and answers say `without_model`, why there is none.
        `calibration` has the weights that decide whether to answer; the first result has its notes.
        """
        models = _models(embedding)
        self._resources = ExitStack()
        self._notes = tuple(notes)
        self._calibration, self._told_once = calibration, calibration.notes
        self._generations = tuple(generations)
        self._settings = settings
        self._llm, self._without_model = llm, without_model
        self._finder = self._resources.enter_context(
            PassageFinder(self._generations, models, settings, caches=caches, llm=llm, aliases=aliases)
        )
        tokeniser = generations[0].keyword.tokeniser if generations else KeywordTokeniser()
        self._answerer = ExtractiveAnswerer(
            models[0], tokeniser, abstain=settings.answer.abstain, cite=settings.answer.enable_citation
        )
        self._written = self._writer(llm, models[0], prompts) if llm else None

    def search(
        self,
        question: str,
        *,
        top_k: int | None = None,
        where: Sequence[str] = (),
        strategy: StrategyName | None = None,
        explain: bool = False,
        cancelled: Callable[[], bool] | None = None,
    ) -> Found:
        """The passages for a question that fulfil every condition of `where`, such as `year>=2020`, best first.

        `elt_llm_query.filters` says what may be asked for; `strategy` is as configured where unset. `explain` adds a
        stage that names the passages and says what became of each. A model that helps to search looks at `cancelled`.
        Raises UsageError, RetrievalError.
        """
        found = self._finder.find(question, top_k=top_k, where=where, strategy=strategy, cancelled=cancelled)
        found = replace(found, notes=(*self._notes, *found.notes))
        return self._explained(found) if explain else found

    def ask(
        self,
        question: str,
        *,
        where: Sequence[str] = (),
        strategy: StrategyName | None = None,
        explain: bool = False,
        history: Turns = (),
        listen: Listener = unheard,
        cancelled: Callable[[], bool] | None = None,
    ) -> QueryResult:
        """The answer to a question, with citations; or the statement that the documents do not hold it.

        Only passages that fulfil every condition of `where` are answered from. `history` are earlier questions with
        their answers, for a model that writes. `listen` hears the sources and the answer as it is written, in this
        thread; `cancelled` is looked at meanwhile, and ends the answer with what there is.

        Raises UsageError for an empty question and for filters as `search` does, RetrievalError if no passages could be
        looked for, ModelError and ResponseGenerationError as the model fails that is to write.
        """
        started = time.perf_counter()
        found = self.search(question, where=where, strategy=strategy, explain=explain, cancelled=cancelled)
        asked = Asked(found.searched_for or question, self._best_first(found), where, tuple(history), cancelled)
        log = StageLog()
        if self._written is None:
            return self._result(question, found, self._quoted(asked, log, listen), log, started)
        key = (self._finder.key, self._written.key, question, tuple(where), strategy, explain, asked.history)
        if (known := self._finder.caches.answers.get(key)) is not None:
            return told_again(known, listen, started)
        written = self._written.answer(asked, log, listen)
        result = self._result(question, replace(found, chunks=written.chunks), written.answer, log, started)
        if written.answer.whole and not found.failed:
            kept = tuple(note for note in result.notes if note not in self._calibration.notes)  # told once
            self._finder.caches.answers.put(key, result.model_copy(update={"notes": kept}))
        return result

    @property
    def generations(self) -> tuple[Generation, ...]:
        """What it asks, pinned until it is closed."""
        return self._generations

    @property
    def llm(self) -> "LLM | None":
        """The language model it was opened with, if any."""
        return self._llm

    @property
    def cache_counts(self) -> dict[str, CacheCounts]:
        """Hits, misses and values held of each cache by its name: `embeddings` and `results`."""
        return self._finder.cache_counts

    def own(self, resources: ExitStack) -> Self:
        """Close these as well when the engine is closed."""
        self._resources.push(resources)
        return self

    def close(self) -> None:
        """Let go of threads, pins and whatever was handed to `own`."""
        self._resources.close()

    def _writer(self, llm: "LLM", embedding: EmbeddingModel, prompts: "Prompts | None") -> "WrittenAnswers":
        from elt_llm_query.synthesis.prompts import load_prompts
        from elt_llm_query.written_answers import WrittenAnswers

        weights = Weights(self._weight, self._is_known, self._calibration.weighing)
        known = prompts or load_prompts(None)
        return WrittenAnswers(llm, self._finder, self._generations, embedding, self._settings, known, weights)

    def _quoted(self, asked: Asked, log: StageLog, listen: Listener) -> Answer:
        with log.stage("answer") as stage:
            weighing = self._calibration.weighing
            answer = self._answerer.answer(
                asked.question, asked.chunks, idf=self._weight, known=self._is_known, weighing=weighing
            )
            stage.kept = len(answer.citations)
            stage.details.update(answer.reasoning)
        listen(SourcesFound(chunks_of(answer.citations, asked.chunks)))
        listen(AnswerBegins())
        listen(Piece(answer.text))
        return answer

    def _explained(self, found: Found) -> Found:
        from elt_llm_query.explain.stage import explain

        return replace(found, stages=(*found.stages, explain(found.stages, found.chunks, self._generations)))

    def _best_first(self, found: Found) -> Sequence[RetrievedChunk]:
        """For who reads the first few only: collections that are read whole come in the order of their documents."""
        if not self._settings.query.full_context_max_chunks:
            return found.chunks
        return sorted(found.chunks, key=lambda chunk: -chunk.score)

    def _result(self, question: str, found: Found, answer: Answer, log: StageLog, started: float) -> QueryResult:
        writes = self._written is not None
        notes = [*found.notes, *answer.notes, *settings_without_effect(self._settings, writes=writes)]
        told, self._told_once = self._told_once, ()
        notes += told
        if self._without_model:
            notes.append(self._without_model)
        return QueryResult(
            question=question,
            answer=answer.text,
            answered=answer.answered,
            contexts=found.chunks,
            citations=self._placed(answer.citations) if self._settings.answer.enable_citation else (),
            reasoning_steps=answer.steps,
            checked=answer.checked,
            parts=answer.parts,
            complete=answer.whole,
            confidence=answer.confidence,
            tokens_used=answer.tokens_used,
            latency_ms=(time.perf_counter() - started) * 1000,
            metadata={
                "model": self._written.model if self._written else EXTRACTIVE,
                "abstention": self._calibration.state,
                "generations": {one.collection: one.number for one in self._generations},
                **({"budget": budget_of(found.stages)} if len(self._generations) > 1 else {}),
                **({"cached": False} if writes else {}),
            },
            trace=Trace(stages=(*found.stages, *log.stages)),
            notes=tuple(dict.fromkeys(notes)),
        )

    def _placed(self, citations: Sequence[Citation]) -> tuple[Citation, ...]:
        """The citations with page and section of their own words, which may not be those their passage begins with."""
        for generation in self._generations:
            wanted = [citation.source_id for citation in citations if citation.collection == generation.collection]
            citations = with_places(citations, generation.outlines(wanted)) if wanted else citations
        return tuple(citations)

    def _frequency(self, stem: str) -> int:
        return sum(generation.keyword.document_frequency(stem) for generation in self._generations)

    def _weight(self, stem: str) -> float:
        """Inverse document frequency over all collections asked, as BM25 has it; 0 or more."""
        total, frequency = sum(generation.size for generation in self._generations), self._frequency(stem)
        return math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))

    def _is_known(self, stem: str) -> bool:
        return self._frequency(stem) > 0


def open_engine(  # noqa: PLR0913 - all but the first three have defaults
    settings: Settings,
    data_dir: Path,
    collections: Sequence[str],
    *,
    prefixes: Sequence[str] = (),
    embedding: EmbeddingModel | Sequence[EmbeddingModel] | None = None,
    caches: QueryCaches[Found] | None = None,
    llm: "LLM | None" = None,
    aliases: Aliases = NO_ALIASES,
    prompts: "Prompts | None" = None,
) -> Engine:
    """Open everything that asking these collections, and those whose names begin with `prefixes`, needs.

    Of several collections those that are empty or damaged are left out, as long as one can be asked, and every result
    says so. `embedding`, `caches` and `llm` are made from the settings if none are given. Several embeddings are for
    collections built with different ones. Engines may share their caches: what they keep of one generation is not taken
    for that of the next. `aliases` are other names to look for, `prompts` what a model is told.

    Raises UsageError, UnknownCollection, FingerprintMismatch, CorruptIndex, ModelError, SettingsError.
    """
    with ExitStack() as opened:
        store = opened.enter_context(open_store(data_dir))
        names = expanded(collections, prefixes, [record.name for record in store.collections.all()])
        models = _models(embedding or create_embedding(settings))
        found = open_all(store, names, models, opened)
        settings = with_models_dir(settings, data_dir)
        chosen = ChosenLlm(llm) if llm else _chosen(settings, opened)
        return Engine(
            found.generations,
            models,
            settings,
            caches=caches,
            llm=chosen.llm,
            aliases=aliases,
            prompts=prompts,
            notes=found.notes,
            without_model=chosen.note,
            calibration=read_calibration(data_dir, found.generations, settings),
        ).own(opened.pop_all())


def _models(given: EmbeddingModel | Sequence[EmbeddingModel]) -> Sequence[EmbeddingModel]:
    return given if isinstance(given, Sequence) else (given,)


def _chosen(settings: Settings, opened: ExitStack) -> ChosenLlm:
    """The model that the settings name, closed with the rest; `auto` may find none, and says why."""
    chosen = choose_llm(settings)
    opened.callback(close_if_possible, chosen.llm)
    return chosen
