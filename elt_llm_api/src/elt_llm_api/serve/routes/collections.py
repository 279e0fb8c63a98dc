"""`/v1/collections`: what there is to ask, how it is, and mending it."""

from dataclasses import asdict
from typing import Annotated

from elt_llm_core.store.status import CollectionStatus
from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from elt_llm_api.serve.actions.collections import Collections, Health
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(prefix="/v1/collections", tags=["collections"])
Name = Annotated[str, Path(min_length=1, max_length=64, description="Name of a collection.", examples=["handbook"])]


class CollectionSummary(BaseModel):
    """A collection in one line."""

    name: str = Field(examples=["handbook"])
    documents: int = Field(ge=0, examples=[12])
    chunks: int = Field(ge=0, description="Passages.", examples=[340])
    generation: int | None = Field(description="Number of what readers see.", examples=[3])
    model: str = Field(description="Provider and name of the embedding model.", examples=["embedded minilm"])
    built_at: str | None = Field(description="UTC, ISO 8601.", examples=["2026-11-22T10:00:00+00:00"])
    health: Health = Field(description="Whether questions are answered from all of it.", examples=["ok"])


class Fitted(BaseModel):
    """What was fitted to a collection for one profile."""

    model_config = ConfigDict(extra="allow")

    profile: str = Field(examples=["default"])


class CollectionDetail(BaseModel):
    """A collection as `elt-llm status --json` tells it."""

    status: CollectionStatus
    health: Health
    being_written: bool = Field(description="Whether somebody is writing into the data directory now.")
    calibrations: tuple[Fitted, ...] = Field(description="What decides to answer, where it was fitted.")


class VerifyRequest(BaseModel):
    """How thoroughly to look."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    deep: StrictBool = Field(False, description="Look at every row and every generation that is kept.")
    mend: StrictBool = Field(False, description="Build anew what is damaged, from the store, without embedding.")


class DamageFound(BaseModel):
    """One thing that is wrong."""

    collection: str = Field(examples=["handbook"])
    generation: int = Field(examples=[3])
    what: str
    healable: bool


class VerifyReport(BaseModel):
    """What the check found."""

    ok: bool = Field(description="Whether all is as published by now.")
    damage: tuple[DamageFound, ...]
    unchecked: tuple[str, ...] = Field(description="What could not be looked at.")
    healed: tuple[tuple[int, int], ...] = Field(description="Damaged generations and what was built in their place.")


class RollbackRequest(BaseModel):
    """Which generation readers shall see."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    to: StrictInt | None = Field(
        None, ge=1, le=2**31, description="Number of a kept generation; unset: the one before."
    )
    again: StrictBool = Field(False, description="Undo a rollback.")


class RollbackReport(BaseModel):
    """What readers saw and see."""

    collection: str = Field(examples=["handbook"])
    left: int = Field(examples=[3])
    now: int = Field(examples=[2])


@router.get("")
def list_collections(services: GivenServices, caller: Caller) -> list[CollectionSummary]:
    """List the collections that the key reads."""
    return [_summary(status, health) for status, health in Collections(services).all(caller)]


@router.get("/{name}")
def get_collection(name: Name, services: GivenServices, caller: Caller) -> CollectionDetail:
    """Tell size, generations, passport, last run, and files that failed; folders to those who administer."""
    one = Collections(services).one(caller, name)
    fitted = tuple(Fitted.model_validate(asdict(it)) for it in one.calibrations)
    return CollectionDetail(status=one.status, health=one.health, being_written=one.being_written, calibrations=fitted)


@router.post("/{name}/verify")
async def verify_collection(name: Name, asked: VerifyRequest, services: GivenServices, caller: Caller) -> VerifyReport:
    """Check every byte of the generations in use; with `mend`, rebuild what is damaged. Needs the right to write."""
    found = await Collections(services).verify(caller, name, deep=asked.deep, mend=asked.mend)
    damage = tuple(DamageFound(**asdict(it)) for it in found.damage)
    return VerifyReport(ok=found.ok, damage=damage, unchecked=found.unchecked, healed=found.healed)


@router.post("/{name}/rollback")
def roll_back_collection(name: Name, asked: RollbackRequest, services: GivenServices, caller: Caller) -> RollbackReport:
    """Show readers the previous generation, or another that is kept. Needs the right to write."""
    left, now = Collections(services).roll_back(caller, name, asked.to, again=asked.again)
    return RollbackReport(collection=name, left=left, now=now)


def _summary(status: CollectionStatus, health: Health) -> CollectionSummary:
    return CollectionSummary(
        name=status.collection,
        documents=status.documents,
        chunks=status.nodes,
        generation=status.generation,
        model=status.embedding,
        built_at=status.published_at,
        health=health,
    )
