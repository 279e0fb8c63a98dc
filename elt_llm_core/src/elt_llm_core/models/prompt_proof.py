"""Proves that a server read a whole prompt: by the window it tells, or by counting the prompt once more in pieces."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from elt_llm_core.errors import PromptTooLong
from elt_llm_core.models.model_server import ModelServer
from elt_llm_core.models.prompt_pieces import pieces_of
from elt_llm_core.models.token_bound import TokenBound

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

SMALLEST_WINDOW = 512
"""Tokens that any server reads: it is the least that `context_window` may be set to."""
_TEMPLATE = 64  # tokens at most that a chat template puts around one message, its own system message among them
_MESSAGE = 8  # and around each further one
_SHARE = 0.98  # of the tokens counted in pieces that must have been read; honest prompts have 0.9866 at least
_FEW = 8  # tokens that never make a difference: pieces begin and end where the whole does not
_FILLER = "x"  # a token in every vocabulary

WireMessage = Mapping[str, str]


class PromptCounter(Protocol):
    """What a server can be asked about the prompts it reads."""

    def told_window(self) -> int | None:
        """The tokens it reads with the model as it is loaded now; None where it does not tell."""

    def count(self, messages: Sequence[WireMessage]) -> int | None:
        """The tokens of messages as it counts them, with as little writing as possible; None where it does not."""


@dataclass(frozen=True)
class Recount:
    """A prompt counted again: the tokens it must have had, and those that were read of it."""

    expected: int
    read: int

    @property
    def is_short(self) -> bool:
        """Whether part of the prompt was not read."""
        return self.read < min(_SHARE * self.expected, self.expected - _FEW)


class PromptProof:
    """Remembers up to which length a server's prompts are known to be read whole. For many threads."""

    def __init__(self, counter: PromptCounter, server: ModelServer) -> None:
        self._counter = counter
        self._server = server
        self._lock = threading.Lock()
        self._proven = SMALLEST_WINDOW
        self._asked = False
        self._told: int | None = None
        self._most = TokenBound().most

    def check(
        self, messages: "Sequence[ChatMessage]", read: int, cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        """Raises PromptTooLong if the server read less than the messages; `read` are the tokens it counted.

        Nothing is asked of it for a prompt that fits a window already known. Otherwise it is asked once for its window,
        and if that is not enough, the prompt is counted once more, in pieces that no server cuts: what cannot be proven
        is not believed. Raises a ModelError if that cannot be done.
        """
        texts = [(message.role.value, message.content or "") for message in messages]
        most = sum(self._most(text) + _MESSAGE for _, text in texts) + _TEMPLATE
        if most <= self._proven_for(most):
            return
        recount = self._recount(texts, read, cancelled)
        if recount is None:
            return
        if recount.is_short:
            raise self._cut(recount)
        with self._lock:
            self._proven = max(self._proven, read)

    def _proven_for(self, most: int) -> int:
        with self._lock:
            if most > self._proven and not self._asked:
                self._asked = True
                self._told = self._counter.told_window()
                sent = self._server.context_window or 0
                self._proven = max(self._proven, min(self._told or 0, sent))
            return self._proven

    def _recount(self, texts: Sequence[tuple[str, str]], read: int, cancelled: Callable[[], bool]) -> Recount | None:
        """None where the server counts nothing, or nobody waits any more."""
        alone = self._counter.count([{"role": "user", "content": _FILLER}])
        frame = self._counter.count([{"role": role, "content": _FILLER} for role, _ in texts])
        if alone is None or frame is None:
            return None
        together = "\n".join(text for _, text in texts)
        expected = frame - len(texts) - (len(texts) - 1)  # without the fillers, and the line ends that join the texts
        for piece in pieces_of(together, self._proven - 2 * _TEMPLATE, self._most):
            counted = None if cancelled() else self._counter.count([{"role": "user", "content": piece}])
            if counted is None:
                return None
            expected += counted - alone + 1
        return Recount(expected, read)

    def _cut(self, recount: Recount) -> PromptTooLong:
        told = f"; it loaded the model with {self._told}" if self._told else ""
        setting = f"{self._server.section}.context_window"
        return PromptTooLong(
            f"{self._server} read {recount.read} tokens of a prompt that has about {recount.expected}{told}",
            hint=f"Set {setting} to what the server really reads, or give the server the window of {setting}",
        )


@runtime_checkable
class HasProof(Protocol):
    """A language model whose prompts can be proven to be read whole."""

    @property
    def proof(self) -> PromptProof:
        """What is known of them."""
