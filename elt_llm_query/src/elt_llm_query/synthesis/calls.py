"""The calls of one answer to its model: each planned, written and entered in the ledger."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from elt_llm_core.errors import ResponseGenerationError
from elt_llm_core.models.prompt_size import fewest_tokens
from elt_llm_core.models.writing import Written, write
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms import LLM

from elt_llm_query.synthesis.budget import Window
from elt_llm_query.synthesis.ledger import LedgerEntry
from elt_llm_query.synthesis.prompts import Prompt, fill

OnPiece = Callable[[str], None]
_PER_MESSAGE = 8  # tokens that a chat template puts around a message, at most


@dataclass
class ModelCalls:
    """Asks one model on behalf of one answer. Not to be shared between answers.

    `cancelled` is looked at while the model writes.
    """

    llm: LLM
    window: Window
    cancelled: Callable[[], bool] | None = None
    ledger: list[LedgerEntry] = field(default_factory=list)

    def ask(
        self,
        purpose: str,
        prompt: Prompt,
        values: dict[str, str],
        on_piece: OnPiece | None = None,
        history: Sequence[tuple[str, str]] = (),
    ) -> Written:
        """What the model writes.

        Raises ResponseGenerationError for a prompt that its window has no room for: it is not sent to be cut. Raises
        ModelError as the model fails, PromptTooLong for a cut prompt among them.
        """
        messages = as_messages(prompt, values, history)
        self._check_room(purpose, self.planned(messages))
        written = write(self.llm, messages, on_piece=on_piece, cancelled=self.cancelled)
        self.ledger.append(
            LedgerEntry(
                purpose,
                planned=self.planned(messages),
                fewest=sum(fewest_tokens(message.content or "") for message in messages),
                counted=written.prompt_tokens,
                written=written.answer_tokens,
                finish=written.finish,
            )
        )
        return written

    def _check_room(self, purpose: str, tokens: int) -> None:
        window = self.window
        if tokens > window.to_read:
            raise ResponseGenerationError(
                f"The prompt for {purpose} takes {tokens} tokens; the model's context of {window.size} has room for"
                f" {max(window.to_read, 0)} of them.",
                hint=f"Raise {window.section}.context_window, or lower {window.section}.num_predict.",
            )

    def planned(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens of messages, rather too many than too few."""
        return sum(self.window.count(message.content or "") + _PER_MESSAGE for message in messages)

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self.cancelled is not None and self.cancelled()

    @property
    def tokens_used(self) -> int:
        """Tokens read and written in all calls, as the server counts them; where it does not, as planned."""
        return sum(
            (entry.planned if entry.counted is None else entry.counted) + (entry.written or 0) for entry in self.ledger
        )


def as_messages(prompt: Prompt, values: dict[str, str], history: Sequence[tuple[str, str]] = ()) -> list[ChatMessage]:
    """System, examples and earlier turns as turns already taken, and the question."""
    messages = [ChatMessage(role=MessageRole.SYSTEM, content=fill(prompt.system, values).strip())]
    shown = [(example.question, example.answer) for example in prompt.examples]
    for question, answer in (*shown, *history):
        messages.append(ChatMessage(role=MessageRole.USER, content=question.strip()))
        messages.append(ChatMessage(role=MessageRole.ASSISTANT, content=answer.strip()))
    messages.append(ChatMessage(role=MessageRole.USER, content=fill(prompt.user, values).strip()))
    return messages
