"""`/v1/evaluate`: how well a collection is searched."""

from fastapi import APIRouter

from elt_llm_api.serve.actions.evaluating import Evaluating, EvaluationRequest
from elt_llm_api.serve.actions.job_shapes import JobTold, job_told
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(prefix="/v1", tags=["evaluation"])


@router.post("/evaluate", status_code=202)
def evaluate(asked: EvaluationRequest, services: GivenServices, caller: Caller) -> JobTold:
    """Measure by questions that are made from the collection's own documents; the report is the job's result."""
    return job_told(Evaluating(services).submit(caller, asked), caller)
