"""How the server fares: whether it can answer, what it measured, what is wrong and how that is mended."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from elt_llm_api.diagnosis.check import Facts
from elt_llm_api.serve.access.principal import Forbidden, Principal
from elt_llm_api.serve.monitoring.measures import Measures
from elt_llm_api.serve.monitoring.prometheus import MeasuresCollector, exposition
from elt_llm_api.serve.services import Services


class Ready(BaseModel):
    """Whether questions can be answered; `reasons` why not, or not from everything."""

    ready: bool
    reasons: list[str] = Field(default_factory=list, examples=[["Nothing was ingested yet."]])


class Finding(BaseModel):
    """What one check of `elt-llm doctor` found, and what mends it."""

    name: str
    outcome: str = Field(description="ok, warn or FAIL.", examples=["ok"])
    detail: str
    hint: str = Field(description="The command or change that mends it; empty where nothing needs mending.")


class Disk(BaseModel):
    """Room on the disk, in bytes."""

    used_by_data: int = Field(description="All files of the data directory.")
    free: int
    size: int


class Point(BaseModel):
    """The measures of an hour or a day."""

    start: str = Field(description="When it began, in UTC.", examples=["2026-01-31T12:00Z", "2026-01-31"])
    measures: dict[str, Any] = Field(description="As `total` has them.")


class Monitoring(BaseModel):
    """What was measured since ever, and by the hour and the day."""

    total: dict[str, Any] = Field(
        description="Questions, successes, failures by type, mean confidence, abstentions, caches, legs, and times of"
        " questions and stages in milliseconds: mean, p50, p95 and a moving average."
    )
    hours: list[Point] = Field(description="The last hours in which something was asked, the oldest first.")
    days: list[Point] = Field(description="The last days on which something was asked, the oldest first.")
    jobs: dict[str, int] = Field(description="Jobs by status.")
    places_free: int = Field(description="Questions that would be taken now, to be answered at once or to wait.")
    engines_open: int = Field(description="Combinations of collections and profile that are kept open.")
    lost_traces: int = Field(description="Questions that were counted and not written down.")
    settings_version: int = Field(description="Grows whenever changed settings were taken.")
    notes: list[str] = Field(description="What the settings say and is not in force, in sentences.")


class HealthOf:
    """Looks at one server. All but `ready` is for those who administer."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def ready(self, principal: Principal) -> Ready:
        """Whether a question could be answered now: there is room, and a collection that is sound.

        Questions leave out what is damaged beside it, and say so. Collections are named to who may read them.
        """
        published = [record.name for record in self._services.store.collections.all() if record.published]
        faults = [fault for name in published if (fault := self._fault(principal, name))]
        reasons = list(dict.fromkeys(faults))
        if not published:
            reasons.append("Nothing was ingested yet. Run: elt-llm ingest PATH -c NAME")
        if is_full := self._services.workers.is_full:
            reasons.append("The server has as many questions as it can take.")
        return Ready(ready=len(faults) < len(published) and not is_full, reasons=reasons)

    def monitoring(self, principal: Principal, hours: int = 48, days: int = 60) -> Monitoring:
        """What was measured, with the last hours and days. Raises Forbidden."""
        _must_administer(principal)
        services, series = self._services, self._services.recorder.series
        return Monitoring(
            total=series.total().summary(),
            hours=_points(series.hours(hours)),
            days=_points(series.days(days)),
            jobs=services.queue.counts(),
            places_free=services.workers.free,
            engines_open=services.engines.open_count,
            lost_traces=services.recorder.lost,
            settings_version=services.in_force.version,
            notes=list(services.reloader.notes),
        )

    def metrics(self, principal: Principal) -> bytes:
        """The same for Prometheus. Raises Forbidden."""
        _must_administer(principal)
        return exposition(MeasuresCollector(self._services.recorder.series.total, self._gauges))

    def findings(self, principal: Principal) -> list[Finding]:
        """What `elt-llm doctor` says of this machine and these data; takes a second or two. Raises Forbidden."""
        _must_administer(principal)
        from elt_llm_api.diagnosis.examination import examine

        loaded = self._services.loaded
        verdicts = examine(Facts({**os.environ, **loaded.environment}, loaded.working_directory, loaded, None))
        return [
            Finding(name=name, outcome=it.outcome.value, detail=it.detail, hint=it.hint)
            for name, it in verdicts.items()
        ]

    def disk(self, principal: Principal) -> Disk:
        """How much room the data take, and how much there is. Raises Forbidden."""
        _must_administer(principal)
        folder = self._services.loaded.data_dir
        usage = shutil.disk_usage(folder)
        return Disk(used_by_data=sum(map(_size, folder.rglob("*"))), free=usage.free, size=usage.total)

    def _fault(self, principal: Principal, name: str) -> str:
        """Why a collection cannot be asked, and what mends it; paths and commands for those who run the server."""
        fault = self._services.soundness.fault(name)
        if fault is None:
            return ""
        if principal.administers:
            return f"The collection '{name}' cannot be asked: {fault} {fault.hint}".strip()
        return f"The collection '{name}' cannot be asked." if principal.may_read(name) else "A collection is damaged."

    def _gauges(self) -> Mapping[str, tuple[str, float]]:
        services, jobs = self._services, self._services.queue.counts()
        refused, free = bool(services.reloader.notes), shutil.disk_usage(services.loaded.data_dir).free
        return {
            "elt_llm_places_free": ("Questions that would be taken now.", services.workers.free),
            "elt_llm_engines_open": ("Engines kept open.", services.engines.open_count),
            "elt_llm_jobs_queued": ("Jobs that wait.", jobs.get("queued", 0)),
            "elt_llm_jobs_running": ("Jobs at work.", jobs.get("running", 0)),
            "elt_llm_traces_lost": ("Questions counted and not written down.", services.recorder.lost),
            "elt_llm_settings_refused": ("Whether settings were changed that are not in force.", float(refused)),
            "elt_llm_disk_free_bytes": ("Room on the disk of the data.", free),
        }


def _must_administer(principal: Principal) -> None:
    if not principal.administers:
        raise Forbidden("This key may not see how the server fares.", hint="Use a key that administers.")


def _points(series: Mapping[str, Measures]) -> list[Point]:
    return [Point(start=start, measures=measures.summary()) for start, measures in series.items()]


def _size(path: Path) -> int:
    """The size of a file; 0 for what is none, or has gone meanwhile."""
    try:
        return path.stat().st_size if path.is_file() and not path.is_symlink() else 0
    except OSError:
        return 0
