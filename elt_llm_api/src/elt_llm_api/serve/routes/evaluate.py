"""`/v1/evaluate`: how well a collection is searched."""

from fastapi import APIRouter

from elt_llm_api.serve.actions.evaluating import Evaluating, EvaluationRequest
from elt_llm_api.serve.routes.batch_jobs import Queued
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(prefix="/v1", tags=["evaluation"])


@router.post("/evaluate", status_code=202)
def evaluate(asked: EvaluationRequest, services: GivenServices, caller: Caller) -> Queued:
    """Measure by questions that are made from the collection's own documents; the report is the job's result."""
    job = Evaluating(services).submit(caller, asked)
    return Queued(id=job.id, kind=job.kind, status=job.status, created_at=job.created_at)
