"""Whether the server lives, and whether it can answer."""

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from elt_llm_api.serve.actions.health import HealthOf, Ready
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """The process lives."""

    status: str = Field("ok", examples=["ok"])


@router.get("/health")
async def health() -> Health:
    """Told to whoever asks, without a key, and never waiting for anything."""
    return Health(status="ok")


@router.get("/ready", responses={503: {"model": Ready}})
def ready(response: Response, services: GivenServices, caller: Caller) -> Ready:
    """503 with reasons until a question could be answered."""
    told = HealthOf(services).ready(caller)
    response.status_code = 200 if told.ready else 503
    return told
