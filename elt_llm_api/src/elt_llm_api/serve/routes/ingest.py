"""`/v1/ingest`: have files of the server read, or look again at what a collection was filled from."""

from elt_llm_core.store.collections import COLLECTION_NAME
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from elt_llm_api.serve.actions.ingesting import Ingesting
from elt_llm_api.serve.actions.job_shapes import JobTold, job_told
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(prefix="/v1", tags=["documents"])


class IngestAsked(BaseModel):
    """What to read, and into which collection."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    collection: str = Field(pattern=COLLECTION_NAME, description="Made if it is new.", examples=["samples"])
    paths: tuple[str, ...] = Field(
        (),
        max_length=1000,
        description="Files and folders of the server, below ingest.roots; none: what it was filled from before.",
        examples=[[]],
    )
    rebuild: StrictBool = Field(False, description="Index everything anew; also after a change of embedding model.")


@router.post("/ingest", status_code=202)
def ingest(asked: IngestAsked, services: GivenServices, caller: Caller) -> JobTold:
    """Queue an ingest; follow it at /v1/jobs/ID/events."""
    job = Ingesting(services).submit(caller, asked.collection, asked.paths, rebuild=asked.rebuild)
    return job_told(job, caller)
