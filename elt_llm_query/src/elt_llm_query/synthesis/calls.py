"""Model calls of one answer: the context window, the sources that fit, and an account of every call."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from elt_llm_core.errors import ResponseGenerationError
from elt_llm_core.models.completion import LlmCompletion, complete, model_server_of
from elt_llm_core.models.token_counts import TokenUpperBound, min_tokens
from elt_llm_core.results import RetrievedChunk
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms import LLM

from elt_llm_query.extractive.answerer import Turns
from elt_llm_query.synthesis.events import in_citation_order
from elt_llm_query.synthesis.prompts import Prompt, fill_template

Item = TypeVar("Item")
OnPiece = Callable[[str], None]
MARGIN = 64  # tokens that a chat template may add around the messages
_PER_MESSAGE = 8  # tokens that a chat template puts around a message, at most
_LONGEST_NAME = 200  # characters of a title or section in a prompt
_FENCE = re.compile(r"<[\s\u00ad\u200b-\u200f\u2060\ufeff/]{0,20}source", re.IGNORECASE)


def ignore_piece(_piece: str) -> None:
    """Ignore a piece of text, for callers that do not show the text while it is written."""


def lost_in_the_middle(ranked: Sequence[Item]) -> list[Item]:
    """Order items best first, second best last, and so on inwards, with the weakest in the middle.

    Source: Liu et al., "Lost in the Middle: How Language Models Use Long Contexts", TACL 2024.
    """
    return [*ranked[::2], *reversed(ranked[1::2])]


@dataclass(frozen=True)
class PromptSource:
    """A chunk with the number by which an answer cites it."""

    number: int
    chunk: RetrievedChunk

    @property
    def text(self) -> str:
        """The chunk in a <source> tag with title, page and section. Such tags within the chunk are made harmless."""
        chunk, context = self.chunk, self.chunk.context.strip()
        page = f' page="{chunk.page}"' if chunk.page else ""
        section = f' section="{_attribute(chunk.section)}"' if chunk.section else ""
        heading = f'number="{self.number}" title="{_attribute(chunk.source_title or chunk.source)}"{page}{section}'
        # The tag already contains the section and the title.
        context = "" if context in (chunk.section, chunk.source_title) else context
        body = "\n".join(filter(None, (context, chunk.text)))
        return f"<source {heading}>\n{_FENCE.sub('(source', body)}\n</source>"


def _attribute(value: str) -> str:
    return _FENCE.sub("(source", " ".join(value.replace('"', "'").split()))[:_LONGEST_NAME]


def number_sources(chunks: Sequence[RetrievedChunk]) -> list[PromptSource]:
    """Number the chunks from 1 by descending score; ties keep their order."""
    return [PromptSource(number, chunk) for number, chunk in enumerate(in_citation_order(chunks), 1)]


def sources_text(sources: Sequence[PromptSource], *, best_outside: bool) -> str:
    """Join the sources' texts. With `best_outside`, the weakest are in the middle, where models pay least attention."""
    return "\n\n".join(source.text for source in (lost_in_the_middle(sources) if best_outside else sources))


@dataclass(frozen=True)
class ContextWindow:
    """The size of a model's context in tokens, of which `to_write` are reserved for the answer.

    `count` returns an upper bound on the number of tokens in a text. `most_sources` limits the tokens of all sources
    together. `section` is the settings section that configures the window.
    """

    size: int
    to_write: int
    most_sources: int
    count: Callable[[str], int]
    section: str = "llm"

    @property
    def to_read(self) -> int:
        """The greatest number of tokens in a prompt."""
        return self.size - self.to_write - MARGIN

    @property
    def hint(self) -> str:
        """A hint that names the settings to change so that longer prompts fit."""
        return f"Raise {self.section}.context_window, or lower {self.section}.num_predict."


def context_window_of(llm: LLM, bound: TokenUpperBound, most_sources: int) -> ContextWindow:
    """Return a model's context window. `bound` overestimates tokens, because the model's tokeniser is not available."""
    size, to_write = llm.metadata.context_window, llm.metadata.num_output
    return ContextWindow(size, to_write, most_sources, bound.most, model_server_of(llm).section)


def fit_sources(
    sources: Sequence[PromptSource], prompt_tokens: int, window: ContextWindow
) -> tuple[tuple[PromptSource, ...], tuple[PromptSource, ...]]:
    """Split the sources, best first, into those that fit beside the rest of the prompt and those that do not.

    Raises ResponseGenerationError if the best source alone does not fit: no source is ever cut.
    """
    left, fitting = min(window.to_read - prompt_tokens, window.most_sources), 0
    for source in sources:
        left -= window.count(source.text) + 2
        if left < 0:
            break
        fitting += 1
    if sources and not fitting:
        raise ResponseGenerationError(
            f"No chunk fits into the model's context of {window.size} tokens: the prompt takes {prompt_tokens},"
            f" the answer may take {window.to_write}, the best chunk has {window.count(sources[0].text)}.",
            hint=window.hint,
        )
    return tuple(sources[:fitting]), tuple(sources[fitting:])


@dataclass(frozen=True)
class LedgerEntry:
    """The record of one model call.

    `planned` and `fewest` are an upper and a lower bound on the number of tokens in the prompt. `counted` is how many
    tokens the server read, and `written` how many it wrote, both as it reports them, or None. If `counted` is below
    `fewest`, the server cut the prompt: `elt_llm_core.models.completion` raises PromptTooLong.
    """

    purpose: str
    planned: int
    fewest: int
    counted: int | None
    written: int | None
    finish: str


@dataclass
class ModelCalls:
    """Makes the calls to one model for one answer. Two answers must not share an object.

    `ledger` has an entry for each call, with its purpose and the numbers of tokens read and written. `cancelled` is
    polled while the model writes.
    """

    llm: LLM = field(repr=False)  # may show its key
    window: ContextWindow
    cancelled: Callable[[], bool] | None = None
    ledger: list[LedgerEntry] = field(default_factory=list)

    def ask(
        self, purpose: str, prompt: Prompt, values: dict[str, str], on_piece: OnPiece | None = None, history: Turns = ()
    ) -> LlmCompletion:
        """Send the prompt and return what the model writes.

        Raises ResponseGenerationError for a prompt that does not fit the window: such a prompt is not sent, because the
        server would cut it. Raises ModelError if the model fails, including PromptTooLong for a prompt that was cut.
        """
        messages = build_messages(prompt, values, history)
        planned, window = self.planned(messages), self.window
        if planned > window.to_read:
            raise ResponseGenerationError(
                f"The prompt for {purpose} takes {planned} tokens; the model's context of {window.size} has room for"
                f" {max(window.to_read, 0)} of them.",
                hint=window.hint,
            )
        written = complete(self.llm, messages, on_piece=on_piece, cancelled=self.cancelled)
        fewest = sum(min_tokens(message.content or "") for message in messages)
        self.ledger.append(
            LedgerEntry(purpose, planned, fewest, written.prompt_tokens, written.answer_tokens, written.finish)
        )
        return written

    def planned(self, messages: Sequence[ChatMessage]) -> int:
        """Return an upper bound on the number of tokens in the messages."""
        return sum(self.window.count(message.content or "") + _PER_MESSAGE for message in messages)

    @property
    def used_up(self) -> bool:
        """Whether one of the calls ended because the model had written as many tokens as it may."""
        return any(entry.finish == "length" for entry in self.ledger)

    @property
    def is_cancelled(self) -> bool:
        """Whether the caller has cancelled the answer."""
        return self.cancelled is not None and self.cancelled()

    @property
    def tokens_used(self) -> int:
        """Tokens read and written in all calls, as the server counts; a prompt without a count adds its upper bound."""
        return sum(
            (entry.planned if entry.counted is None else entry.counted) + (entry.written or 0) for entry in self.ledger
        )


def build_messages(prompt: Prompt, values: dict[str, str], history: Turns = ()) -> list[ChatMessage]:
    """Build the system message, examples and earlier turns as a dialogue, and the question."""
    messages = [ChatMessage(role=MessageRole.SYSTEM, content=fill_template(prompt.system, values).strip())]
    for question, answer in (*((example.question, example.answer) for example in prompt.examples), *history):
        messages.append(ChatMessage(role=MessageRole.USER, content=question.strip()))
        messages.append(ChatMessage(role=MessageRole.ASSISTANT, content=answer.strip()))
    messages.append(ChatMessage(role=MessageRole.USER, content=fill_template(prompt.user, values).strip()))
    return messages
