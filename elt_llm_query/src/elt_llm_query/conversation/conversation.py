"""Conversations: rewrite each follow-up question by rules or with a model, answer it, and store both."""

import time
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from elt_llm_core.errors import ModelError, StoreError
from elt_llm_core.models.completion import LlmCompletion, complete
from elt_llm_core.models.token_counts import min_tokens
from elt_llm_core.results import QueryResult, Trace, TraceStage
from elt_llm_core.state.sessions import EARLIER_TURNS_KEY, ConversationTurn, SessionTable
from elt_llm_core.text.normalise import fold, words
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.conversation.follow_up import EarlierTurn, RewrittenQuestion, rewrite_by_rules
from elt_llm_query.grounding.citations import strip_citation_marks
from elt_llm_query.synthesis.events import QuestionRewritten, ignore_events
from elt_llm_query.understanding.question import numbers_of, parse_question, question_language

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from elt_llm_query.synthesis.prompts import Prompt

STAGE = "follow up"
BY_MODEL = "by the language model"
_REWRITE_BUDGET = 600  # tokens of earlier turns in the rewriting prompt, by a low estimate
_ANSWER_BUDGET = 400  # tokens of earlier turns in the answer prompt, whose space is mostly for chunks
_SHARE = 8  # earlier turns take at most one eighth of the context window
_RECENT_TURNS = 8  # earlier turns that are read for a question
_LONGEST_REWRITTEN = 400  # characters of a rewritten question


class QuestionAnswerer(Protocol):
    """An object that answers one question at a time, such as an engine."""

    @property
    def ask(self) -> Callable[..., QueryResult]:
        """A function that takes a question and keyword options and returns the answer. It raises EltError."""


class InMemoryTurns:
    """Holds the turns of a given dialogue, oldest first, their questions rewritten by rules. Stores no new turns."""

    def __init__(self, dialogue: Sequence[tuple[str, str]]) -> None:
        self._turns: list[ConversationTurn] = []
        for number, (question, answer) in enumerate(dialogue, 1):
            understood = rewrite_by_rules(question, [EarlierTurn(turn.understood) for turn in self._turns]).text
            result = QueryResult(question=understood, answer=answer, answered=bool(answer.strip()))
            self._turns.append(ConversationTurn(number, question, understood, answer, result, ""))

    def turns(self, session_id: str, last: int | None = None) -> list[ConversationTurn]:
        """Return the turns of a conversation, oldest first; with `last`, only that many of the latest."""
        return self._turns if last is None else self._turns[-last:] if last else []

    def add(self, session_id: str, asked: str, result: QueryResult) -> ConversationTurn:
        """Build the turn for a question and its answer, and return it without storing it."""
        return ConversationTurn(len(self._turns) + 1, asked, result.question, result.answer, result, "")


@dataclass(frozen=True)
class Conversation:
    """A conversation with an engine. Several objects may share one session, whose turns are read for each question.

    Rules decide whether a question depends on earlier turns. With a language model and the prompt `follow_up`, the
    model rewrites a dependent question; otherwise, or if the model fails, rules rewrite the question. The model that
    answers a dependent question also reads the last turns. An independent question is answered without earlier turns.
    """

    engine: QuestionAnswerer
    sessions: SessionTable | InMemoryTurns
    session_id: str
    _: KW_ONLY
    llm: "LLM | None" = field(default=None, repr=False)  # may show its key
    prompt: "Prompt | None" = None

    def ask(self, question: str, **options: Any) -> QueryResult:
        """Rewrite the question, answer it, and store the turn. The result contains the rewritten question.

        `options` are passed to the engine. The result's notes show how the question was rewritten, and report if the
        turn could not be stored. Raises UsageError if the session no longer exists, and the errors of the engine.
        """
        started = time.perf_counter()
        turns = self.sessions.turns(self.session_id, last=_RECENT_TURNS)
        notes: tuple[str, ...] = ()
        rewritten = rewrite_by_rules(question, [earlier_turn(turn) for turn in turns])
        if rewritten.rule and self.llm is not None and self.prompt is not None:
            rewritten, notes = rewrite_by_model(
                self.llm, self.prompt, question, turns, rewritten, cancelled=options.get("cancelled")
            )
        took_ms = (time.perf_counter() - started) * 1000
        shown: tuple[ConversationTurn, ...] = ()
        if rewritten.rule:
            options.get("listen", ignore_events)(QuestionRewritten(rewritten.text))
            shown = self._history(turns)
        if shown:
            # The citation numbers of earlier answers belong to other sources.
            answers = (" ".join(strip_citation_marks(turn.answer).split()) for turn in shown)
            options |= {"history": tuple(zip((turn.understood for turn in shown), answers, strict=True))}
        result = self.engine.ask(rewritten.text, **options)
        if turns:
            details = {"asked": question, "understood": rewritten.text, "rule": rewritten.rule or "complete by itself"}
            stage = TraceStage(name=STAGE, took_ms=took_ms, kept=1, details=details)
            understood = (f"Understood as: {rewritten.text}",) if rewritten.rule else ()
            noted = {
                "notes": (*understood, *notes, *result.notes),
                "trace": Trace(stages=(stage, *result.trace.stages)),
            }
            result = result.model_copy(update=noted)
        if rewritten.rule and (read := self._numbers_read(turns, shown)):
            result = result.model_copy(update={"metadata": {**result.metadata, EARLIER_TURNS_KEY: read}})
        try:
            self.sessions.add(self.session_id, question, result)
        except StoreError as error:
            result = result.model_copy(update={"notes": (*result.notes, f"This turn could not be stored: {error}")})
        return result

    def _history(self, turns: list[ConversationTurn]) -> tuple[ConversationTurn, ...]:
        """Return the last answered turns that fit into the prompt; an empty tuple without a language model."""
        if self.llm is None:
            return ()
        budget = min(_ANSWER_BUDGET, self.llm.metadata.context_window // _SHARE)
        return fit_history([turn for turn in turns if turn.result.answered], budget, min_tokens)

    def _numbers_read(self, turns: list[ConversationTurn], shown: tuple[ConversationTurn, ...]) -> list[int]:
        """Return the numbers of the earlier turns that a model read. Deleting one of them also deletes the new turn."""
        has_model = self.llm is not None and self.prompt is not None
        rewriting = fit_history(turns, _REWRITE_BUDGET, min_tokens) if has_model else ()
        return sorted({turn.number for turn in (*rewriting, *shown)})


def earlier_turn(turn: ConversationTurn) -> EarlierTurn:
    """Convert a stored turn for the rewriting rules. Its topics are the headings above the sections it cites."""
    sections = [citation.section.rsplit(" > ", 1)[-1] for citation in turn.result.citations if citation.section]
    return EarlierTurn(turn.understood, tuple(dict.fromkeys(sections)))


def fit_history(
    turns: Sequence[ConversationTurn], budget: int, count_tokens: Callable[[str], int]
) -> tuple[ConversationTurn, ...]:
    """Return the last turns, in order and without gaps, whose texts together have at most `budget` tokens."""
    kept: list[ConversationTurn] = []
    left = budget
    for turn in reversed(turns):
        left -= count_tokens(turn_text(turn))
        if left < 0:
            break
        kept.append(turn)
    return tuple(reversed(kept))


def turn_text(turn: ConversationTurn) -> str:
    """Return a turn's text for prompts: the rewritten question, and the answer without citation marks."""
    return f"Question: {turn.understood}\nAnswer: {strip_citation_marks(turn.answer)}\n"


def rewrite_by_model(
    llm: "LLM",
    prompt: "Prompt",
    question: str,
    turns: Sequence[ConversationTurn],
    by_rules: RewrittenQuestion,
    *,
    cancelled: Callable[[], bool] | None = None,
) -> tuple[RewrittenQuestion, tuple[str, ...]]:
    """Rewrite a question with a language model. Return the new question and any notes.

    If the model fails or its version is unusable, return `by_rules`, the question as the rules rewrote it, and a note
    with the reason. No error is raised then. `turns` are the earlier turns, oldest first. `cancelled` stops the model.
    """
    from elt_llm_query.synthesis.calls import build_messages

    earlier = "\n".join(map(turn_text, fit_history(turns, _REWRITE_BUDGET, min_tokens)))
    try:
        written = complete(llm, build_messages(prompt, {"earlier": earlier, "question": question}), cancelled=cancelled)
    except ModelError as error:
        return by_rules, (f"Rules rewrote the follow-up question, because the language model failed: {error}.",)
    text = written.text.strip().strip("\"'“”„`").strip()
    if flaw := _find_flaw(written, text, question, turns):
        return by_rules, (f"Rules rewrote the follow-up question, because the language model's version {flaw}.",)
    return RewrittenQuestion(text, BY_MODEL), ()


def _find_flaw(written: LlmCompletion, text: str, question: str, turns: Sequence[ConversationTurn]) -> str:
    if written.finish != "stop" or not text:
        return "is not complete"
    if len(text.splitlines()) > 1 or len(text) > _LONGEST_REWRITTEN:
        return "is not a single question"
    if lost := _labels(question) - set(words(text)):
        return f"leaves out {', '.join(sorted(lost))}"
    known = {word for turn in turns for word in words(turn_text(turn))} | set(words(question))
    if invented := _labels(text) - known:
        return f"invents {', '.join(sorted(invented))}"
    # A rewritten question without most of the content words is another question.
    tokeniser = KeywordTokeniser(question_language(question))
    topics, kept = parse_question(question, tokeniser).terms, set(tokeniser.stems(text))
    missing = [stem for stem in topics if stem not in kept]
    if 2 * len(missing) > len(topics):
        return f"leaves out the topic {', '.join(missing)}"
    version = f" {' '.join(words(text))} "
    repeated = any(version in f" {' '.join(words(strip_citation_marks(turn.answer)))} " for turn in turns)
    return "repeats an answer" if repeated else ""


def _labels(text: str) -> set[str]:
    """Return the words of names, codes and numbers in a text, in lower case and without diacritics."""
    names = {word for name in parse_question(text).names for word in words(name)}
    return (names | {fold(number) for number in numbers_of(text)}) & set(words(text))
