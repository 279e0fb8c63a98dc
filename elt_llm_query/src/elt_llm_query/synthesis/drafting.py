"""Prompt a language model for an answer: directly, by chain or tree of thought, with reflection, or per collection.

Sources: Wei et al., "Chain-of-Thought Prompting Elicits Reasoning in Large Language Models", NeurIPS 2022. Yao et al.,
"Tree of Thoughts: Deliberate Problem Solving with Large Language Models", NeurIPS 2023; here one level deep, and the
model's own score of an attempt counts half, the share of it that the sources support the other half: small models judge
poorly. Madaan et al., "Self-Refine: Iterative Refinement with Self-Feedback", NeurIPS 2023; here the feedback is the
sentences that no source supports, not a model's opinion.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import get_args

from elt_llm_core.settings.tree import SynthesisName

from elt_llm_query.synthesis.calls import (
    ModelCalls,
    OnPiece,
    PromptSource,
    build_messages,
    fit_sources,
    ignore_piece,
    sources_text,
)
from elt_llm_query.synthesis.prompts import PromptName, Prompts
from elt_llm_query.synthesis.refusals import is_refusal

SYNTHESIS_NAMES: tuple[SynthesisName, ...] = get_args(SynthesisName)
BEST = 10.0
HINTS = (
    "Start from what the question asks for, and find the source that states it.",
    "Start from each source in turn, and note what it states about the question before you decide.",
    "Start from what could be wrong: conditions, exceptions, other dates or other people than those asked about.",
    "Start from the names and figures of the question, and find where each of them appears.",
    "Start from the shortest answer that could be right, and check every word of it.",
)
_ANSWER = re.compile(
    r"^[ \t*#_>]{0,12}(?:final\s{1,4})?(?:answer|antwort|atsakymas|réponse)[*_]{0,3}\s{0,4}:[*_]{0,3}\s{0,8}",
    re.IGNORECASE | re.MULTILINE,
)
_STEP = re.compile(r"^\s{0,8}(?:step\s{1,4})?\d{1,2}\s{0,4}[.):]\s{0,8}|^\s{0,8}[-*•]\s{1,8}", re.IGNORECASE)
_SCORE = re.compile(r"^\s{0,8}[\[(#]?(\d{1,2})[\])]?\s{0,8}[:=\-.]\s{0,8}(\d{1,2}(?:\.\d{1,3})?)(?!\d)", re.MULTILINE)


@dataclass(frozen=True)
class UnsupportedSentence:
    """A sentence of a draft that the sources do not support, and why."""

    sentence: str
    reason: str


@dataclass(frozen=True)
class DraftCheck:
    """The share of a draft's sentences that the sources support, 0 to 1, and the unsupported sentences."""

    share: float
    problems: tuple[UnsupportedSentence, ...]


@dataclass(frozen=True)
class AnswerTask:
    """A question with its numbered sources, best first, and how to answer it.

    `check` compares a draft with sources by code, without a model. `history` are earlier questions with their answers,
    oldest first.
    """

    question: str
    sources: tuple[PromptSource, ...]
    prompts: Prompts
    check: Callable[[str, Sequence[PromptSource]], DraftCheck]
    language: str = "the language of the question"
    most_steps: int = 5
    branches: int = 3
    rounds: int = 3
    best_outside: bool = True
    system: str | None = None
    history: tuple[tuple[str, str], ...] = ()

    def values(self, **more: str) -> dict[str, str]:
        """Return the values for the placeholders of prompts: those that every prompt uses, and those in `more`."""
        return {"question": self.question, "language": self.language, "steps": str(self.most_steps), **more}


@dataclass(frozen=True)
class AnswerDraft:
    """A drafted answer, its reasoning steps, the sources that the model read, and the sources that did not fit.

    `parts` are the answers of single collections by name; `details` are for the trace. `whole` is False if the model
    stopped before the end.
    """

    text: str
    read: tuple[PromptSource, ...]
    dropped: tuple[PromptSource, ...] = ()
    steps: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
    whole: bool = True
    details: dict[str, object] = field(default_factory=dict)


SynthesisMethod = Callable[[AnswerTask, ModelCalls, OnPiece], AnswerDraft]
"""Writes an answer, and passes its text to `on_piece` as it is written. Serves many threads without own state.

Raises ModelError and ResponseGenerationError.
"""


def ask_with_sources(
    task: AnswerTask,
    calls: ModelCalls,
    purpose: str,
    prompt_name: PromptName,
    on_piece: OnPiece | None = None,
    **values: str,
) -> AnswerDraft:
    """Ask with as many of the task's sources, best first, as fit beside the rest of the prompt."""
    prompt = task.prompts[prompt_name]
    if task.system:
        prompt = prompt.model_copy(update={"system": f"{task.system.strip()}\n\n{prompt.system}"})
    without_sources = build_messages(prompt, task.values(**values, sources=""), task.history)
    kept, dropped = fit_sources(task.sources, calls.planned(without_sources), calls.window)
    filled = task.values(**values, sources=sources_text(kept, best_outside=task.best_outside))
    written = calls.ask(purpose, prompt, filled, on_piece, task.history)
    return AnswerDraft(written.text.strip(), kept, dropped, whole=written.finish == "stop")


def draft_simple(task: AnswerTask, calls: ModelCalls, on_piece: OnPiece) -> AnswerDraft:
    """Ask the model once, and return the answer that it writes."""
    return ask_with_sources(task, calls, "answer", "simple", on_piece)


def split_reasoning(written: str, most_steps: int) -> tuple[tuple[str, ...], str]:
    """Split a reply into at most so many steps and the answer after the first line that starts with "Answer:".

    Without such a line everything is the answer: a model that ignores the form still answers.
    """
    mark = _ANSWER.search(written)
    if not mark:
        return (), written.strip()
    return tuple(_steps(written[: mark.start()]))[:most_steps], written[mark.end() :].strip()


def _steps(text: str) -> list[str]:
    """Split a text at its numbered or bulleted lines; without such lines, every line is a step."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    marked = [bool(_STEP.match(line)) for line in lines]
    steps: list[str] = []
    for line, is_marked in zip(lines, marked, strict=True):
        step = _STEP.sub("", line, count=1).strip() if is_marked else line
        if is_marked or not steps or not any(marked):
            steps.append(step)
        else:
            steps[-1] = f"{steps[-1]} {step}"
    return [step for step in steps if step]


def read_attempt_scores(reply: str, count: int) -> list[float | None]:
    """Return the score of each attempt, 0 to 10; None for a missing, ambiguous or out-of-range score."""
    scores: dict[int, set[float]] = {}
    for match in _SCORE.finditer(reply):
        scores.setdefault(int(match[1]), set()).add(float(match[2]))
    by_number = [scores.get(number, set()) for number in range(1, count + 1)]
    return [next(iter(one)) if len(one) == 1 and max(one) <= BEST else None for one in by_number]


class AnswerStream:
    """Passes on the part of a reasoned answer after "Answer:", piece by piece."""

    def __init__(self, on_piece: OnPiece) -> None:
        self._on_piece = on_piece
        self._before = ""
        self.started = False

    def __call__(self, piece: str) -> None:
        """Receive the next piece of the reply."""
        if self.started:
            self._on_piece(piece)
            return
        self._before += piece
        mark = _ANSWER.search(self._before)
        # White space after the mark belongs to it, and more may follow.
        if mark and (rest := self._before[mark.end() :]).strip():
            self.started = True
            self._on_piece(rest)


def draft_by_reasoning(task: AnswerTask, calls: ModelCalls, on_piece: OnPiece) -> AnswerDraft:
    """Ask once for steps and an answer, and pass on only the answer as it is written.

    A reply that ignores the form is an answer without steps.
    """
    stream = AnswerStream(on_piece)
    draft = ask_with_sources(task, calls, "reasoned answer", "cot", stream)
    steps, text = split_reasoning(draft.text, task.most_steps)
    if not stream.started and text:
        on_piece(text)
    return replace(draft, text=text, steps=steps)


def draft_best_attempt(task: AnswerTask, calls: ModelCalls, on_piece: OnPiece) -> AnswerDraft:
    """Write `task.branches` attempts, have the model score them, and return the best, the first of equals.

    The details have every attempt with its scores.
    """
    attempts = [_attempt(task, calls, number) for number in range(1, task.branches + 1)]
    judged = _judge(task, calls, attempts)
    shares = [task.check(one.text, one.read).share for one in attempts]
    scores = [
        share if score is None else (score / BEST + share) / 2 for score, share in zip(judged, shares, strict=True)
    ]
    best = attempts[scores.index(max(scores))]
    on_piece(best.text)
    listed = [
        {"text": one.text, "steps": list(one.steps), "judged": score, "supported": share, "score": total}
        for one, score, share, total in zip(attempts, judged, shares, scores, strict=True)
    ]
    return replace(best, details={"attempts": listed})


def _attempt(task: AnswerTask, calls: ModelCalls, number: int) -> AnswerDraft:
    hint = HINTS[(number - 1) % len(HINTS)]
    draft = ask_with_sources(task, calls, f"attempt {number}", "tot_branch", branch=str(number), hint=hint)
    steps, text = split_reasoning(draft.text, task.most_steps)
    return replace(draft, text=text, steps=steps)


def _judge(task: AnswerTask, calls: ModelCalls, attempts: list[AnswerDraft]) -> list[float | None]:
    if len(attempts) == 1:
        return [None]
    listed = "\n\n".join(f'<answer number="{number}">\n{one.text}\n</answer>' for number, one in enumerate(attempts, 1))
    reply = ask_with_sources(task, calls, "scores of the attempts", "tot_score", attempts=listed)
    return read_attempt_scores(reply.text, len(attempts))


def draft_with_corrections(task: AnswerTask, calls: ModelCalls, on_piece: OnPiece) -> AnswerDraft:
    """Draft once, correct at most `task.rounds` times, and return the version with the most support.

    The latest of equal versions is returned. The details have every version with its problems.
    """
    versions = [ask_with_sources(task, calls, "draft", "simple")]
    checks = [task.check(versions[0].text, versions[0].read)]
    for number in range(1, task.rounds + 1):
        if not checks[-1].problems:
            break
        problems = "\n".join(f"- {one.sentence} ({one.reason})" for one in checks[-1].problems)
        version = ask_with_sources(
            task, calls, f"correction {number}", "reflect", draft=versions[-1].text, problems=problems
        )
        versions.append(version)
        checks.append(task.check(version.text, version.read))
    best = max(range(len(versions)), key=lambda number: (bool(versions[number].text), checks[number].share, number))
    on_piece(versions[best].text)
    listed = [
        {"text": version.text, "supported": check.share, "problems": [one.sentence for one in check.problems]}
        for version, check in zip(versions, checks, strict=True)
    ]
    steps = tuple(
        f"Version {number}: not supported: {problem.sentence} ({problem.reason})"
        for number, check in enumerate(checks, 1)
        for problem in check.problems
    )
    return replace(versions[best], steps=steps, details={"versions": listed})


def draft_by_collection(each: SynthesisMethod, task: AnswerTask, calls: ModelCalls, on_piece: OnPiece) -> AnswerDraft:
    """Answer from the sources of each collection by the method `each`, and merge these answers into one.

    The partial answers are kept. If only one collection has an answer, its answer is returned.
    """
    groups: dict[str, list[PromptSource]] = {}
    for source in task.sources:
        groups.setdefault(source.chunk.collection, []).append(source)
    if len(groups) == 1:
        return each(task, calls, on_piece)
    drafts = {name: each(replace(task, sources=tuple(own)), calls, ignore_piece) for name, own in groups.items()}
    answering = {name: draft for name, draft in drafts.items() if draft.text and not is_refusal(draft.text)}
    whole = all(draft.whole for draft in drafts.values())
    text = _merge(task, calls, answering or drafts, on_piece)
    return AnswerDraft(
        text=text,
        read=tuple(sorted((s for draft in drafts.values() for s in draft.read), key=lambda one: one.number)),
        dropped=tuple(source for draft in drafts.values() for source in draft.dropped),
        steps=tuple(f"{name}: {step}" for name, draft in drafts.items() for step in draft.steps),
        parts=tuple((name, draft.text) for name, draft in drafts.items()),
        whole=whole and calls.ledger[-1].finish == "stop",
        details={name: draft.details for name, draft in drafts.items() if draft.details},
    )


def _merge(task: AnswerTask, calls: ModelCalls, drafts: dict[str, AnswerDraft], on_piece: OnPiece) -> str:
    if len(drafts) == 1 or all(is_refusal(draft.text) for draft in drafts.values()):
        text = next(iter(drafts.values())).text
        on_piece(text)
        return text
    parts = "\n\n".join(f'<part collection="{name}">\n{draft.text}\n</part>' for name, draft in drafts.items())
    written = calls.ask("one answer of all parts", task.prompts["polish"], task.values(parts=parts), on_piece)
    return written.text.strip()


_METHODS: dict[SynthesisName, SynthesisMethod] = {
    "simple": draft_simple,
    "cot": draft_by_reasoning,
    "tot": draft_best_attempt,
    "reflect": draft_with_corrections,
}


def create_synthesis(name: SynthesisName, *, by_collection: bool = False) -> SynthesisMethod:
    """Return the method of this name; with `by_collection`, a method that merges its answers from each collection."""
    return partial(draft_by_collection, _METHODS[name]) if by_collection else _METHODS[name]
