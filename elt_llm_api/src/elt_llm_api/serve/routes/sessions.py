"""`/v1/sessions`: conversations that the server keeps for who asks."""

from typing import Annotated

from elt_llm_core.results import QueryResult
from elt_llm_core.state.sessions import SessionRecord, Turn
from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from elt_llm_api.serve.actions.conversations import Conversations
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])
SessionId = Annotated[str, Path(min_length=1, max_length=64, examples=["3f0c8a4d6b1e4f7e9a2b5c8d7e6f1a0b"])]


class NewSession(BaseModel):
    """What a conversation is about."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    collections: tuple[str, ...] = Field(
        (), max_length=200, description="Collections to ask; none: those of the profile, else all.", examples=[[]]
    )
    prefixes: tuple[str, ...] = Field((), max_length=50, description="Those whose names begin so.", examples=[[]])
    profile: str = Field("default", max_length=200, description="Profile to ask with.", examples=["default"])


class Session(BaseModel):
    """One conversation."""

    id: str = Field(examples=["3f0c8a4d6b1e4f7e9a2b5c8d7e6f1a0b"])
    title: str = Field(
        description="The first question, or nothing before there was one.", examples=["What does it cost?"]
    )
    collections: tuple[str, ...] = Field(examples=[["handbook"]])
    profile: str = Field(examples=["default"])
    created_at: str = Field(description="UTC, ISO 8601.", examples=["2026-11-22T10:00:00+00:00"])
    updated_at: str = Field(description="UTC, ISO 8601.", examples=["2026-11-22T10:05:00+00:00"])
    turns: int = Field(ge=0, examples=[2])


class SessionTurn(BaseModel):
    """One question with its answer."""

    number: int = Field(ge=1, examples=[1])
    asked: str = Field(description="The question as it was asked.", examples=["and for seniors?"])
    understood: str = Field(description="The same as it was understood.", examples=["What does it cost for seniors?"])
    result: QueryResult
    created_at: str = Field(description="UTC, ISO 8601.", examples=["2026-11-22T10:05:00+00:00"])


class SessionWithTurns(Session):
    """One conversation with all that was said."""

    said: tuple[SessionTurn, ...]


@router.post("", status_code=201)
def begin_session(asked: NewSession, services: GivenServices, caller: Caller) -> Session:
    """Begin a conversation; ask in it by its id in the field `session` of /v1/query."""
    return _session(Conversations(services).begin(caller, asked.collections, asked.prefixes, asked.profile))


@router.get("")
def list_sessions(
    services: GivenServices,
    caller: Caller,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> list[Session]:
    """List the caller's own conversations, the one last used first."""
    return [_session(record) for record in Conversations(services).all(caller, limit, offset)]


@router.get("/{session}")
def get_session(session: SessionId, services: GivenServices, caller: Caller) -> SessionWithTurns:
    """Read a conversation with its turns."""
    record, turns = Conversations(services).read(caller, session)
    return SessionWithTurns(**_session(record).model_dump(), said=tuple(map(_turn, turns)))


@router.delete("/{session}", status_code=204)
def delete_session(session: SessionId, services: GivenServices, caller: Caller) -> None:
    """Delete a conversation with its turns, and with what was said of its answers."""
    Conversations(services).delete(caller, session)


def _session(record: SessionRecord) -> Session:
    return Session(
        id=record.session_id,
        title=record.title,
        collections=record.collections,
        profile=record.profile,
        created_at=record.created_at,
        updated_at=record.updated_at,
        turns=record.turns,
    )


def _turn(turn: Turn) -> SessionTurn:
    return SessionTurn(
        number=turn.number,
        asked=turn.asked,
        understood=turn.understood,
        result=turn.result,
        created_at=turn.created_at,
    )
