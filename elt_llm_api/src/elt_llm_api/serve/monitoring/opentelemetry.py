"""Questions as spans of OpenTelemetry, their stages as children; without words, and nowhere unless the settings ask."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import SettingsError

from elt_llm_api.serve.middleware.hosts import is_loopback
from elt_llm_api.serve.monitoring.observation import Observation

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor

_TIMEOUT = 5  # seconds that sending may take


class Spans(Closeable):
    """Makes a span of each question and hands it to a processor. Nothing is registered beyond this object."""

    def __init__(self, processor: "SpanProcessor") -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider

        resource = Resource({"service.name": "elt-llm"})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("elt_llm_api")

    def __call__(self, seen: Observation) -> None:
        """One span for the question, and one after the other for its stages, all as long as they took."""
        from opentelemetry.context import Context
        from opentelemetry.trace import Status, StatusCode, set_span_in_context

        end = int(seen.at.timestamp() * 1e9)
        start = end - int(seen.took_ms * 1e6)
        status = Status(StatusCode.ERROR, seen.error) if seen.outcome == "failed" else Status(StatusCode.OK)
        span = self._tracer.start_span(f"elt_llm.{seen.kind}", Context(), attributes=_of(seen), start_time=start)
        span.set_status(status)
        within, moment = set_span_in_context(span, Context()), start
        for stage in seen.stages:
            child = self._tracer.start_span(stage.name, within, attributes={"kept": stage.kept}, start_time=moment)
            moment += int(stage.took_ms * 1e6)
            child.end(moment)
        span.end(end)

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()


def open_spans(endpoint: str, *, allow_remote: bool) -> Spans:
    """Spans that are sent to a collector in batches, in a thread of its own; one that cannot be reached costs nothing.

    Raises SettingsError for an address beyond this machine unless `allow_remote`, and where the extra is missing.
    """
    parts = urlsplit(endpoint)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingsError(
            f"serve.otel_endpoint is '{endpoint}', which is no address of HTTP.",
            hint="Such as http://127.0.0.1:4318/v1/traces",
        )
    if not is_loopback(parts.hostname) and not allow_remote:
        raise SettingsError(
            f"serve.otel_endpoint is '{endpoint}', which is another machine, and network.allow_remote_traces is false.",
            hint="Set network.allow_remote_traces to true if times and counts of questions may leave this machine.",
        )
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise SettingsError(
            "serve.otel_endpoint is set, and what sends traces there is not installed.",
            hint="Run: uv sync --inexact --extra otel",
        ) from error
    return Spans(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, timeout=_TIMEOUT)))


def _of(seen: Observation) -> dict[str, Any]:
    told: dict[str, Any] = {
        "elt_llm.id": seen.id,
        "elt_llm.profile": seen.profile,
        "elt_llm.outcome": seen.outcome,
        "elt_llm.found_by": seen.found_by,
        "elt_llm.generations": [f"{name}@{number}" for name, number in seen.generations.items()],
    }
    told |= {f"elt_llm.passages.{leg}": count for leg, count in seen.legs.items()}
    told |= {f"elt_llm.cache.{cache}": hit for cache, hit in seen.caches.items()}
    return told if seen.confidence is None else {**told, "elt_llm.confidence": seen.confidence}
