"""Call a language model: stream its reply, separate thinking from answer, retry, time out, detect truncation."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from elt_llm_core.errors import ModelTimeout, UnusableReply
from elt_llm_core.models.server import (
    ANSWER_TIMEOUT,
    MAX_PAUSE,
    ModelServer,
    call_with_retries,
    client_errors,
    prompt_too_long,
    to_model_error,
)
from elt_llm_core.models.token_counts import is_truncated, min_tokens
from elt_llm_core.models.transport import CancellableStream, StreamTimeout
from elt_llm_core.text.normalise import replace_surrogates

if TYPE_CHECKING:
    from llama_index.core.llms import LLM, ChatMessage, ChatResponse

_OPENING = "<think>"
_CLOSING = "</think>"


class ThinkingFilter:
    """A filter that removes a leading `<think>...</think>` from a text that arrives in arbitrary pieces.

    Reasoning models write these tags if their server does not separate the thinking from the answer. A tag within the
    answer is ordinary text. Text that may be the start of a tag is held back until more pieces arrive.
    """

    def __init__(self) -> None:
        self._held = ""
        self._is_answering = False

    def feed(self, piece: str) -> str:
        """Add the next piece of the reply, and return the text, possibly empty, that now belongs to the answer."""
        if self._is_answering:
            return piece
        self._held += piece
        answer, start = "", self._held.lstrip()
        if start.startswith(_OPENING):
            answer = start.partition(_CLOSING)[2].lstrip()
        elif start and not _OPENING.startswith(start):
            answer = self._held
        self._is_answering = bool(answer)
        return answer

    def finish(self) -> str:
        """Return the text that was held back because it looked like the start of a tag."""
        is_tag = self._held.lstrip().startswith(_OPENING)
        return "" if self._is_answering or is_tag else self._held


FinishReason = Literal["stop", "length", "cut off"]
_FINISH_REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "": "stop",
    "length": "length",
}


class ModelReply:
    """A collector of the pieces of one reply.

    Ollama reports token counts next to `done` and `done_reason`. OpenAI's protocol, which llama.cpp uses too, reports
    counts in `usage` and the finish reason in `finish_reason` of its only choice. If a provider reports neither, the
    reply ends with its last piece.
    """

    def __init__(self) -> None:
        self._filter = ThinkingFilter()
        self.text = ""
        self._reports_end = False
        self._finish: FinishReason | None = None
        self.pieces = 0
        self.prompt_tokens: int | None = None
        self.answer_tokens: int | None = None

    def add(self, response: "ChatResponse") -> str:
        """Add a piece of the reply. Return the text in it that belongs to the answer, which may be empty."""
        self.pieces += 1
        self._read(_as_mapping(response.raw))
        return self._keep(self._filter.feed(replace_surrogates(response.delta or "")))

    def end(self) -> str:
        """Return the text that the thinking filter held back. Call this after the last piece."""
        return self._keep(self._filter.finish())

    @property
    def finish(self) -> FinishReason:
        """Why the reply ended: "stop", "length" or "cut off". It is valid only after the last piece."""
        return self._finish or ("cut off" if self._reports_end else "stop")

    def _keep(self, text: str) -> str:
        self.text += text
        return text

    def _read(self, raw: Mapping[str, Any]) -> None:
        usage = _as_mapping(raw.get("usage"))
        # LlamaIndex repeats Ollama's counts as `usage`; the server's own counts are preferred.
        self.prompt_tokens = _first_count(raw.get("prompt_eval_count"), usage.get("prompt_tokens"), self.prompt_tokens)
        self.answer_tokens = _first_count(raw.get("eval_count"), usage.get("completion_tokens"), self.answer_tokens)
        if "done" in raw:
            self._reports_end = True
            if raw["done"]:
                self._finish = _FINISH_REASONS.get(str(raw.get("done_reason") or ""), "cut off")
        for choice in raw.get("choices") or ():
            self._reports_end = True
            if reason := _as_mapping(choice).get("finish_reason"):
                self._finish = _FINISH_REASONS.get(str(reason), "cut off")


def _as_mapping(raw: object) -> Mapping[str, Any]:
    if isinstance(raw, Mapping):
        return raw
    dump = getattr(raw, "model_dump", None)
    dumped = dump() if callable(dump) else {}
    return dumped if isinstance(dumped, Mapping) else {}


def _first_count(*candidates: object) -> int | None:
    """Return the first positive count, or None. A count of 0 is treated as missing, because every text has tokens."""
    return next((count for count in candidates if isinstance(count, int) and count > 0), None)


_ROLE_MARKER = re.compile(
    r"<(?:[|\uff5c][\w\u2581/ :.-]{1,60}[|\uff5c]?|[\w\u2581/]{1,60}[|\uff5c])>"  # <|im_start|>, <|turn>, <turn|>
    r"|</?(?:s|bos|eos|start_of_turn|end_of_turn|think|tool_call|tool_response)>"
    r"|<</?SYS>>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]"
)


def escape_role_markers(text: str) -> str:
    """Insert a space into each role marker, so that no model recognises it: "<|im_start|>" -> "< |im_start|>"."""
    return _ROLE_MARKER.sub(lambda mark: f"{mark[0][0]} {mark[0][1:]}", text)


@dataclass(frozen=True)
class LlmCompletion:
    """The complete answer of a language model, with token counts and finish reason."""

    text: str
    prompt_tokens: int | None
    """The prompt's tokens as counted by the server, or None if it does not report them."""
    answer_tokens: int | None
    finish: FinishReason
    """Why the answer ended. "stop": it is complete. "length": it is as long as allowed. "cut off": it broke off."""


def complete(
    llm: "LLM",
    messages: "Sequence[ChatMessage]",
    *,
    on_piece: Callable[[str], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    another_seed: bool = False,
) -> LlmCompletion:
    """Return the answer of `llm` to the messages.

    `on_piece` receives each piece of the text as it arrives, in the caller's thread. `cancelled` is called at least ten
    times a second; if it returns true, the answer ends early. The call takes at most `llm.answer_timeout` seconds. A
    temporary failure (ModelUnavailable, ModelBroken) is retried, with three attempts in all, unless a piece was already
    delivered. `another_seed` requests an answer other than that of the last call with the same messages.

    Raises ModelUnavailable, ModelMissing, ModelTimeout, ModelBroken, ModelRefused, PromptTooLong (the server refused or
    truncated the prompt) or UnusableReply, each with a hint. Role markers are escaped in all messages except the system
    message, because the other messages quote documents.
    """
    from llama_index.core.llms import ChatMessage, MessageRole

    plain = [
        message
        if message.role == MessageRole.SYSTEM
        else ChatMessage(role=message.role, content=escape_role_markers(message.content or ""))
        for message in messages
    ]
    if another_seed and (vary := getattr(llm, "with_another_seed", None)):
        llm = vary()
    run = _CompletionRun(llm, plain, on_piece or (lambda _: None), cancelled or (lambda: False))
    return call_with_retries(run.attempt, run.may_retry)


def complete_prompt(
    llm: "LLM", prompt: str, cancelled: Callable[[], bool] | None = None, *, another_seed: bool = False
) -> LlmCompletion:
    """Return the answer of `llm` to one prompt, sent as a user message. Raises the errors of `complete`."""
    from llama_index.core.llms import ChatMessage, MessageRole

    return complete(
        llm, [ChatMessage(role=MessageRole.USER, content=prompt)], cancelled=cancelled, another_seed=another_seed
    )


@dataclass
class _CompletionRun:
    """One request for an answer from a language model. If an attempt fails, another may follow."""

    llm: "LLM"
    messages: "Sequence[ChatMessage]"
    on_piece: Callable[[str], None]
    cancelled: Callable[[], bool]

    def __post_init__(self) -> None:
        self._delivered = False
        self._server = model_server_of(self.llm)
        self._deadline = time.monotonic() + self._server.answer_timeout

    def attempt(self) -> LlmCompletion:
        """Request the answer once. Raises an EltError if the request fails."""
        reply = ModelReply()
        failures = client_errors()
        replies: CancellableStream[ChatResponse] = CancellableStream(lambda: iter(self.llm.stream_chat(self.messages)))
        stream = replies.pieces(self._deadline, self.cancelled)
        while (response := self._next(stream, failures, is_first=not reply.pieces)) is not None:
            self._deliver(reply.add(response))
        self._deliver(reply.end())
        return self._checked(reply)

    def may_retry(self) -> bool:
        """Return whether another attempt could end before the deadline and would not deliver text twice."""
        return not self._delivered and not self.cancelled() and time.monotonic() + MAX_PAUSE < self._deadline

    def _next(
        self, stream: "Iterator[ChatResponse]", failures: tuple[type[Exception], ...], *, is_first: bool
    ) -> "ChatResponse | None":
        """Return the next piece of the streamed answer, or None at the end.

        The client's errors are converted to EltErrors. If an error occurs before the first piece, the server is asked
        for details.
        """
        try:
            return next(stream, None)
        except StreamTimeout as error:
            raise ModelTimeout(
                f"{self._server} was still writing after {self._server.answer_timeout:g} seconds",
                hint="Raise llm.answer_timeout, or choose a smaller model",
            ) from error
        except failures as error:
            explain = getattr(self.llm, "explain", None) if is_first else None
            typed = to_model_error(error, self._server)
            raise (explain(typed) if explain else typed) from error

    def _deliver(self, text: str) -> None:
        if text:
            self._delivered = True
            self.on_piece(text)

    def _checked(self, reply: ModelReply) -> LlmCompletion:
        finish: FinishReason = "cut off"
        if not self.cancelled():
            if not reply.pieces:
                raise UnusableReply(
                    f"{self._server} sent an empty reply", hint=f"Is {self._server.address} the right address?"
                )
            if reply.prompt_tokens is not None:
                self._check_prompt_tokens(reply.prompt_tokens)
            read, window = (reply.prompt_tokens or 0) + (reply.answer_tokens or 0), self._server.context_window
            # If prompt and answer together exceed the window, the server dropped the start of the prompt.
            finish = "length" if window is not None and read > window else reply.finish
        return LlmCompletion(reply.text, reply.prompt_tokens, reply.answer_tokens, finish)

    def _check_prompt_tokens(self, prompt_tokens: int) -> None:
        """Raise PromptTooLong if the server's token count shows that it truncated the prompt."""
        texts = [message.content or "" for message in self.messages]
        if is_truncated(prompt_tokens, self._server.context_window, texts):
            least = sum(map(min_tokens, texts))
            raise prompt_too_long(
                f"{self._server} read only {prompt_tokens} tokens of the prompt, which has at least {least} words",
                self._server,
            )
        if verifier := getattr(self.llm, "prompt_verifier", None):
            verifier.check(self.messages, prompt_tokens, self.cancelled)


def model_server_of(llm: "LLM") -> ModelServer:
    """Return the description of the model's server. For a model without a server, it is made from the model's name."""
    if isinstance(server := getattr(llm, "server", None), ModelServer):
        return server
    model = str(llm.metadata.model_name)
    return ModelServer("The language model", model, model, "llm", "Start it", "Correct llm.model", ANSWER_TIMEOUT)
