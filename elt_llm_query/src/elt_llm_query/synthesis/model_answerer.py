"""Answers written by a language model, each sentence of them held against the passages by code."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.token_bound import TokenBound
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.settings import Settings
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.answer.claim_contraries import ContraryFinder
from elt_llm_query.answer.extractive import Answer, ExtractiveAnswerer, refusal_text
from elt_llm_query.answer.grounding import Grounded, ground
from elt_llm_query.asking import Turns, Weights
from elt_llm_query.synthesis import create_synthesis
from elt_llm_query.synthesis.budget import window_of
from elt_llm_query.synthesis.calls import ModelCalls, OnPiece
from elt_llm_query.synthesis.drafting import Check, Draft, Problem, Task
from elt_llm_query.synthesis.finishing import (
    as_places,
    bears_nothing_out,
    checked_sentences,
    claims_only_what_is_not_there,
    draft_notes,
    nothing_written,
    told,
    without_marks,
)
from elt_llm_query.synthesis.marks import as_marks
from elt_llm_query.synthesis.not_found import (
    denies_in_passing,
    has_more_than_a_refusal,
    says_not_found,
    says_nothing,
)
from elt_llm_query.synthesis.prompts import Prompts
from elt_llm_query.synthesis.references import by_source, numbered_as_read
from elt_llm_query.synthesis.sources import Source, number_sources
from elt_llm_query.synthesis.unmarked import PiecesWithoutMarks
from elt_llm_query.understand import Language, question_language

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

# A model reads better than the rules that weigh the evidence: it is only kept from questions about another world.
ASKED_FROM = 0.1
_LANGUAGES: Mapping[str, Language] = MappingProxyType(
    {"de": "de", "german": "de", "deutsch": "de", "en": "en", "english": "en", "englisch": "en"}
)
_UNKNOWN_LANGUAGE = "the language of the question"


class ModelAnswerer:
    """Writes, checks and refuses. Serves many threads: it keeps nothing of a question.

    `system` is said to the model before everything else.
    """

    def __init__(
        self,
        llm: "LLM",
        embedding: EmbeddingModel,
        tokeniser: KeywordTokeniser,
        settings: Settings,
        prompts: Prompts,
    ) -> None:
        self._llm = llm
        self._embedding = embedding
        self._bound = TokenBound()
        self._tokeniser = tokeniser
        self._contraries = ContraryFinder(tokeniser)
        self._settings = settings
        self._prompts = prompts
        self._extractive = ExtractiveAnswerer(embedding, tokeniser, abstain=True, cite=True)
        chosen = settings.answer
        self._synthesis = create_synthesis(chosen.strategy, by_collection=chosen.by_collection)

    def answer(
        self,
        question: str,
        chunks: Sequence[RetrievedChunk],
        weights: Weights,
        *,
        on_piece: OnPiece = lambda _: None,
        cancelled: Callable[[], bool] | None = None,
        history: Turns = (),
    ) -> Answer:
        """The checked answer, or the statement that the passages do not hold it, with the closest of them.

        Raises ModelError as the model fails and ResponseGenerationError for a window too small: an answer that was
        to be written is never extracted instead.
        """
        evidence = self._extractive.answer(
            question, chunks, idf=weights.idf, known=weights.known, weighing=weights.weighing
        )
        evidence = replace(evidence, citations=numbered_as_read(evidence.citations, chunks))
        if self._settings.answer.abstain and not evidence.answered and evidence.confidence < ASKED_FROM:
            cited = evidence.citations if self._settings.answer.enable_citation else ()
            return replace(evidence, text=refusal_text(self._language(question), cited))
        sources = tuple(number_sources(chunks))
        calls = self.calls(cancelled)
        pieces = on_piece if self._settings.answer.enable_citation else PiecesWithoutMarks(on_piece)
        task = self._task(question, sources, history)
        draft = self._synthesis.draft(task, calls, _unheard if self._settings.answer.strict else pieces)
        answer = self._finished(question, evidence, draft, calls, pieces)
        if isinstance(pieces, PiecesWithoutMarks):
            pieces.end()
        return answer

    def calls(self, cancelled: Callable[[], bool] | None = None) -> ModelCalls:
        """The calls of one answer: its model, its window and its account."""
        window = window_of(self._llm, self._bound, self._settings.llm.max_context_tokens)
        return ModelCalls(self._llm, window, cancelled)

    def _task(self, question: str, sources: tuple[Source, ...], history: Turns) -> Task:
        chosen = self._settings.answer
        return Task(
            question=question,
            sources=sources,
            prompts=self._prompts,
            check=self._check,
            language=self._settings.llm.answer_language or _UNKNOWN_LANGUAGE,
            most_steps=chosen.max_reasoning_steps,
            branches=chosen.branches,
            rounds=chosen.reflect_steps,
            best_outside=self._settings.query.use_lost_in_middle,
            system=self._settings.query.system_prompt,
            history=tuple(history),
        )

    def _check(self, text: str, sources: Sequence[Source]) -> Check:
        if says_not_found(text):
            return Check(0.0, ())
        grounded = self._ground(text, sources)
        problems = [one for one in grounded.sentences if one.verdict in ("partly", "unsupported")]
        return Check(grounded.share, tuple(Problem(one.text, " ".join(one.reasons)) for one in problems))

    def _ground(self, text: str, sources: Sequence[Source], *, strict: bool = False) -> Grounded:
        chunks = [source.chunk for source in sources]
        marked, known = as_places(as_marks(text), sources), self._contraries
        return ground(marked, chunks, self._embedding, self._tokeniser, strict=strict, contraries=known)

    def _finished(self, question: str, evidence: Answer, draft: Draft, calls: ModelCalls, on_piece: OnPiece) -> Answer:
        chosen = self._settings.answer
        if says_nothing(draft.text) and not calls.is_cancelled:
            raise nothing_written(calls)
        if says_nothing(draft.text) or (chosen.abstain and says_not_found(draft.text)):
            return self._refusal(question, evidence, draft, calls)
        grounded = self._ground(draft.text, draft.read, strict=chosen.strict)
        # Told apart by code alone, one honest sentence in twenty looks invented: a second sign is asked for.
        doubtful = not evidence.answered or denies_in_passing(draft.text)
        nothing_left = chosen.strict and claims_only_what_is_not_there(grounded)
        if nothing_left or (chosen.abstain and bears_nothing_out(grounded) and doubtful):
            return self._refusal(question, evidence, draft, calls, grounded)
        text, citations = by_source(grounded, draft.read)
        if chosen.strict:
            on_piece(text)
        return Answer(
            text if chosen.enable_citation else without_marks(text),
            citations,
            answered=True,
            confidence=round((evidence.confidence * grounded.share) ** 0.5, 4),
            reasoning=told(evidence, draft, calls),
            notes=(*grounded.notes, *draft_notes(draft, calls)),
            steps=draft.steps,
            parts=draft.parts,
            checked=checked_sentences(grounded, draft.read),
            tokens_used=calls.tokens_used,
            whole=draft.whole,
        )

    def _language(self, question: str) -> Language:
        """Of a refusal: that of the settings where they name one that there is a text in, else the question's."""
        named = (self._settings.llm.answer_language or "").strip().casefold()
        return _LANGUAGES.get(named) or question_language(question)

    def _refusal(
        self, question: str, evidence: Answer, draft: Draft, calls: ModelCalls, grounded: Grounded | None = None
    ) -> Answer:
        """The closest passages instead of an answer; what the model wrote without support is told, not said."""
        notes = draft_notes(draft, calls)
        if grounded:
            notes = ("What the model wrote is not borne out by the passages, and was left out.", *notes)
        elif has_more_than_a_refusal(draft.text):
            notes = ("The model said that it found nothing; what else it wrote was left out.", *notes)
        cited = evidence.citations if self._settings.answer.enable_citation else ()
        return replace(
            evidence,
            text=refusal_text(self._language(question), cited),
            answered=False,
            confidence=round(min(evidence.confidence, 0.5), 4),
            reasoning=told(evidence, draft, calls),
            notes=notes,
            steps=draft.steps,
            parts=draft.parts,
            checked=checked_sentences(grounded, draft.read) if grounded else (),
            tokens_used=calls.tokens_used,
            whole=draft.whole,
        )


def _unheard(_piece: str) -> None:
    """A strict answer is passed on when it has been checked: what is shown cannot be taken back."""
