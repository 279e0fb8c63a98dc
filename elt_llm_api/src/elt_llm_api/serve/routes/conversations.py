"""`/v1/sessions` and `/v1/feedback`: conversations, and feedback on answers."""

from dataclasses import asdict
from typing import Annotated, Any, Literal, Self

from elt_llm_core.results import QueryResult
from elt_llm_core.state.sessions import FeedbackRecord, SessionRecord
from fastapi import APIRouter, Path, Query, Response
from pydantic import AliasPath, BaseModel, ConfigDict, Field, JsonValue, StrictInt, model_validator

from elt_llm_api.serve.actions.conversations import ConversationActions, FeedbackActions
from elt_llm_api.serve.actions.questions import ScopeRequest
from elt_llm_api.serve.routes.dependencies import Call
from elt_llm_api.serve.services import RequestModel

router = APIRouter(prefix="/v1")
SessionId = Annotated[str, Path(min_length=1, max_length=64, examples=["3f0c8a4d6b1e4f7e9a2b5c8d7e6f1a0b"])]
Offset = Annotated[int, Query(ge=0, le=1_000_000)]


class NewSession(ScopeRequest):
    """The collections and the profile of a new conversation."""


class SessionSummary(BaseModel):
    """A conversation in a list, without its turns."""

    id: str = Field(validation_alias="session_id", examples=["3f0c8a4d6b1e4f7e9a2b5c8d7e6f1a0b"])
    title: str = Field(description="The first question; empty before there is one.", examples=["What does it cost?"])
    collections: tuple[str, ...] = Field(examples=[["handbook"]])
    profile: str = Field(examples=["default"])
    created_at: str = Field(description="UTC, ISO 8601.", examples=["2026-11-22T10:00:00+00:00"])
    updated_at: str = Field(description="UTC, ISO 8601.", examples=["2026-11-22T10:05:00+00:00"])
    turns: int = Field(ge=0, examples=[2])


class SessionTurnView(BaseModel):
    """One question with its answer."""

    number: int = Field(ge=1, examples=[1])
    asked: str = Field(description="The question as it was asked.", examples=["and for seniors?"])
    understood: str = Field(description="The question that was searched.", examples=["What does it cost for seniors?"])
    result: QueryResult
    created_at: str = Field(description="UTC, ISO 8601.", examples=["2026-11-22T10:05:00+00:00"])


class SessionWithTurns(SessionSummary):
    """One conversation with all its turns."""

    history: tuple[SessionTurnView, ...]


@router.post("/sessions", status_code=201, tags=["sessions"], response_model=SessionSummary)
def create_session(body: NewSession, call: Call) -> SessionRecord:
    """Start a conversation. To add a question to it, send its id as `session` in a request to /v1/ask."""
    return ConversationActions(call.services).create(call.principal, body)


@router.get("/sessions", tags=["sessions"], response_model=list[SessionSummary])
def list_sessions(
    call: Call, limit: Annotated[int, Query(ge=1, le=200)] = 50, offset: Offset = 0
) -> list[SessionRecord]:
    """List the caller's own conversations, the last used first."""
    return ConversationActions(call.services).all(call.principal, limit, offset)


@router.get("/sessions/{session}", tags=["sessions"], response_model=SessionWithTurns)
def get_session(session: SessionId, call: Call) -> dict[str, Any]:
    """Return a conversation with its turns."""
    record, turns = ConversationActions(call.services).read(call.principal, session)
    return {**asdict(record), "history": turns}


@router.get(
    "/sessions/{session}/markdown",
    tags=["sessions"],
    response_class=Response,
    responses={200: {"content": {"text/markdown": {"schema": {"type": "string"}}}}},
)
def export_session(session: SessionId, call: Call) -> Response:
    """Return a conversation as a Markdown file, each answer with its citations."""
    text = ConversationActions(call.services).markdown(call.principal, session)
    headers = {"content-disposition": 'attachment; filename="conversation.md"', "cache-control": "no-store"}
    return Response(text, media_type="text/markdown", headers=headers)


@router.delete("/sessions/{session}", status_code=204, tags=["sessions"])
def delete_session(session: SessionId, call: Call) -> None:
    """Delete a conversation, its turns and the feedback on them."""
    ConversationActions(call.services).delete(call.principal, session)


_BY_REQUEST: dict[str, JsonValue] = {
    "verdict": "down",
    "comment": "It leaves out the holidays.",
    "request_id": "b1946ac92492d234",
}


class NewFeedback(RequestModel):
    """A thumb up or down for a turn of a conversation, or for the answer to a request."""

    model_config = ConfigDict(json_schema_extra={"examples": [_BY_REQUEST]})

    verdict: Literal["up", "down"]
    comment: str = Field("", max_length=2000, description="Why, in words.")
    session: str | None = Field(None, max_length=64, description="Id of a conversation; with `turn`.")
    turn: StrictInt | None = Field(None, ge=1, le=1_000_000, description="Number of the turn, from 1.")
    request_id: str | None = Field(None, max_length=64, description="X-Request-ID of an answer to the caller.")

    @model_validator(mode="after")
    def _names_one_answer(self) -> Self:
        in_session = self.session is not None and self.turn is not None
        if in_session == (self.request_id is not None) or (self.session is None) != (self.turn is None):
            raise ValueError("name the answer either by session and turn, or by request_id")
        return self


class FeedbackEntry(BaseModel):
    """A stored rating of an answer."""

    id: str = Field(validation_alias="feedback_id", examples=["3f0c8a4d6b1e4f7e9a2b5c8d7e6f1a0b"])
    by: str = Field(validation_alias=AliasPath("answer", "owner"), description="The caller.", examples=["local"])
    verdict: Literal["up", "down"]
    comment: str
    question: str = Field(validation_alias=AliasPath("answer", "question"), examples=["What does a loan cost?"])
    session: str | None = Field(validation_alias=AliasPath("answer", "session"))
    turn: int | None = Field(validation_alias=AliasPath("answer", "turn"))
    request_id: str | None = Field(validation_alias=AliasPath("answer", "request_id"))
    collections: tuple[str, ...] = Field(
        validation_alias=AliasPath("answer", "collections"),
        description="Collections that were asked.",
        examples=[["handbook"]],
    )
    created_at: str = Field(description="UTC, ISO 8601.", examples=["2026-11-22T10:05:00+00:00"])


@router.post("/feedback", status_code=201, tags=["feedback"], response_model=FeedbackEntry)
def give_feedback(body: NewFeedback, call: Call) -> FeedbackRecord:
    """Rate an answer that the caller received. A second rating replaces the first."""
    actions = FeedbackActions(call.services)
    if body.session is not None and body.turn is not None:
        return actions.rate_turn(call.principal, body.session, body.turn, body.verdict, body.comment)
    return actions.rate_request(call.principal, body.request_id or "", body.verdict, body.comment)


@router.get("/feedback", tags=["feedback"], response_model=list[FeedbackEntry])
def list_feedback(
    call: Call, limit: Annotated[int, Query(ge=1, le=1000)] = 100, offset: Offset = 0
) -> list[FeedbackRecord]:
    """List the feedback of all callers, the latest first. For administrators only."""
    return FeedbackActions(call.services).all(call.principal, limit, offset)
