"""`/v1/models` and `/v1/embeddings` for OpenAI clients."""

import base64
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field, StrictInt

from elt_llm_api.serve.actions.openai import MOST_TEXTS, EmbeddingActions, InputType, ModelName, ModelNameActions
from elt_llm_api.serve.routes.dependencies import Call, cancel_on_disconnect
from elt_llm_api.serve.routes.openai_schema import OPENAI_ERRORS, OpenAiRoute

router = APIRouter(prefix="/v1", tags=["openai"], route_class=OpenAiRoute, responses=OPENAI_ERRORS)


class ModelEntry(BaseModel):
    """A model: a collection, a profile, or a pair of both."""

    id: str = Field(examples=["handbook", "profile/fast", "handbook@fast"])
    object: Literal["model"] = "model"
    created: int = Field(description="Seconds since 1970 UTC; 0 where nothing was built.", examples=[1795341600])
    owned_by: str = Field("elt-llm", examples=["elt-llm"])


class ModelList(BaseModel):
    """All models."""

    object: Literal["list"] = "list"
    data: tuple[ModelEntry, ...]


@router.get("/models")
def list_models(call: Call) -> ModelList:
    """List collections and profiles as models; COLLECTION@PROFILE is accepted, too."""
    return ModelList(data=tuple(map(_model_entry, ModelNameActions(call.services).all(call.principal))))


@router.get("/models/{model:path}")
def get_model(
    model: Annotated[str, Path(min_length=1, max_length=200, examples=["handbook@fast"])], call: Call
) -> ModelEntry:
    """Return one model."""
    return _model_entry(ModelNameActions(call.services).find(call.principal, model))


def _model_entry(model: ModelName) -> ModelEntry:
    created = int(datetime.fromisoformat(model.built_at).timestamp()) if model.built_at else 0
    return ModelEntry(id=model.name, created=created)


Text = Annotated[str, Field(min_length=1, max_length=100_000)]


class EmbeddingRequest(BaseModel):
    """Texts to embed; further parameters change nothing."""

    model: str = Field(
        min_length=1, max_length=200, description="The model of the settings, or `embedding`.", examples=["embedding"]
    )
    input: Text | Annotated[list[Text], Field(min_length=1, max_length=MOST_TEXTS)] = Field(
        examples=[["A loan costs 40 euros."]]
    )
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: StrictInt | None = Field(None, ge=1, le=65_536, description="The dimension of the model, or unset.")
    input_type: InputType = Field("document", description="Ours: whether texts are from documents or questions.")


class EmbeddingEntry(BaseModel):
    """One vector of length 1."""

    object: Literal["embedding"] = "embedding"
    index: int = Field(ge=0)
    embedding: list[float] | str = Field(description="Numbers, or float32 in little-endian order as base64.")


class EmbeddingUsage(BaseModel):
    """Tokens of all texts."""

    prompt_tokens: int = Field(ge=0)
    total_tokens: int = Field(ge=0)


class EmbeddingList(BaseModel):
    """Vectors in the order of the texts."""

    object: Literal["list"] = "list"
    data: tuple[EmbeddingEntry, ...]
    model: str = Field(examples=["minilm"])
    usage: EmbeddingUsage


@router.post("/embeddings")
async def create_embeddings(body: EmbeddingRequest, call: Call) -> EmbeddingList:
    """Embed texts with the model of the settings."""
    texts = [body.input] if isinstance(body.input, str) else body.input
    work = EmbeddingActions(call.services).embed(body.model, texts, body.input_type, body.dimensions)
    vectors, tokens = await cancel_on_disconnect(call.request, work)
    as_base64 = body.encoding_format == "base64"
    encoded = (
        base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii") if as_base64 else vector.tolist()
        for vector in vectors
    )
    return EmbeddingList(
        data=tuple(EmbeddingEntry(index=index, embedding=vector) for index, vector in enumerate(encoded)),
        model=call.services.embedding.fingerprint.model,
        usage=EmbeddingUsage(prompt_tokens=tokens, total_tokens=tokens),
    )
