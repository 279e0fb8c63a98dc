"""`/v1/collections` and `/v1/profiles`: list, describe, verify, roll back."""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import Field, StrictBool, StrictInt

from elt_llm_api.serve.actions.collections import (
    CollectionActions,
    CollectionOverview,
    CollectionSummary,
    RollbackReport,
    VerifyReport,
)
from elt_llm_api.serve.actions.profiles import ProfileActions, ProfileSummary
from elt_llm_api.serve.routes.dependencies import Call
from elt_llm_api.serve.services import RequestModel

router = APIRouter(prefix="/v1", tags=["collections"])
CollectionPath = Annotated[
    str, Path(min_length=1, max_length=64, description="Name of a collection.", examples=["handbook"])
]


class VerifyRequest(RequestModel):
    """The depth of a verification, and whether it repairs damage."""

    deep: StrictBool = Field(False, description="Check every row and every kept generation.")
    mend: StrictBool = Field(False, description="Rebuild damaged generations from stored data, without embedding.")


class RollbackRequest(RequestModel):
    """A request to roll back: the generation to publish."""

    to: StrictInt | None = Field(
        None, ge=1, le=2**31, description="Number of a kept generation; unset: the previous one."
    )
    again: StrictBool = Field(False, description="Undo a rollback.")


@router.get("/collections")
def list_collections(call: Call) -> list[CollectionSummary]:
    """List the collections that the key may read."""
    described = CollectionActions(call.services).all(call.principal)
    return [CollectionSummary.model_validate({**vars(status), "health": health}) for status, health in described]


@router.get("/collections/{name}")
def get_collection(name: CollectionPath, call: Call) -> CollectionOverview:
    """Return size, generations, embedding model, last run and failed files, and for administrators also folders."""
    return CollectionActions(call.services).get(call.principal, name)


@router.post("/collections/{name}/verify")
async def verify_collection(name: CollectionPath, body: VerifyRequest, call: Call) -> VerifyReport:
    """Check every byte of the generations in use. With `mend`, rebuild damaged ones. Needs write access."""
    return await CollectionActions(call.services).verify(call.principal, name, deep=body.deep, mend=body.mend)


@router.post("/collections/{name}/rollback")
def roll_back_collection(name: CollectionPath, body: RollbackRequest, call: Call) -> RollbackReport:
    """Publish the previous generation, or another kept generation. Needs write access."""
    return CollectionActions(call.services).roll_back(call.principal, name, body.to, again=body.again)


@router.get("/profiles")
def list_profiles(call: Call) -> list[ProfileSummary]:
    """List the profiles by name, with their descriptions."""
    return ProfileActions(call.services).all()
