"""`/v1/profiles`: the ways of asking."""

from fastapi import APIRouter
from pydantic import BaseModel, Field

from elt_llm_api.serve.actions.profiles import Profiles
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(prefix="/v1/profiles", tags=["collections"])


class ProfileLine(BaseModel):
    """One profile."""

    name: str = Field(examples=["fast"])
    description: str = Field(examples=["Fused and not reranked."])
    shipped: bool = Field(description="Whether it comes with the program.")


@router.get("")
def list_profiles(services: GivenServices, _: Caller) -> list[ProfileLine]:
    """List the profiles by name, with what each is for."""
    return [
        ProfileLine(name=it.name, description=it.description, shipped=it.shipped) for it in Profiles(services).all()
    ]
