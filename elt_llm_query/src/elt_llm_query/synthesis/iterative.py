"""Iterative answers: if an answer is not good enough, the model searches further and answers again.

Source: Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models", ICLR 2023. Here, there are four
actions, and code decides whether an answer is good enough.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from elt_llm_core.enterprise import EnterpriseModel, ModelGraph
from elt_llm_core.errors import ModelTimeout, ResponseGenerationError, UsageError
from elt_llm_core.index.searchable import Searchable
from elt_llm_core.models.completion import model_server_of
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.settings.tree import Settings, StrategyName
from elt_llm_core.text.normalise import words
from elt_llm_core.text.stems import KeywordTokeniser
from llama_index.core.llms import LLM

from elt_llm_query.extractive.answerer import Answer, AnswerRequest, ExtractiveAnswerer, with_time_limit
from elt_llm_query.retrieve.trace import StageLog
from elt_llm_query.search import SearchPipeline
from elt_llm_query.synthesis.calls import build_messages
from elt_llm_query.synthesis.events import (
    AnswerDelta,
    AnswerStarted,
    Listener,
    SourcesFound,
    in_citation_order,
    send_answer,
)
from elt_llm_query.synthesis.model_answerer import ModelAnswerer
from elt_llm_query.synthesis.prompts import Prompts
from elt_llm_query.understanding.question import parse_question

ARTEFACT = "enterprise_model"
_ENOUGH_COVERAGE, _ENOUGH_SUPPORT = 0.6, 0.5  # if an answer has less coverage or support, the model searches further
_STEP_TOP_K, _MOST_ADDED = 8, 4  # chunks that a step retrieves, and chunks that it adds
_MOST_NEIGHBOURS = 12  # related entities that a GRAPH step searches for
_HOW = re.compile(
    r"\b(?:how|wie) \w{1,20}\b|\b(?:what|which|welche\w?) (?:kind|sort|time|number|art|zeit)\b", re.IGNORECASE
)
_STEP = re.compile(r"\b(RETRIEVE|KEYWORD|GRAPH|DONE)\b[ \t*_]{0,6}[:\-]?[ \t*_]{0,6}([^\n]{0,400})")


@dataclass(frozen=True)
class AnswerQuality:
    """Measures of an answer.

    `coverage` (0 to 1) is the weighted share of the question's words that the chunks contain; `missing` are the others.
    `support` (0 to 1) is the mean chance that the chunks support the answer's sentences, 0 for a refusal. `sections` is
    the number of sections that the chunks come from.
    """

    coverage: float
    support: float
    sections: int
    missing: tuple[str, ...]

    @property
    def is_enough(self) -> bool:
        """Whether the answer needs no further search."""
        return self.coverage >= _ENOUGH_COVERAGE and self.support >= _ENOUGH_SUPPORT

    def as_dict(self) -> dict[str, object]:
        """Return the quality measures of the answer by name, for the trace."""
        return {
            "coverage": round(self.coverage, 4),
            "support": round(self.support, 4),
            "sections": self.sections,
            "missing": list(self.missing),
            "enough": self.is_enough,
        }


def measure_quality(
    question: str,
    chunks: Sequence[RetrievedChunk],
    support: float,
    tokeniser: KeywordTokeniser,
    idf: Callable[[str], float],
) -> AnswerQuality:
    """Measure the quality of an answer, given its support and the chunks that it was written from."""
    # A chunk with the answer need not contain words that only serve to ask, such as "long" in "how long".
    weights = {stem: idf(stem) for stem in parse_question(_HOW.sub(" ", question), tokeniser).terms}
    present = {
        stem for chunk in chunks for stem in tokeniser.stems(f"{chunk.source_title} {chunk.context} {chunk.text}")
    }
    total = sum(weights.values())
    covered = sum(weight for stem, weight in weights.items() if stem in present)
    sections = len({(chunk.source_id, chunk.section) for chunk in chunks})
    missing = tuple(stem for stem in weights if stem not in present)
    return AnswerQuality(covered / total if total else 1.0, support, sections, missing)


@dataclass(frozen=True)
class SearchStep:
    """A step of the search, which a language model chose. `text` is its query.

    RETRIEVE searches by meaning and words, KEYWORD by words, GRAPH for related entities, and DONE ends the search.
    """

    kind: str
    text: str = ""


def parse_step(reply: str) -> SearchStep:
    """Return the first step in a reply that has a query. Return DONE if there is none, or if DONE comes before it."""
    for kind, rest in _STEP.findall(reply):
        text = rest.strip(" \t\"'`*.<>[]()")
        if kind == "DONE":
            break
        if text:
            return SearchStep(kind, text)
    return SearchStep("DONE")


AskStep = Callable[[str, dict[str, str]], tuple[str, Mapping[str, object]]]
"""A function that asks a model for a step, by name and prompt values, and returns the reply and trace details."""


def _list_sections(chunks: Sequence[RetrievedChunk]) -> str:
    """List the distinct titles and sections of the chunks, so that the model can decide what to search for next."""
    sections = dict.fromkeys(" > ".join(filter(None, (chunk.source_title, chunk.section))) for chunk in chunks)
    # Each is on one line, so that a title with a line break cannot look like an instruction to the model.
    return "\n".join(f"- {' '.join(section.split())}" for section in sections)


def find_entity_neighbours(text: str, generations: Sequence[Searchable]) -> tuple[str, ...]:
    """Return the longest entity name in the text and the names of related entities, or an empty tuple."""
    padded = f" {' '.join(words(text))} "
    found = []
    for generation in generations:
        stored = generation.artefacts(ARTEFACT) if ARTEFACT in generation.artefact_names else {}
        for model in map(EnterpriseModel.model_validate, stored.values()):
            named = [(words(entity.name), entity) for entity in model.entities]
            found += [(len(own), model, one) for own, one in named if own and f" {' '.join(own)} " in padded]
    if not found:
        return ()
    _, model, best = max(found, key=lambda one: one[0])
    names = {entity.id: entity.name for entity in model.entities}
    return (best.name, *(names[one] for one in ModelGraph(model).neighbours(best.id)[:_MOST_NEIGHBOURS]))


@dataclass(frozen=True)
class WrittenAnswer:
    """An answer, and the chunks it was written from. Chunks from further searches are last."""

    answer: Answer
    chunks: tuple[RetrievedChunk, ...]


class IterativeAnswerer:
    """Writes answers with one language model, and searches further if needed. Many threads may share one object."""

    def __init__(
        self,
        llm: LLM,
        pipeline: SearchPipeline,
        generations: Sequence[Searchable],
        extractive: ExtractiveAnswerer,
        settings: Settings,
        prompts: Prompts,
    ) -> None:
        self._pipeline = pipeline
        self._generations = tuple(generations)
        self._extractive = extractive
        self._answerer = ModelAnswerer(llm, extractive, settings, prompts)
        self._step_prompt = prompts["step"]
        self._most_steps = settings.answer.further_steps
        self._server = server = model_server_of(llm)
        self.model = f"{server.name} {server.model}"
        prompts_key = tuple(prompt.model_dump_json() for prompt in prompts.values())
        self.key = (str(server), server.model, prompts_key, extractive.weights)

    def answer(self, request: AnswerRequest, log: StageLog, listen: Listener) -> WrittenAnswer:
        """Return the checked answer. Raises ModelError, and ResponseGenerationError if the window is too small."""
        was_cancelled = request.cancelled or (lambda: False)
        limited = with_time_limit(self._server.answer_timeout, str(self._server), request.cancelled)
        request = replace(request, cancelled=limited)
        answer = self._answer(request, log, listen, again=False)
        quality = self._measure(request.question, request.chunks, answer)
        with log.stage("gate") as stage:
            stage.kept = int(quality.is_enough)
            stage.details.update(quality.as_dict())
        first = WrittenAnswer(answer, tuple(request.chunks))
        # If no tokens were used, the model was not asked.
        if quality.is_enough or not self._most_steps or not answer.tokens_used or was_cancelled():
            return first
        try:
            return self._improve(request, first, quality, log, listen, was_cancelled)
        except (ModelTimeout, ResponseGenerationError) as error:  # the first answer can still be used
            self._send_again(first, listen)
            note = f"Searching further failed: {str(error).rstrip('.')}."
            return replace(first, answer=replace(answer, notes=(*answer.notes, note)))

    def search_further(
        self, question: str, chunks: Sequence[RetrievedChunk], ask: Callable[[str], str]
    ) -> list[RetrievedChunk]:
        """Return the chunks, followed by those of further searches; `ask` sends each prompt to the model.

        Raises the errors of `ask` and RetrievalError.
        """

        def ask_step(_name: str, values: dict[str, str]) -> tuple[str, Mapping[str, object]]:
            messages = build_messages(self._step_prompt, values)
            return ask("\n\n".join(message.content or "" for message in messages)), {}

        quality = self._measure(question, chunks)
        return self._search_further(AnswerRequest(question, chunks), quality, ask_step, StageLog())

    def _search_further(
        self, request: AnswerRequest, quality: AnswerQuality, ask: AskStep, log: StageLog
    ) -> list[RetrievedChunk]:
        """Return the request's chunks, followed by the new chunks from searches that a language model chooses.

        The search ends at the step DONE, after the configured number of steps, or once all words that were missing have
        been found. Every step is a stage of the log. Raises RetrievalError and the errors of the language model.
        """
        collected = list(request.chunks)
        was_missing = quality.missing
        taken: list[str] = []
        for number in range(1, self._most_steps + 1):
            with log.stage(f"step {number}") as stage:
                stage.details["quality"] = quality.as_dict()
                values = {
                    "question": request.question,
                    "found": _list_sections(collected),
                    "missing": ", ".join(quality.missing) or "nothing",
                    "taken": "\n".join(taken) or "none yet",
                }
                reply, call = ask(f"step {number}", values)
                step = parse_step(reply)
                stage.details |= {"step": step.kind, "text": step.text, **call}
                known = {(chunk.collection, chunk.node_id) for chunk in collected}
                retrieved = self._search(step, request.where) if step.kind != "DONE" else ()
                added = [chunk for chunk in retrieved if (chunk.collection, chunk.node_id) not in known][:_MOST_ADDED]
                collected += added
                stage.kept = len(added)
                stage.details["added"] = [chunk.node_id for chunk in added]
            taken.append(f"{step.kind}: {step.text} ({len(added)} new passages)")
            if step.kind == "DONE":
                break
            quality = self._measure(request.question, collected)
            if was_missing and not quality.missing:
                break
        return collected

    def _improve(
        self,
        request: AnswerRequest,
        first: WrittenAnswer,
        quality: AnswerQuality,
        log: StageLog,
        listen: Listener,
        was_cancelled: Callable[[], bool],
    ) -> WrittenAnswer:
        """Search further, answer again from all chunks, and return the better of the two answers."""
        calls = self._answerer.calls(request.cancelled)

        def ask(name: str, values: dict[str, str]) -> tuple[str, Mapping[str, object]]:
            reply = calls.ask(name, self._step_prompt, values).text
            return reply, {"call": asdict(calls.ledger[-1])}

        chunks = self._search_further(request, quality, ask, log)
        tokens = first.answer.tokens_used + calls.tokens_used
        kept = replace(first, answer=replace(first.answer, tokens_used=tokens))
        if len(chunks) == len(request.chunks) or was_cancelled():
            return kept
        second = self._answer(replace(request, chunks=chunks), log, listen, again=True)
        tokens += second.tokens_used
        if self._measure(request.question, chunks, second).support < quality.support:
            self._send_again(first, listen)
            return replace(first, answer=replace(first.answer, tokens_used=tokens))
        return WrittenAnswer(replace(second, tokens_used=tokens), tuple(chunks))

    @staticmethod
    def _send_again(first: WrittenAnswer, listen: Listener) -> None:
        """Send the first answer again with its source numbers, because clients show the last answer sent."""
        send_answer(first.answer.text if first.answer.answered else "", first.chunks, listen, "back")

    def _answer(self, request: AnswerRequest, log: StageLog, listen: Listener, *, again: bool) -> Answer:
        listen(SourcesFound(in_citation_order(request.chunks)))
        listen(AnswerStarted("once more" if again else ""))
        with log.stage("answer again" if again else "answer") as stage:
            answer = self._answerer.answer(request, on_piece=lambda text: listen(AnswerDelta(text)))
            stage.kept = len(answer.citations)
            stage.details.update(answer.reasoning)
        return answer

    def _measure(self, question: str, chunks: Sequence[RetrievedChunk], answer: Answer | None = None) -> AnswerQuality:
        claims = [one.score for one in answer.checked if one.verdict != "no claim"] if answer else []
        support = sum(claims) / len(claims) if answer and claims and answer.answered else 0.0
        idf = self._extractive.term_weights(chunks).idf
        return measure_quality(question, chunks, support, self._extractive.tokeniser, idf)

    def _search(self, step: SearchStep, where: Sequence[str]) -> Sequence[RetrievedChunk]:
        """Search for the query of a step. Return no chunks if the model wrote a query without words."""
        names = find_entity_neighbours(step.text, self._generations) if step.kind == "GRAPH" else ()
        strategy: StrategyName | None = None if step.kind == "RETRIEVE" else "sparse"
        query = " ".join(names) or step.text
        try:
            return self._pipeline.search(query, top_k=_STEP_TOP_K, where=where, strategy=strategy).chunks
        except UsageError:
            return ()
