"""Measures in the format of Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats/)."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from elt_llm_api.serve.monitoring.histogram import BOUNDS, Histogram
from elt_llm_api.serve.monitoring.measures import Measures

if TYPE_CHECKING:
    from prometheus_client.core import HistogramMetricFamily, Metric

_EACH = 4  # every fourth bound is shown: each about twice the one before
_COUNTERS = (
    ("elt_llm_questions", "Questions by what became of them.", "outcome", "outcome"),
    ("elt_llm_requests", "Questions by kind.", "kind", "kind"),
    ("elt_llm_failures", "Questions that failed, by type of error.", "failure", "type"),
    ("elt_llm_found_by", "Questions by the legs that brought their passages.", "found_by", "legs"),
    ("elt_llm_passages", "Passages by the leg that brought them.", "passages", "leg"),
)


class MeasuresCollector:
    """Measures and gauges as they are at the moment they are asked for."""

    def __init__(self, measures: Callable[[], Measures], gauges: Callable[[], Mapping[str, tuple[str, float]]]) -> None:
        self._measures, self._gauges = measures, gauges

    def collect(self) -> Iterable["Metric"]:
        """Every metric; the client library calls this."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        measures = self._measures()
        for name, told, group, label in _COUNTERS:
            family = CounterMetricFamily(name, told, labels=[label])
            for value, count in sorted(measures.counts.get(group, {}).items()):
                family.add_metric([value], count)
            yield family
        caches = CounterMetricFamily("elt_llm_cache", "What caches were asked for.", labels=["cache", "result"])
        for value, count in sorted(measures.counts.get("cache", {}).items()):
            caches.add_metric(value.split(":"), count)
        yield caches
        yield CounterMetricFamily(
            "elt_llm_confidence", "Confidence of all answers together.", value=measures.confidence
        )
        yield from _times(measures)
        for name, (meaning, now) in self._gauges().items():
            yield GaugeMetricFamily(name, meaning, value=now)


def exposition(collector: MeasuresCollector) -> bytes:
    """What Prometheus reads, with the memory and processor time of this process."""
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    ProcessCollector(registry=registry)
    return generate_latest(registry)


def _times(measures: Measures) -> Iterable["Metric"]:
    from prometheus_client.core import HistogramMetricFamily

    asked = HistogramMetricFamily(
        "elt_llm_request_seconds", "How long questions took, waiting included.", labels=["kind"]
    )
    stages = HistogramMetricFamily("elt_llm_stage_seconds", "How long stages took.", labels=["stage"])
    for name, times in sorted(measures.times.items()):
        stage = name.removeprefix("stage:")
        _add(asked if stage == name else stages, stage, times)
    return (asked, stages)


def _add(family: "HistogramMetricFamily", label: str, times: Histogram) -> None:
    buckets, seen = [], 0
    for place, bound in enumerate(BOUNDS[:-1]):
        seen += times.buckets.get(place, 0)
        if place % _EACH == _EACH - 1:
            buckets.append((f"{bound / 1000:.6g}", seen))
    buckets.append(("+Inf", times.count))
    family.add_metric([label], buckets, times.total / 1000)
