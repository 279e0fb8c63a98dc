"""`/v1/version`: what runs here."""

from fastapi import APIRouter

from elt_llm_api.serve.actions.versions import Version, version_of
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(prefix="/v1", tags=["version"])


@router.get("/version")
def version(services: GivenServices, caller: Caller) -> Version:
    """Versions of the packages and of Python, and which extras are there; administrators are told the paths, too."""
    return version_of(services, caller)
