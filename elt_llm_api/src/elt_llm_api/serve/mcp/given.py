"""What every tool is given: the services, and who calls."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp.server.mcpserver import Context
from starlette.requests import Request

from elt_llm_api.serve.access.principal import LOCAL, Forbidden, Principal
from elt_llm_api.serve.asgi import PRINCIPAL
from elt_llm_api.serve.services import Services

T = TypeVar("T")
AnyContext = Context[Any, Any]


@dataclass(frozen=True)
class Given:
    """The services of the server, and how to know the caller of a tool from its context."""

    services: Services
    caller: Callable[[AnyContext], Principal]

    async def work(self, act: Callable[[], T]) -> T:
        """What blocks, beside the event loop and within the server's bounds. Raises Overloaded, and what it raises."""
        return await self.services.workers.run(lambda _: act())


def local_caller(_: AnyContext) -> Principal:
    """Whoever started the process: it reads and writes what that person may."""
    return LOCAL


def caller_of_request(context: AnyContext) -> Principal:
    """Whoever sent the request that this call came with, as the guard around the app has settled. Raises Forbidden."""
    request = context.request_context.request
    principal = request.scope.get(PRINCIPAL) if isinstance(request, Request) else None
    if not isinstance(principal, Principal):
        raise Forbidden("Nobody knows who calls.", hint="Call over HTTP, with a key where one is demanded.")
    return principal
