"""`/v1/feedback`: what people think of answers."""

from typing import Annotated, Literal, Self

from elt_llm_core.state.feedback import FeedbackRecord
from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictInt, model_validator

from elt_llm_api.serve.actions.feedback import Opinions
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(prefix="/v1/feedback", tags=["feedback"])
_BY_REQUEST: dict[str, JsonValue] = {
    "verdict": "down",
    "comment": "It leaves out the holidays.",
    "request_id": "b1946ac92492d234",
}


class NewFeedback(BaseModel):
    """A thumb up or down for the turn of a conversation, or for the answer to a request."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra={"examples": [_BY_REQUEST]})

    verdict: Literal["up", "down"]
    comment: str = Field("", max_length=2000, description="Why, in words.")
    session: str | None = Field(None, max_length=64, description="Id of a conversation; with `turn`.")
    turn: StrictInt | None = Field(None, ge=1, le=1_000_000, description="Number of the turn, from 1.")
    request_id: str | None = Field(None, max_length=64, description="X-Request-ID of an answer of the caller.")

    @model_validator(mode="after")
    def _names_one_answer(self) -> Self:
        in_session = self.session is not None and self.turn is not None
        if in_session == (self.request_id is not None) or (self.session is None) != (self.turn is None):
            raise ValueError("name a session with a turn, or a request_id")
        return self


class FeedbackGiven(BaseModel):
    """One opinion as it is kept."""

    id: str = Field(examples=["3f0c8a4d6b1e4f7e9a2b5c8d7e6f1a0b"])
    by: str = Field(description="Name of the caller.", examples=["local"])
    verdict: Literal["up", "down"]
    comment: str
    question: str = Field(examples=["What does a loan cost?"])
    session: str | None
    turn: int | None
    request_id: str | None
    collections: tuple[str, ...] = Field(description="Collections that were asked.", examples=[["handbook"]])
    created_at: str = Field(description="UTC, ISO 8601.", examples=["2026-11-22T10:05:00+00:00"])


@router.post("", status_code=201)
def give_feedback(given: NewFeedback, services: GivenServices, caller: Caller) -> FeedbackGiven:
    """Say what the caller thinks of an answer it was given; saying so again takes the place of the former."""
    opinions = Opinions(services)
    if given.session is not None and given.turn is not None:
        return _told(opinions.of_turn(caller, given.session, given.turn, given.verdict, given.comment))
    return _told(opinions.of_request(caller, given.request_id or "", given.verdict, given.comment))


@router.get("")
def list_feedback(
    services: GivenServices,
    caller: Caller,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> list[FeedbackGiven]:
    """List what everybody thinks, the latest first; for those who administer the server."""
    return [_told(record) for record in Opinions(services).all(caller, limit, offset)]


def _told(record: FeedbackRecord) -> FeedbackGiven:
    answer = record.answer
    return FeedbackGiven(
        id=record.feedback_id,
        by=answer.owner,
        verdict=record.verdict,
        comment=record.comment,
        question=answer.question,
        session=answer.session,
        turn=answer.turn,
        request_id=answer.request_id,
        collections=answer.collections,
        created_at=record.created_at,
    )
