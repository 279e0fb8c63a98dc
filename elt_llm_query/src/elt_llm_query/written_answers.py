"""Answers by a language model over what a finder finds; where the first is not good enough, it looks further."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from elt_llm_core.errors import ModelTimeout, ResponseGenerationError, UsageError
from elt_llm_core.generation import Generation
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.writing import server_of
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.settings import Settings
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.answer.extractive import Answer
from elt_llm_query.asking import Asked, Weights, within
from elt_llm_query.events import AnswerBegins, Listener, Piece, SourcesFound, by_number, told_once_more
from elt_llm_query.iteration.gate import Quality, quality_of
from elt_llm_query.iteration.loop import Looking, look_further
from elt_llm_query.iteration.neighbours import around
from elt_llm_query.iteration.steps import Step
from elt_llm_query.retrieve.pipeline import PassageFinder
from elt_llm_query.retrieve.stages import StageLog
from elt_llm_query.synthesis.model_answerer import ModelAnswerer
from elt_llm_query.synthesis.prompts import Prompts

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

_LOOKED_AT = 8  # passages that a step looks at


@dataclass(frozen=True)
class Written:
    """The answer and the passages it was written from, those of further steps behind the others."""

    answer: Answer
    chunks: tuple[RetrievedChunk, ...]


class WrittenAnswers:
    """Answers with one model. Serves many threads: it keeps nothing of a question."""

    def __init__(
        self,
        llm: "LLM",
        finder: PassageFinder,
        generations: Sequence[Generation],
        embedding: EmbeddingModel,
        settings: Settings,
        prompts: Prompts,
        weights: Weights,
    ) -> None:
        self._finder = finder
        self._generations = tuple(generations)
        self._tokeniser = generations[0].keyword.tokeniser if generations else KeywordTokeniser()
        self._answerer = ModelAnswerer(llm, embedding, self._tokeniser, settings, prompts)
        self._prompts = prompts
        self._most_steps = settings.answer.further_steps
        self._weights = weights
        self._server = server = server_of(llm)
        self.model = f"{server.name} {server.model}"
        told = tuple(prompt.model_dump_json() for prompt in prompts.values())
        self.key = (str(server), server.model, told, weights.weighing)

    def answer(self, asked: Asked, log: StageLog, listen: Listener) -> Written:
        """The checked answer. Raises ModelError as the model fails, ResponseGenerationError for too small a window."""
        is_over = asked.cancelled or _never
        asked = replace(asked, cancelled=within(self._server.answer_timeout, str(self._server), asked.cancelled))
        answer = self._answer(asked, log, listen, again=False)
        quality = self._quality(asked.question, asked.chunks, answer)
        with log.stage("gate") as stage:
            stage.kept = int(quality.is_enough)
            stage.details.update(quality.as_dict())
        asked_a_model = answer.tokens_used > 0
        if quality.is_enough or not self._most_steps or not asked_a_model or is_over():
            return Written(answer, tuple(asked.chunks))
        try:
            return self._bettered(asked, answer, quality, log, listen, is_over)
        except (
            ModelTimeout,
            ResponseGenerationError,
        ) as error:  # of the same model there is an answer
            self._tell_first(asked, answer, listen)
            note = f"Looking further came to nothing: {error}."
            return Written(replace(answer, notes=(*answer.notes, note)), tuple(asked.chunks))

    def _bettered(
        self,
        asked: Asked,
        first: Answer,
        quality: Quality,
        log: StageLog,
        listen: Listener,
        is_over: Callable[[], bool],
    ) -> Written:
        """The better of the first answer and one from all that looking further finds."""
        chunks, tokens = self._further(asked, quality, log)
        first = replace(first, tokens_used=first.tokens_used + tokens)
        if len(chunks) == len(asked.chunks) or is_over():
            return Written(first, tuple(asked.chunks))
        second = self._answer(replace(asked, chunks=chunks), log, listen, again=True)
        tokens = first.tokens_used + second.tokens_used
        if self._quality(asked.question, chunks, second).support < quality.support:
            self._tell_first(asked, first, listen)
            return Written(replace(first, tokens_used=tokens), tuple(asked.chunks))
        return Written(replace(second, tokens_used=tokens), tuple(chunks))

    @staticmethod
    def _tell_first(asked: Asked, first: Answer, listen: Listener) -> None:
        """What is heard last is the answer that counts, under the numbers it was written with."""
        told_once_more(first.text if first.answered else "", asked.chunks, listen)

    def _answer(self, asked: Asked, log: StageLog, listen: Listener, *, again: bool) -> Answer:
        listen(SourcesFound(by_number(asked.chunks)))
        listen(AnswerBegins("once more" if again else ""))
        with log.stage("answer again" if again else "answer") as stage:
            answer = self._answerer.answer(
                asked.question,
                asked.chunks,
                self._weights,
                on_piece=lambda text: listen(Piece(text)),
                cancelled=asked.cancelled,
                history=asked.history,
            )
            stage.kept = len(answer.citations)
            stage.details.update(answer.reasoning)
        return answer

    def _quality(self, question: str, chunks: Sequence[RetrievedChunk], answer: Answer) -> Quality:
        claims = [one.score for one in answer.checked if one.verdict != "no claim"]
        support = sum(claims) / len(claims) if claims and answer.answered else 0.0
        return quality_of(question, chunks, support, self._tokeniser, self._weights.idf)

    def _further(self, asked: Asked, quality: Quality, log: StageLog) -> tuple[list[RetrievedChunk], int]:
        looking = Looking(
            look=lambda step: self._look(step, asked.where),
            measure=lambda chunks: quality_of(asked.question, chunks, 0.0, self._tokeniser, self._weights.idf),
            prompt=self._prompts["step"],
            most_steps=self._most_steps,
        )
        calls = self._answerer.calls(asked.cancelled)
        return look_further(asked.question, asked.chunks, quality, looking, calls, log), calls.tokens_used

    def _look(self, step: Step, where: Sequence[str]) -> Sequence[RetrievedChunk]:
        """What a step finds. A text without words finds nothing: the model may have written anything."""
        text = step.text
        if step.kind == "GRAPH" and (found := around(step.text, self._generations)):
            text = " ".join((found.name, *found.names))
        try:
            by_words = step.kind != "RETRIEVE"
            return self._finder.find(
                text, top_k=_LOOKED_AT, where=where, strategy="sparse" if by_words else None
            ).chunks
        except UsageError:
            return ()


def _never() -> bool:
    return False
