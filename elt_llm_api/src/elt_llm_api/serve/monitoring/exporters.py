"""Export measurements: Prometheus text, OpenTelemetry spans, and trace files."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from elt_llm_core.errors import SettingsError
from elt_llm_core.state.erasure import TraceFiles
from elt_llm_core.utilities import Closeable, install_command

from elt_llm_api.serve.middleware.origins import is_loopback
from elt_llm_api.serve.monitoring.measures import BUCKET_BOUNDS, Histogram, QuestionMeasures, QuestionObservation

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor
    from prometheus_client.core import HistogramMetricFamily, Metric

_BUCKET_STEP = 4  # every fourth bound is exported; an exported bound is about twice the previous one
_COUNTERS = (
    ("elt_llm_questions", "Questions by outcome.", "outcome", ("outcome",)),
    ("elt_llm_requests", "Questions by kind.", "kind", ("kind",)),
    ("elt_llm_failures", "Questions that failed, by type of error.", "failure", ("type",)),
    ("elt_llm_found_by", "Questions by the retrievers that found their chunks.", "found_by", ("retrievers",)),
    ("elt_llm_chunks", "Chunks by the retriever that found them.", "passages", ("retriever",)),
    ("elt_llm_cache", "Hits and misses of caches.", "cache", ("cache", "result")),
)


@dataclass(frozen=True)
class PrometheusCollector:
    """Collects the current metrics. `gauges` returns the help text and the value of each gauge by its name."""

    measures: Callable[[], QuestionMeasures]
    gauges: Callable[[], Mapping[str, tuple[str, float]]]

    def collect(self) -> Iterable["Metric"]:
        """Yield every metric. The Prometheus library calls this method."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        measures = self.measures()
        for name, description, group, labels in _COUNTERS:
            family = CounterMetricFamily(name, description, labels=labels)
            for value, count in sorted(measures.counts.get(group, {}).items()):
                family.add_metric(value.split(":", len(labels) - 1), count)
            yield family
        yield CounterMetricFamily(
            "elt_llm_confidence", "Sum of the confidence of all answers.", value=measures.confidence
        )
        yield from _histogram_families(measures)
        for name, (description, gauge) in self.gauges().items():
            yield GaugeMetricFamily(name, description, value=gauge)


def prometheus_text(collector: PrometheusCollector) -> bytes:
    """Return the metrics in the format of Prometheus, with memory and processor time of this process."""
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    ProcessCollector(registry=registry)
    return generate_latest(registry)


def _histogram_families(measures: QuestionMeasures) -> Iterable["Metric"]:
    from prometheus_client.core import HistogramMetricFamily

    description = "Duration of questions, including waiting."
    questions = HistogramMetricFamily("elt_llm_request_seconds", description, labels=["kind"])
    stages = HistogramMetricFamily("elt_llm_stage_seconds", "Duration of the stages of a question.", labels=["stage"])
    for name, times in sorted(measures.times.items()):
        stage = name.removeprefix("stage:")
        _add_histogram(questions if stage == name else stages, stage, times)
    return (questions, stages)


def _add_histogram(family: "HistogramMetricFamily", label: str, times: Histogram) -> None:
    buckets, counted = [], 0
    for index, bound in enumerate(BUCKET_BOUNDS[:-1]):
        counted += times.buckets.get(index, 0)
        if index % _BUCKET_STEP == _BUCKET_STEP - 1:
            buckets.append((f"{bound / 1000:.6g}", counted))
    buckets.append(("+Inf", times.count))
    family.add_metric([label], buckets, times.total / 1000)


_EXPORT_TIMEOUT = 5  # seconds


class SpanExporter(Closeable):
    """Passes an OpenTelemetry span for each question to a span processor, without changing global state."""

    def __init__(self, processor: "SpanProcessor") -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider

        resource = Resource({"service.name": "elt-llm"})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("elt_llm_api")

    def __call__(self, observation: QuestionObservation) -> None:
        """Export a span for the question, with consecutive child spans for its stages."""
        from opentelemetry.context import Context
        from opentelemetry.trace import Status, StatusCode, set_span_in_context

        end = int(observation.at.timestamp() * 1e9)
        start = end - int(observation.took_ms * 1e6)
        status = (
            Status(StatusCode.ERROR, observation.error) if observation.outcome == "failed" else Status(StatusCode.OK)
        )
        span = self._tracer.start_span(
            f"elt_llm.{observation.kind}", Context(), attributes=_span_attributes(observation), start_time=start
        )
        span.set_status(status)
        within, moment = set_span_in_context(span, Context()), start
        for stage in observation.stages:
            child = self._tracer.start_span(stage.name, within, attributes={"kept": stage.kept}, start_time=moment)
            moment += int(stage.took_ms * 1e6)
            child.end(moment)
        span.end(end)

    def close(self) -> None:
        """Send the remaining spans."""
        self._provider.shutdown()


def open_span_exporter(endpoint: str, *, allow_remote: bool) -> SpanExporter:
    """Return an exporter that sends batches to a collector in a thread. An unreachable collector is ignored.

    Raises SettingsError for an invalid address, for an address of another machine if `allow_remote` is false, and if
    the optional package is missing.
    """
    parts = urlsplit(endpoint)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingsError(
            f"serve.otel_endpoint is '{endpoint}', which is not an HTTP address.",
            hint="Set it to an address such as http://127.0.0.1:4318/v1/traces",
        )
    if not is_loopback(parts.hostname) and not allow_remote:
        raise SettingsError(
            f"serve.otel_endpoint is '{endpoint}', on another machine, but network.allow_remote_traces is false.",
            hint="Set network.allow_remote_traces to true if times and counts of questions may leave this machine.",
        )
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise SettingsError(
            "serve.otel_endpoint is set, but the library that sends traces is not installed.",
            hint=f"Run: {install_command('otel')}",
        ) from error
    return SpanExporter(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, timeout=_EXPORT_TIMEOUT)))


def _span_attributes(observation: QuestionObservation) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "elt_llm.id": observation.id,
        "elt_llm.profile": observation.profile,
        "elt_llm.outcome": observation.outcome,
        "elt_llm.found_by": observation.found_by,
        "elt_llm.generations": [f"{name}@{number}" for name, number in observation.generations.items()],
    }
    attributes |= {f"elt_llm.chunks.{name}": count for name, count in observation.chunk_counts.items()}
    attributes |= {f"elt_llm.cache.{cache}": hit for cache, hit in observation.caches.items()}
    if observation.confidence is not None:
        attributes["elt_llm.confidence"] = observation.confidence
    return attributes


def write_trace(files: TraceFiles, observation: QuestionObservation, *, words: bool) -> None:
    """Write one line for a question, with the text of question and answer if `words` is true. Raises OSError.

    The line names the documents of the question, so that forgetting a document removes the line.
    """
    files.append(trace_line(observation, words=words))


def trace_line(observation: QuestionObservation, *, words: bool) -> dict[str, Any]:
    """Return the content of a question's line in a trace file. Durations are in milliseconds."""
    stages = [
        {"name": stage.name, "took_ms": round(stage.took_ms, 3), "kept": stage.kept} for stage in observation.stages
    ]
    line: dict[str, Any] = {
        "id": observation.id,
        "at": observation.at.isoformat(timespec="milliseconds"),
        "kind": observation.kind,
        "profile": observation.profile,
        "asked_by": observation.principal,
        "outcome": observation.outcome,
        "error": observation.error,
        "took_ms": round(observation.took_ms, 3),
        "confidence": observation.confidence,
        "stages": stages,
        "caches": dict(observation.caches),
        "found_by": observation.found_by,
        "chunks": dict(observation.chunk_counts),
        "generations": dict(observation.generations),
        "documents": [list(one) for one in observation.documents],
    }
    return {**line, "question": observation.question, "answer": observation.answer} if words else line
