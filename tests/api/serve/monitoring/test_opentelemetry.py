"""Questions are exported as spans without their text, and only to permitted addresses."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from elt_llm_api.serve.monitoring.exporters import SpanExporter, open_span_exporter
from elt_llm_api.serve.monitoring.measures import QuestionObservation
from elt_llm_core.errors import SettingsError
from elt_llm_core.results import TraceStage
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from optional import needs
from served.answering_server import EXTRACTIVE, copied_project
from served.server import served

EXPORTER = "opentelemetry.exporter.otlp.proto.http"
SECRET = "zuckerrohrdschungel"


@contextmanager
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """Run a server that accepts all requests; yield its address and the received bodies."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.path.encode() + self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log no requests, which would clutter the output of the tests."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_trace_span_of_a_question_has_one_timed_child_span_per_stage() -> None:
    kept = InMemorySpanExporter()
    stages = (TraceStage(name="understand", took_ms=2.0), TraceStage(name="retrieve", took_ms=30.0, kept=8))
    told = QuestionObservation(
        "ask", "default", "local", "answered", took_ms=40.0, confidence=0.75, stages=stages, caches={"results": False},
        chunk_counts={"both": 3}, generations={"hr": 4}, question=f"Where is the {SECRET}?", answer=f"In the {SECRET}.",
    )  # fmt: skip
    with SpanExporter(SimpleSpanProcessor(kept)) as spans:
        spans(told)
    understand, retrieve, whole = kept.get_finished_spans()
    assert whole.name == "elt_llm.ask"
    assert dict(whole.attributes or {}) == {
        "elt_llm.id": told.id,
        "elt_llm.profile": "default",
        "elt_llm.outcome": "answered",
        "elt_llm.found_by": "hybrid",
        "elt_llm.generations": ("hr@4",),
        "elt_llm.chunks.both": 3,
        "elt_llm.cache.results": False,
        "elt_llm.confidence": 0.75,
    }
    for child, milliseconds in ((understand, 2.0), (retrieve, 30.0), (whole, 40.0)):
        assert (child.end_time or 0) - (child.start_time or 0) == pytest.approx(milliseconds * 1e6, abs=1e3)
        assert child is whole or (child.parent and whole.context and child.parent.span_id == whole.context.span_id)
    assert retrieve.start_time == understand.end_time
    assert SECRET not in "".join(span.to_json() for span in kept.get_finished_spans())


def test_the_trace_span_of_a_failed_question_records_the_error() -> None:
    kept = InMemorySpanExporter()
    with SpanExporter(SimpleSpanProcessor(kept)) as spans:
        spans(QuestionObservation("search", "default", "local", "failed", "ModelTimeout"))
    [span] = kept.get_finished_spans()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "ModelTimeout")


@pytest.mark.network
def test_a_server_sends_trace_spans_to_the_configured_collector(sample_folder: Path, tmp_path: Path) -> None:
    needs(EXPORTER)
    with collector() as (address, bodies):
        project = copied_project(sample_folder, tmp_path / "project")
        with served(project, environment=EXTRACTIVE, otel_endpoint=address) as server:
            asked = {"question": "How many points does a ground need for Grade A?"}
            assert server.client.post("/v1/query", json=asked).status_code == 200
    sent = b"".join(bodies)
    assert sent.startswith(b"/v1/traces")
    for name in (b"elt_llm.ask", b"understand", b"retrieve", b"samples@1"):
        assert name in sent
    assert b"Grade A" not in sent


@pytest.mark.parametrize("address", ["http://collector.example:4318/v1/traces", "https://10.1.2.3/v1/traces"])
def test_a_remote_trace_collector_is_refused_unless_the_settings_allow_it(address: str) -> None:
    needs(EXPORTER)
    with pytest.raises(SettingsError, match="allow_remote_traces"):
        open_span_exporter(address, allow_remote=False)
    open_span_exporter(address, allow_remote=True).close()


@pytest.mark.parametrize("address", ["127.0.0.1:4318", "file:///tmp/traces", "http://", "grpc://127.0.0.1:4317"])
def test_a_collector_address_that_is_not_http_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match="not an HTTP address"):
        open_span_exporter(address, allow_remote=True)
