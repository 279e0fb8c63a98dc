"""What every way of writing an answer works with: the task, the model's calls, and what comes out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from elt_llm_core.models.writing import Written

from elt_llm_query.synthesis.budget import fit_sources
from elt_llm_query.synthesis.calls import ModelCalls, OnPiece, as_messages
from elt_llm_query.synthesis.prompts import Prompt, Prompts
from elt_llm_query.synthesis.sources import Source, as_read


@dataclass(frozen=True)
class Problem:
    """A sentence of a draft that the sources do not bear out, and why."""

    sentence: str
    reason: str


@dataclass(frozen=True)
class Check:
    """How a draft stands up: the share of its sentences that the sources bear out, 0 to 1, and the others."""

    share: float
    problems: tuple[Problem, ...]


CheckDraft = Callable[[str, Sequence[Source]], Check]


@dataclass(frozen=True)
class Task:
    """A question with its numbered sources, best first, and how it is to be answered.

    `check` compares a draft with sources by code; no model is asked for it. `history` are earlier questions with their
    answers, the oldest first.
    """

    question: str
    sources: tuple[Source, ...]
    prompts: Prompts
    check: CheckDraft
    language: str = "the language of the question"
    most_steps: int = 5
    branches: int = 3
    rounds: int = 3
    best_outside: bool = True
    system: str | None = None
    history: tuple[tuple[str, str], ...] = ()

    def values(self, **more: str) -> dict[str, str]:
        """What stands in every prompt, and more."""
        return {"question": self.question, "language": self.language, "steps": str(self.most_steps), **more}


@dataclass(frozen=True)
class Draft:
    """What was written: the answer, the steps that led to it, the sources that were read and those that did not fit.

    `parts` are answers that it was made of, by name; `told` is for the trace. `whole` is False if the model stopped
    before its end.
    """

    text: str
    read: tuple[Source, ...]
    dropped: tuple[Source, ...] = ()
    steps: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
    whole: bool = True
    told: dict[str, object] = field(default_factory=dict)


class Synthesis(Protocol):
    """A way to write an answer. Serves many threads: it keeps nothing of a question."""

    @property
    def name(self) -> str:
        """What the settings call it."""

    def draft(self, task: Task, calls: ModelCalls, on_piece: OnPiece) -> Draft:
        """An answer; `on_piece` gets its text as it is written. Raises ModelError, ResponseGenerationError."""


@dataclass(frozen=True)
class Asked:
    """What a model wrote to a prompt with sources, and which of them it read."""

    written: Written
    read: tuple[Source, ...]
    dropped: tuple[Source, ...]

    @property
    def whole(self) -> bool:
        """Whether the model came to its end."""
        return self.written.finish == "stop"


def ask_with_sources(
    task: Task,
    calls: ModelCalls,
    purpose: str,
    prompt: Prompt,
    values: dict[str, str],
    on_piece: OnPiece | None = None,
) -> Asked:
    """Ask with as many of the task's sources, best first, as fit beside the rest of the prompt."""
    if task.system:
        prompt = prompt.model_copy(update={"system": f"{task.system.strip()}\n\n{prompt.system}"})
    without = calls.planned(as_messages(prompt, {**values, "sources": ""}, task.history))
    fitted = fit_sources(task.sources, without, calls.window)
    sources = as_read(fitted.kept, best_outside=task.best_outside)
    written = calls.ask(purpose, prompt, {**values, "sources": sources}, on_piece, task.history)
    return Asked(written, fitted.kept, fitted.dropped)
