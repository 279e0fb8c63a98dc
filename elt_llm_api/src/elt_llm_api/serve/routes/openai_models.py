"""`/v1/models`: collections and profiles as OpenAI's clients list models."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from elt_llm_api.serve.actions.model_names import ModelNames, NamedModel
from elt_llm_api.serve.routes.given import Caller, GivenServices
from elt_llm_api.serve.routes.openai_errors import OPENAI_ERRORS, OpenAiRoute

router = APIRouter(prefix="/v1/models", tags=["openai"], route_class=OpenAiRoute, responses=OPENAI_ERRORS)


class Model(BaseModel):
    """One way of asking."""

    id: str = Field(examples=["handbook", "profile/fast", "handbook@fast"])
    object: Literal["model"] = "model"
    created: int = Field(description="Seconds since 1970 UTC; 0 where nothing was built.", examples=[1795341600])
    owned_by: str = Field("elt-llm", examples=["elt-llm"])


class Models(BaseModel):
    """All of them."""

    object: Literal["list"] = "list"
    data: tuple[Model, ...]


@router.get("")
def list_models(services: GivenServices, caller: Caller) -> Models:
    """List collections and profiles as models; COLLECTION@PROFILE may be asked, too."""
    return Models(data=tuple(map(_model, ModelNames(services).all(caller))))


@router.get("/{model:path}")
def get_model(
    model: Annotated[str, Path(min_length=1, max_length=200, examples=["handbook@fast"])],
    services: GivenServices,
    caller: Caller,
) -> Model:
    """Tell of one model."""
    return _model(ModelNames(services).find(caller, model))


def _model(named: NamedModel) -> Model:
    created = int(datetime.fromisoformat(named.built_at).timestamp()) if named.built_at else 0
    return Model(id=named.name, created=created)
