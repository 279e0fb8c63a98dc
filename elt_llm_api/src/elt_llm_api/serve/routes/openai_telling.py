"""How one answer is told to OpenAI's clients, whole or in pieces."""

import time
from typing import Any

from elt_llm_core.results import QueryResult

from elt_llm_api.serve.actions.completions import annotations, footnotes, usage_of
from elt_llm_api.serve.routes.openai_shapes import About, ChatAnswer, ChatRequest, Choice, UsageTold
from elt_llm_api.serve.safe_text import as_markdown


class Telling:
    """How one answer is told to OpenAI's clients."""

    def __init__(self, asked: ChatRequest, request_id: str, notes: tuple[str, ...]) -> None:
        self.asked, self.request_id = asked, request_id
        self._notes = notes
        self._created = int(time.time())

    def whole(self, result: QueryResult) -> ChatAnswer:
        """The answer in one."""
        text = as_markdown(result.answer)
        message = {
            "role": "assistant",
            "content": text + self.footnotes(result),
            "refusal": None,
            "annotations": self.annotations(text, result),
        }
        return ChatAnswer(
            id=self.id,
            created=self._created,
            model=self.asked.model,
            choices=(Choice(message=message, finish_reason="stop" if result.complete else "length"),),
            usage=usage_told(result),
            citations=result.citations,
            elt_llm=self.about(result),
        )

    @property
    def id(self) -> str:
        """The name of the answer."""
        return f"chatcmpl-{self.request_id}"

    def footnotes(self, result: QueryResult) -> str:
        """The list of sources, where it is wanted and the answer has some."""
        return footnotes(result.citations) if self.asked.citations != "annotations" else ""

    def annotations(self, text: str, result: QueryResult) -> list[dict[str, Any]]:
        """The places in the text, where they are wanted."""
        return annotations(text, result.citations) if self.asked.citations != "footnotes" else []

    def about(self, result: QueryResult) -> About:
        """What is known besides."""
        return About(
            answered=result.answered,
            confidence=result.confidence,
            notes=(*self._notes, *result.notes),
            understood=result.question,
            request_id=self.request_id,
        )

    def chunk(self, **content: Any) -> dict[str, Any]:
        """One piece of a stream."""
        head = {"id": self.id, "object": "chat.completion.chunk", "created": self._created, "model": self.asked.model}
        return {**head, **content}


def usage_told(result: QueryResult) -> UsageTold:
    """The tokens of an answer."""
    used = usage_of(result)
    total = used.prompt_tokens + used.completion_tokens
    return UsageTold(prompt_tokens=used.prompt_tokens, completion_tokens=used.completion_tokens, total_tokens=total)
