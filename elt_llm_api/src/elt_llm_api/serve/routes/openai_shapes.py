"""What OpenAI's clients send to a chat model, and what they get from it."""

from typing import Any, Literal

from elt_llm_core.results import Citation
from elt_llm_core.settings import StrategyName
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool

from elt_llm_api.serve.actions.completions import Places

_EXAMPLE: dict[str, JsonValue] = {
    "model": "handbook",
    "messages": [{"role": "user", "content": "How many points does a ground need for Grade A?"}],
    "stream": False,
}


class TextPart(BaseModel):
    """A part of a message; only text is read."""

    type: Literal["text"] = "text"
    text: str = Field(max_length=1_000_000)


class ChatMessage(BaseModel):
    """One message of a chat."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[TextPart] | None = Field(None, examples=["What does a loan cost?"])

    @property
    def text(self) -> str:
        """What is said, parts one below the other."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""


class StreamOptions(BaseModel):
    """What a stream has besides."""

    include_usage: StrictBool = False


class ChatRequest(BaseModel):
    """A chat whose last message is the question. Further parameters of OpenAI's may be sent; see the documentation."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_EXAMPLE]})

    model: str = Field(min_length=1, max_length=200, description="COLLECTION, profile/NAME or COLLECTION@PROFILE.")
    messages: list[ChatMessage] = Field(min_length=1, max_length=500)
    stream: StrictBool = False
    stream_options: StreamOptions | None = None
    where: tuple[str, ...] = Field((), max_length=50, description="Ours: conditions on metadata, such as year>=2020.")
    strategy: StrategyName | None = Field(None, description="Ours: how to retrieve.")
    citations: Places = Field("both", description="Ours: where the sources are told.")
    system: Literal["refuse", "ignore"] = Field("refuse", description="Ours: what becomes of system messages.")


class Choice(BaseModel):
    """The answer."""

    index: int = 0
    message: dict[str, Any] = Field(description="role, content, refusal, annotations.")
    finish_reason: Literal["stop", "length"]
    logprobs: None = None


class UsageTold(BaseModel):
    """Tokens of all calls to a language model; 0 where documents are quoted."""

    prompt_tokens: int = Field(ge=0, examples=[840])
    completion_tokens: int = Field(ge=0, examples=[42])
    total_tokens: int = Field(ge=0, examples=[882])


class About(BaseModel):
    """Ours: what is known of the answer besides."""

    answered: bool = Field(description="False when the documents do not hold the answer.")
    confidence: float = Field(ge=0, le=1)
    notes: tuple[str, ...] = Field(description="Whatever was degraded, cut or left out, in sentences.")
    understood: str = Field(description="The question as it was asked of the documents.")
    request_id: str


class ChatAnswer(BaseModel):
    """A whole answer."""

    id: str = Field(examples=["chatcmpl-b1946ac92492d2347c6235b4d2611184"])
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: UsageTold
    citations: tuple[Citation, ...] = Field(description="Ours: every place that the answer cites.")
    elt_llm: About
