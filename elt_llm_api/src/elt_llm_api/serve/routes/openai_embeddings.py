"""`/v1/embeddings`: the vectors that collections are searched by, for OpenAI's clients."""

import base64
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, StrictInt

from elt_llm_api.serve.actions.embedding import MOST_TEXTS, Embedding, InputType
from elt_llm_api.serve.routes.given import Caller, GivenServices
from elt_llm_api.serve.routes.leaving import while_waited_for
from elt_llm_api.serve.routes.openai_errors import OPENAI_ERRORS, OpenAiRoute

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

router = APIRouter(prefix="/v1", tags=["openai"], route_class=OpenAiRoute, responses=OPENAI_ERRORS)
Text = Annotated[str, Field(min_length=1, max_length=100_000)]


class EmbeddingRequest(BaseModel):
    """Texts to embed; further parameters change nothing."""

    model: str = Field(
        min_length=1, max_length=200, description="That of the settings, or `embedding`.", examples=["embedding"]
    )
    input: Text | Annotated[list[Text], Field(min_length=1, max_length=MOST_TEXTS)] = Field(
        examples=[["A loan costs 40 euros."]]
    )
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: StrictInt | None = Field(None, ge=1, le=65_536, description="That of the model, or unset.")
    input_type: InputType = Field("passage", description="Ours: whether texts are passages or questions.")


class EmbeddingTold(BaseModel):
    """One vector of length 1."""

    object: Literal["embedding"] = "embedding"
    index: int = Field(ge=0)
    embedding: list[float] | str = Field(description="Numbers, or float32 in little-endian order as base64.")


class EmbeddingUsage(BaseModel):
    """Tokens of all texts."""

    prompt_tokens: int = Field(ge=0)
    total_tokens: int = Field(ge=0)


class Embeddings(BaseModel):
    """Vectors in the order of the texts."""

    object: Literal["list"] = "list"
    data: tuple[EmbeddingTold, ...]
    model: str = Field(examples=["minilm"])
    usage: EmbeddingUsage


@router.post("/embeddings")
async def create_embeddings(
    asked: EmbeddingRequest, request: Request, services: GivenServices, caller: Caller
) -> Embeddings:
    """Embed texts with the model of the settings."""
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    work = Embedding(services).embed(caller, asked.model, texts, asked.input_type, asked.dimensions)
    made = await while_waited_for(request, work)
    data = tuple(
        EmbeddingTold(index=index, embedding=_told(vector, asked.encoding_format))
        for index, vector in enumerate(made.vectors)
    )
    usage = EmbeddingUsage(prompt_tokens=made.tokens, total_tokens=made.tokens)
    return Embeddings(data=data, model=made.model, usage=usage)


def _told(vector: "NDArray[np.float32]", form: Literal["float", "base64"]) -> list[float] | str:
    if form == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
    numbers: list[float] = vector.tolist()
    return numbers
