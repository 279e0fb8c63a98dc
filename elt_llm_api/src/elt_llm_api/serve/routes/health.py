"""The routes `/health`, `/ready`, `/v1/version`, `/metrics` and `/v1/monitoring`."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, Field

from elt_llm_api.serve.actions.health import HealthActions, MonitoringReport, Readiness, VersionInfo, version_info
from elt_llm_api.serve.routes.dependencies import Call, refuse_unknown_parameters

router = APIRouter(tags=["health"])
_PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Liveness(BaseModel):
    """The response of `/health`: the process is alive."""

    status: str = Field("ok", examples=["ok"])


@router.get("/health")
async def get_health() -> Liveness:
    """Report that the process is alive, without a key and without waiting for anything."""
    return Liveness(status="ok")


@router.get("/ready", responses={503: {"model": Readiness}})
def get_readiness(response: Response, call: Call) -> Readiness:
    """Report whether questions can be answered. Otherwise the status is 503, with the reasons."""
    readiness = HealthActions(call.services).ready(call.principal)
    response.status_code = 200 if readiness.ready else 503
    return readiness


@router.get("/v1/version")
def get_version(call: Call) -> VersionInfo:
    """Return the versions of the packages and of Python, and the installed extras. Administrators also get paths."""
    return version_info(call.services, call.principal)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {_PROMETHEUS_TYPE: {"schema": {"type": "string"}}}}},
)
def get_metrics(call: Call) -> Response:
    """Return counters, times and gauges in the text format of Prometheus."""
    return Response(HealthActions(call.services).metrics(call.principal), media_type=_PROMETHEUS_TYPE)


@router.get("/v1/monitoring", dependencies=[Depends(refuse_unknown_parameters)])
def get_monitoring(
    call: Call,
    hours: Annotated[int, Query(ge=1, le=10_000, description="Largest number of hours to return.")] = 48,
    days: Annotated[int, Query(ge=1, le=10_000, description="Largest number of days to return.")] = 60,
) -> MonitoringReport:
    """Return counts and durations of all questions: in total, by hour and by day."""
    return HealthActions(call.services).monitoring(call.principal, hours, days)
