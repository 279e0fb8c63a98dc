"""What was measured: `/metrics` for Prometheus, `/v1/monitoring` for everybody else; both for who administers."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from elt_llm_api.serve.actions.health import HealthOf, Monitoring
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(tags=["health"])
_FORMAT = "text/plain; version=0.0.4; charset=utf-8"


@router.get(
    "/metrics", response_class=Response, responses={200: {"content": {_FORMAT: {"schema": {"type": "string"}}}}}
)
def metrics(services: GivenServices, caller: Caller) -> Response:
    """Counters, times and gauges in the text format of Prometheus."""
    return Response(HealthOf(services).metrics(caller), media_type=_FORMAT)


@router.get("/v1/monitoring")
def monitoring(
    services: GivenServices,
    caller: Caller,
    hours: Annotated[int, Query(ge=1, le=10_000, description="Hours of the series, at most.")] = 48,
    days: Annotated[int, Query(ge=1, le=10_000, description="Days of the series, at most.")] = 60,
) -> Monitoring:
    """Totals, times of stages, caches, legs, and the series by the hour and the day."""
    return HealthOf(services).monitoring(caller, hours, days)
