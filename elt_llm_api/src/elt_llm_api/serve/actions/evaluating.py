"""Measuring how well a collection is searched, by questions made from its own documents; done as a queued job."""

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, StrictInt

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.jobs import Jobs
from elt_llm_api.serve.services import Services

if TYPE_CHECKING:
    from elt_llm_core.state.job_queue import QueuedJob

MOST_QUESTIONS = 1000
MOST_PROFILES = 5


class EvaluationRequest(BaseModel):
    """What to measure, and how much of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    collection: str = Field(min_length=1, max_length=100, description="Collection to ask.", examples=["samples"])
    profiles: tuple[str, ...] = Field(
        (),
        max_length=MOST_PROFILES,
        description="Profiles to measure; none: each leg alone, both together, the default and the classic one.",
        examples=[[]],
    )
    questions: StrictInt = Field(
        200, ge=1, le=MOST_QUESTIONS, description="Questions to make of the documents at most."
    )
    seed: StrictInt = Field(1, ge=0, le=2**31, description="Draws other questions.")


class Evaluating:
    """Measures for callers, what they may read."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def submit(self, principal: Principal, asked: EvaluationRequest) -> "QueuedJob":
        """Put it into the queue. Raises Forbidden, and UsageError for a profile that there is not."""
        self._services.collections(principal, [asked.collection])
        for name in asked.profiles:
            self._services.profile(name)  # what can be refused is refused before it waits
        return Jobs(self._services).submit(principal, "evaluate", asked.model_dump(mode="json"))
