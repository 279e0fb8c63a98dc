"""Whether the server lives, and whether it can answer."""

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from elt_llm_api.serve.routes.given import GivenServices

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """The process lives."""

    status: str = Field("ok", examples=["ok"])


class Ready(BaseModel):
    """Whether questions can be answered; `reasons` why not."""

    ready: bool
    reasons: list[str] = Field(default_factory=list, examples=[["Nothing was ingested yet."]])


@router.get("/health")
async def health() -> Health:
    """Told to whoever asks, without a key, and never waiting for anything."""
    return Health(status="ok")


@router.get("/ready", responses={503: {"model": Ready}})
def ready(response: Response, services: GivenServices) -> Ready:
    """503 with reasons until a question could be answered."""
    reasons = []
    if not any(record.published for record in services.store.collections.all()):
        reasons.append("Nothing was ingested yet. Run: elt-llm ingest PATH -c NAME")
    if services.workers.is_full:
        reasons.append("The server has as many questions as it can take.")
    response.status_code = 503 if reasons else 200
    return Ready(ready=not reasons, reasons=reasons)
