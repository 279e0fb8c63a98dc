"""Finding passages: understand, embed, retrieve, fuse, rerank, shape; each stage timed and told."""

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING
from unicodedata import category

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import UsageError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.results import RetrievedChunk, TraceStage
from elt_llm_core.settings import STRATEGIES, QuerySettings, Settings, StrategyName

from elt_llm_query.cache import CacheCounts, QueryCaches, create_caches
from elt_llm_query.filters import Condition, parse_conditions
from elt_llm_query.rerank import create_reranker
from elt_llm_query.rerank.model_reranker import identity_of
from elt_llm_query.rerank.reranker import Reranker
from elt_llm_query.rerank.scorer import ModelSources
from elt_llm_query.retrieve.collections import OpenCollection, open_collections
from elt_llm_query.retrieve.masks import Mask, Masks, masks_of
from elt_llm_query.retrieve.rounds import SearchRounds, SearchTools
from elt_llm_query.retrieve.routing import Router
from elt_llm_query.retrieve.searchable import Searchable
from elt_llm_query.retrieve.stages import StageLog
from elt_llm_query.retrieve.wording import Wording
from elt_llm_query.shape.shaper import Shaper
from elt_llm_query.strategies import create_strategy
from elt_llm_query.strategies.strategy import Strategy
from elt_llm_query.understanding.aliases import NO_ALIASES, Aliases
from elt_llm_query.understanding.narrowing import narrowed
from elt_llm_query.understanding.understanding import Understanding, Understood

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

MOST_THREADS = 16
MOST_CHARACTERS = 4000
_UNSEEN = ("Cc", "Cf", "Zs")  # Unicode categories of control characters, signs without width, and spaces
_IN_WORDS = "Ask in words, such as: elt-llm ask 'Who approves leave?'"


@dataclass(frozen=True)
class Found:
    """The passages of one question, best first, and how they were found."""

    chunks: tuple[RetrievedChunk, ...]
    stages: tuple[TraceStage, ...]
    notes: tuple[str, ...]
    searched_for: str = ""
    """The question with mistyped words put right."""
    failed: bool = False
    """Something did not work, as the notes say: not to be remembered, for it may work the next time."""


class PassageFinder(Closeable):
    """Asks pinned generations. Everything is built here, once; asking builds nothing and changes nothing.

    One object may be asked from many threads. `embeddings` holds a model for each fingerprint among the
    generations; FingerprintMismatch is raised if one lacks. `caches` may be shared with other finders, whatever they
    ask: what is kept knows which generations, settings and models it came from. Unset: its own, as configured.
    `llm` is for a reranker that asks one; ModelError or SettingsError is raised for a reranker without its model.
    `aliases` are other names that questions are looked for by as well.
    """

    def __init__(
        self,
        generations: Sequence[Searchable],
        embeddings: Sequence[EmbeddingModel],
        settings: Settings,
        *,
        make_reranker: Callable[[QuerySettings], Reranker] | None = None,
        llm: "LLM | None" = None,
        caches: QueryCaches[Found] | None = None,
        aliases: Aliases = NO_ALIASES,
    ) -> None:
        self._query = settings.query
        self._caches = caches or create_caches(settings.query)
        threads = max(1, min(MOST_THREADS, 2 * len(generations)))
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="retrieval")
        self._collections = open_collections(generations, embeddings, settings.query, self._executor)
        make = make_reranker or partial(create_reranker, sources=ModelSources.of(settings, llm))
        self._reranker = make(settings.query)
        self._strategies: dict[str, Strategy] = {
            name: create_strategy(name, settings.query, llm) for name in STRATEGIES
        }
        self._understanding = Understanding(generations, settings.query, aliases)
        self._tools = SearchTools(
            self._collections,
            self._reranker,
            settings.query,
            Router(self._collections, settings.query.route_above, settings.query.route_to),
            self._caches.vectors.embed,
            self._vector_counts,
            self._understanding.worded,
        )
        self._shaper = Shaper(self._collections, settings.query, settings.llm.max_context_tokens)
        # What the passages of a question depend on, the question aside.
        asked = tuple((one.identity, *one.notes) for one in generations)
        self._key = (asked, settings.model_dump_json(), aliases, *identity_of(self._reranker))

    def find(
        self,
        question: str,
        *,
        top_k: int | None = None,
        where: Sequence[str] = (),
        strategy: StrategyName | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Found:
        """The passages for a question, at most top_k, that fulfil all conditions of `where`.

        `top_k` and `strategy` are as configured where unset. A model that helps to search is let go once `cancelled`
        says that nobody waits; what is found without it is kept for nobody else. Raises UsageError for a question
        without words, for a strategy that there is not and for filters that are not understood or name no field,
        RetrievalError if no leg of any collection worked.
        """
        conditions = parse_conditions(where)
        chosen = self._strategy(strategy or self._query.strategy)
        log = StageLog()
        with log.stage("understand") as stage:
            text = understand(question)
            stage.details["question"] = text
            stage.details["strategy"] = chosen.name
            key = (*self._key, chosen.name, text, top_k, conditions)
            cached = self._caches.results.get(key)
            stage.details["cache"] = {"hit": cached is not None, **self._caches.results.counts.as_dict()}
            known = cached or self._understanding.of(text, conditions, partial(self._allowed, conditions))
            stage.details = (known.stages[0].details if isinstance(known, Found) else known.details()) | stage.details
        if isinstance(known, Found):
            return _from_cache(known, log)
        found = self._find(known, chosen, top_k, conditions, log, cancelled)
        if not found.failed:
            self._caches.results.put(key, found)
        return found

    def _find(
        self,
        understood: Understood,
        strategy: Strategy,
        top_k: int | None,
        conditions: Sequence[Condition],
        log: StageLog,
        cancelled: Callable[[], bool] | None,
    ) -> Found:
        limits = self._filter(conditions, understood.suggested if self._applies else (), log)
        rounds = SearchRounds(self._tools, limits, log, cancelled)
        reranked = strategy.search(Wording(understood.text), rounds)
        with log.stage("shape") as stage:
            shaped = self._shaper.shape(
                reranked.candidates, top_k or self._top_k, stage, to_read=top_k is None, limits=limits
            )
        filtered = limits.notes if limits else ()
        standing = _standing_notes(self._collections, self._reranker)
        said = (*standing, *strategy.notes, *rounds.notes, *rounds.failures, *reranked.notes, *filtered, *shaped.notes)
        said = (*understood.notes, *said)
        chunks = tuple(passage.to_chunk() for passage in shaped.passages)
        return Found(chunks, log.stages, tuple(dict.fromkeys(said)), understood.text, failed=bool(rounds.failures))

    @property
    def key(self) -> Hashable:
        """What the passages of a question depend on, the question aside: equal for finders that find the same."""
        return self._key

    @property
    def caches(self) -> QueryCaches[Found]:
        """What is kept of questions asked before."""
        return self._caches

    @property
    def cache_counts(self) -> dict[str, CacheCounts]:
        """How often each cache had what was asked for, by its name."""
        return self._caches.counts

    @property
    def most_candidates(self) -> int:
        """As many passages as the legs can bring together."""
        return 2 * self._query.leg_top_k * max(1, len(self._collections))

    @property
    def _top_k(self) -> int:
        return self._query.similarity_top_k if self._reranker.name == "none" else self._query.reranker_top_k

    def _vector_counts(self) -> dict[str, int]:
        return self._caches.vectors.counts.as_dict()

    def _strategy(self, name: str) -> Strategy:
        strategy = self._strategies.get(name)
        if strategy is None:
            raise UsageError(
                f"There is no strategy '{name}'.", hint=f"Strategies are: {', '.join(sorted(self._strategies))}."
            )
        return strategy

    @property
    def _applies(self) -> bool:
        return self._query.filters_from_question == "apply"

    def _allowed(self, conditions: Sequence[Condition]) -> Sequence[Mask] | None:
        return masks_of(conditions, [one.generation for one in self._collections]).masks if conditions else None

    def _filter(self, conditions: Sequence[Condition], suggested: Sequence[str], log: StageLog) -> Masks | None:
        """What the conditions leave, and those that the question suggests; None if there are none."""
        if not conditions and not suggested:
            return None
        with log.stage("filter") as stage:
            limits, conditions = narrowed(conditions, suggested, [one.generation for one in self._collections])
            left = {one.name: int(mask.sum()) for one, mask in zip(self._collections, limits.masks, strict=True)}
            stage.kept = sum(left.values())
            stage.details["where"] = [str(condition) for condition in conditions]
            stage.details["left"] = left
            stage.details["of"] = {one.name: len(one.generation.ids) for one in self._collections}
        return limits

    def close(self) -> None:
        """Let the threads go; the generations and the model stay the caller's."""
        self._executor.shutdown(wait=True)


def find_passages(
    question: str, generations: Sequence[Searchable], embedding: EmbeddingModel, settings: Settings
) -> Found:
    """Open a finder, ask it once and close it."""
    with PassageFinder(generations, [embedding], settings) as finder:
        return finder.find(question)


def understand(question: str) -> str:
    """The question with its white space put in order. Raises UsageError if nothing is left, or far too much."""
    text = " ".join(question.split())
    if all(category(character) in _UNSEEN for character in text):
        raise UsageError("The question is empty.", hint=_IN_WORDS)
    if not any(category(character)[0] in "LN" for character in text):
        raise UsageError("The question has no words.", hint=_IN_WORDS)
    if len(text) > MOST_CHARACTERS:
        raise UsageError(
            f"The question has {len(text)} characters; {MOST_CHARACTERS} is the most that can be asked.",
            hint="Ask the question alone, without the text it is about.",
        )
    return text


def _from_cache(found: Found, log: StageLog) -> Found:
    """What was found before; the later stages tell what they did then, and took no time now."""
    before = tuple(stage.model_copy(update={"took_ms": 0.0}) for stage in found.stages[1:])
    return replace(found, stages=(*log.stages, *before))


def _standing_notes(collections: Sequence[OpenCollection], reranker: Reranker) -> tuple[str, ...]:
    notes = [note for one in collections for note in one.generation.notes]
    return tuple(dict.fromkeys([*notes, *reranker.notes]))
