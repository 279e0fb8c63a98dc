"""What every route may ask for: the services, and who asks. Coroutines, so that no thread is needed to give them."""

from typing import Annotated

from fastapi import Depends, Request

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.asgi import PRINCIPAL
from elt_llm_api.serve.services import Services


async def services_of(request: Request) -> Services:
    """The services of the app that a request came to."""
    services: Services = request.app.state.services
    return services


async def principal_of(request: Request) -> Principal:
    """Who asks, as the guard around the app has settled."""
    principal: Principal = request.scope[PRINCIPAL]
    return principal


GivenServices = Annotated[Services, Depends(services_of)]
Caller = Annotated[Principal, Depends(principal_of)]
