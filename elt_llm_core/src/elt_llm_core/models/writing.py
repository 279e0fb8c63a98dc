"""The one place where a language model is asked to write: streaming, bounded, with its failures told apart."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elt_llm_core.errors import EltError, ModelTimeout, UnusableReply
from elt_llm_core.models.model_server import ANSWER_TIMEOUT, HasServer, ModelServer
from elt_llm_core.models.prompt_proof import HasProof
from elt_llm_core.models.prompt_size import fewest_tokens, is_cut
from elt_llm_core.models.replies import Finish, Reply
from elt_llm_core.models.retrying import ATTEMPTS, FIRST_PAUSE, LONGEST_PAUSE
from elt_llm_core.models.server_failures import client_failures, explained, too_long
from elt_llm_core.models.stream_pump import StreamPump, TookTooLong
from elt_llm_core.models.template_marks import without_marks_of_speakers

if TYPE_CHECKING:
    from llama_index.core.llms import LLM, ChatMessage, ChatResponse


@dataclass(frozen=True)
class Written:
    """What a model wrote."""

    text: str
    prompt_tokens: int | None
    """Tokens of the prompt as the server counted them; None if it does not tell. Compare with what was planned."""
    answer_tokens: int | None
    finish: Finish
    """stop: it had said all; length: it reached the most it may write; cut off: it was cancelled, or its stream ended
    without an end. Only `stop` is complete."""
    thinking: str
    """What it thought before it answered, where it shows that; never part of `text`."""


def write(
    llm: "LLM",
    messages: "Sequence[ChatMessage]",
    *,
    on_piece: Callable[[str], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Written:
    """What `llm` answers to the messages.

    `on_piece` is given the text as it comes, in the caller's thread; `cancelled` is asked at least ten times a second,
    and ends the writing with what there is. It takes at most `llm.answer_timeout` seconds, whatever the server does.
    A failure that may pass (ModelUnavailable, ModelBroken) is tried three times, after pauses drawn at random, unless
    a piece was handed out already. Raises ModelUnavailable, ModelMissing, ModelTimeout, ModelBroken, ModelRefused,
    PromptTooLong (refused, or cut by the server), UnusableReply; each with a hint.
    Marks of speakers are taken out of all messages but the system's: those quote documents.
    """
    from tenacity import Retrying, retry_if_exception, wait_random_exponential

    writing = _Writing(llm, [_as_text(message) for message in messages], on_piece or _ignore, cancelled or _never)
    retrying = Retrying(
        retry=retry_if_exception(writing.may_be_tried_again),
        stop=lambda state: state.attempt_number >= ATTEMPTS or writing.is_out_of_time(),
        wait=wait_random_exponential(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE),
        reraise=True,
    )
    return retrying(writing.attempt)


def ask(llm: "LLM", prompt: str, cancelled: Callable[[], bool] | None = None) -> Written:
    """What `llm` answers to one prompt, given to it as what its user says. Raises what `write` raises."""
    from llama_index.core.llms import ChatMessage, MessageRole

    return write(llm, [ChatMessage(role=MessageRole.USER, content=prompt)], cancelled=cancelled)


class _Writing:
    """One answer, over all its attempts."""

    def __init__(
        self,
        llm: "LLM",
        messages: "Sequence[ChatMessage]",
        on_piece: Callable[[str], None],
        cancelled: Callable[[], bool],
    ) -> None:
        self._llm = llm
        self._messages = messages
        self._on_piece = on_piece
        self._cancelled = cancelled
        self._handed_out = False
        self._server = server_of(llm)
        self._deadline = time.monotonic() + self._server.answer_timeout

    def attempt(self) -> Written:
        """Asks once. Raises one of ours."""
        reply = Reply()
        failures = client_failures()
        pump: StreamPump[ChatResponse] = StreamPump(lambda: iter(self._llm.stream_chat(self._messages)))
        stream = pump.pieces(self._deadline, self._cancelled)
        while (response := self._next(stream, failures)) is not None:
            self._hand_out(reply.add(response))
        self._hand_out(reply.end())
        return self._checked(reply)

    def may_be_tried_again(self, error: BaseException) -> bool:
        """Whether another attempt may do better, and shows nobody the same text twice."""
        retryable = isinstance(error, EltError) and error.retryable
        return retryable and not self._handed_out and not self._cancelled()

    def is_out_of_time(self) -> bool:
        """Whether no attempt could end in time."""
        return time.monotonic() + LONGEST_PAUSE >= self._deadline

    def _next(self, stream: "Iterator[ChatResponse]", failures: tuple[type[Exception], ...]) -> "ChatResponse | None":
        """The next piece; what the model raises is explained, what the caller raises is not ours to explain."""
        try:
            return next(stream, None)
        except TookTooLong as error:
            raise ModelTimeout(
                f"{self._server} was still writing after {self._server.answer_timeout:g} seconds",
                hint="Raise llm.answer_timeout, or choose a smaller model",
            ) from error
        except failures as error:
            raise explained(error, self._server) from error

    def _hand_out(self, text: str) -> None:
        if text:
            self._handed_out = True
            self._on_piece(text)

    def _checked(self, reply: Reply) -> Written:
        if self._cancelled():
            return Written(reply.text, reply.prompt_tokens, reply.answer_tokens, "cut off", reply.thinking)
        if not reply.pieces:
            raise UnusableReply(
                f"{self._server} replied with nothing", hint=f"Is {self._server.address} the right one?"
            )
        self._check_that_all_was_read(reply.prompt_tokens)
        return Written(reply.text, reply.prompt_tokens, reply.answer_tokens, reply.finish, reply.thinking)

    def _check_that_all_was_read(self, prompt_tokens: int | None) -> None:
        """A server that cuts a prompt says so by its count alone; one that does not count is believed."""
        if prompt_tokens is None:
            return
        texts = [message.content or "" for message in self._messages]
        if is_cut(prompt_tokens, self._server.context_window, texts):
            least = sum(map(fewest_tokens, texts))
            raise too_long(
                f"{self._server} read {prompt_tokens} tokens of a longer prompt, which has {least} words or more",
                self._server,
            )
        if isinstance(self._llm, HasProof):
            self._llm.proof.check(self._messages, prompt_tokens, self._cancelled)


def server_of(llm: "LLM") -> ModelServer:
    """Who answers for a model: what it tells itself, or as much as its metadata say."""
    if isinstance(llm, HasServer):
        return llm.server
    model = str(llm.metadata.model_name)
    return ModelServer("The language model", model, model, "llm", "Start it", "Correct llm.model", ANSWER_TIMEOUT)


def _as_text(message: "ChatMessage") -> "ChatMessage":
    from llama_index.core.llms import ChatMessage, MessageRole

    said = message.content or ""
    text = said if message.role == MessageRole.SYSTEM else without_marks_of_speakers(said)
    return message if text == said else ChatMessage(role=message.role, content=text)


def _ignore(_: str) -> None:
    """Nobody reads along."""


def _never() -> bool:
    return False
