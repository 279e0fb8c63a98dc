"""Call the language model for rows, count tokens, and report the cost of a run."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from elt_llm_core.errors import EltError, UnusableReply
from elt_llm_core.models.token_counts import TokenEstimate

from elt_llm_consumer.jobs.tasks import RowTask

if TYPE_CHECKING:
    from elt_llm_core.models.completion import LlmCompletion
    from llama_index.core.llms import LLM


class RunStopped(Exception):
    """Raised when a row that is still being made calls the language model although the run has ended."""


@dataclass(frozen=True)
class ModelUsage:
    """The number of language model calls, prompt tokens and answer tokens, counted by the server or estimated."""

    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0

    def __add__(self, other: "ModelUsage") -> "ModelUsage":
        """Return the sum of two usages of a language model."""
        return ModelUsage(
            self.calls + other.calls, self.prompt_tokens + other.prompt_tokens, self.answer_tokens + other.answer_tokens
        )


class RowPrompter:
    """Sends the prompts of one row to the language model."""

    def __init__(self, llm: "LLM", is_over: Callable[[], bool], tokens: "TokenCounter") -> None:
        self._llm, self._is_over, self._tokens = llm, is_over, tokens
        self.spent = ModelUsage()

    def __call__(self, prompt: str) -> str:
        """Return the complete reply of the model.

        If the server broke off the reply, it is requested once more with another seed. Raises ModelError, UnusableReply
        if the reply is truncated, and RunStopped if the run has ended.
        """
        written = self._complete(prompt)
        if written.finish == "cut off":  # a server may break off an answer that repeats itself
            written = self._complete(prompt, another_seed=True)
        if written.finish != "stop":
            raise UnusableReply(
                f"The language model's reply is truncated ({written.finish}).",
                hint="Allow longer answers in the settings of the model's server, or shorten the task in the prompt.",
            )
        return written.text

    def _complete(self, prompt: str, *, another_seed: bool = False) -> "LlmCompletion":
        """Call the model once and count the cost. Raises ModelError, and RunStopped if the run has ended."""
        from elt_llm_core.models.completion import complete_prompt

        if self._is_over():
            raise RunStopped
        self.spent += ModelUsage(calls=1)
        written = complete_prompt(self._llm, prompt, self._is_over, another_seed=another_seed)
        read, wrote = written.prompt_tokens, written.answer_tokens
        self.spent += ModelUsage(
            prompt_tokens=self._tokens.of(prompt) if read is None else read,
            answer_tokens=self._tokens.of(written.text) if wrote is None else wrote,
        )
        if self._is_over():
            raise RunStopped
        return written


class TokenCounter:
    """Estimates numbers of tokens with a vocabulary that is loaded on first use."""

    def of(self, text: str) -> int:
        """Estimate the number of tokens in a text. The estimate errs on the high side."""
        return len(self._estimate.spans(text))

    @cached_property
    def _estimate(self) -> TokenEstimate:
        return TokenEstimate()


_MAX_REASON_LENGTH = 300  # maximum characters of the reason for a failure


@dataclass(frozen=True)
class RowFailure:
    """A row that failed, and the reason."""

    table: str
    key: str
    name: str
    reason: str
    hint: str = ""


@dataclass(frozen=True)
class RunCost:
    """The estimated cost of a run. `seconds` is based on the times of earlier rows; None if there are too few of them.

    `calls` and `prompt_tokens` count the prompts that are known in advance. A row may need fewer or more prompts.
    """

    rows: int
    to_make: int
    kept: int
    left_out: int
    failed: int
    calls: int
    prompt_tokens: int
    model: str
    seconds: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the values as plain JSON types."""
        return asdict(self)


@dataclass(frozen=True)
class RunReport:
    """The report of a run: the number of all rows, and of those that were made, reused, skipped or failed."""

    job: str
    kind: str
    rows: int
    made: int
    kept: int
    failures: tuple[RowFailure, ...]
    left_out: int
    spent: ModelUsage
    model: str
    figures: dict[str, int | float | str]
    notes: tuple[str, ...]
    files: tuple[str, ...]
    seconds: float

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 1 if a row failed, else 0."""
        return int(bool(self.failures))

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {**asdict(self), "failed": len(self.failures)}


def row_failure(task: RowTask, error: Exception) -> RowFailure:
    """Return the failure of a row. Its reason is the message of the error on one line."""
    if isinstance(error, EltError):
        return RowFailure(task.table, task.key, task.name, str(error), error.hint)
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:_MAX_REASON_LENGTH]
    return RowFailure(task.table, task.key, task.name, reason)
