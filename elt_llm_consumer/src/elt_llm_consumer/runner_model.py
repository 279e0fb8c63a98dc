"""Asks the language model on behalf of rows, and counts what that takes."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from elt_llm_core.errors import UnusableReply
from elt_llm_core.models.token_estimate import TokenEstimate

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


class Stopped(Exception):
    """The run is over; a row that is under way is given up."""


@dataclass(frozen=True)
class Spent:
    """Calls of a language model, and tokens that it read and wrote: as its server counts, else estimated."""

    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        """Both together."""
        return Spent(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.answer_tokens + other.answer_tokens,
        )


class RowAsker:
    """Asks for one row. Called with a prompt it returns what the model says to it."""

    def __init__(self, llm: "LLM", is_over: Callable[[], bool], tokens: "TokenCount") -> None:
        self._llm, self._is_over, self._tokens = llm, is_over, tokens
        self.spent = Spent()

    def __call__(self, prompt: str) -> str:
        """The whole reply. Raises what `write` raises, UnusableReply for half a reply, Stopped if the run is over."""
        from elt_llm_core.models.writing import write
        from llama_index.core.llms import ChatMessage, MessageRole

        if self._is_over():
            raise Stopped
        messages = [ChatMessage(role=MessageRole.USER, content=prompt)]
        self.spent += Spent(calls=1)
        written = write(self._llm, messages, cancelled=self._is_over)
        read, wrote = written.prompt_tokens, written.answer_tokens
        self.spent += Spent(
            prompt_tokens=self._tokens.of(prompt) if read is None else read,
            answer_tokens=self._tokens.of(written.text) if wrote is None else wrote,
        )
        if self._is_over():
            raise Stopped
        if written.finish != "stop":
            raise UnusableReply(
                f"The language model's reply has no end ({written.finish}).",
                hint="Allow longer answers in the settings of its server, or let the prompt ask for less",
            )
        return written.text


class TokenCount:
    """Estimates tokens; its vocabulary is read when it is first needed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._estimate: TokenEstimate | None = None

    def of(self, text: str) -> int:
        """Tokens of a text, rather too many than too few."""
        with self._lock:
            self._estimate = self._estimate or TokenEstimate()
        return len(self._estimate.spans(text))
