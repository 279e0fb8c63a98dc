"""A recorder as the settings say, with or without a server around it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from elt_llm_core.settings_loader import LoadedSettings
from elt_llm_core.state.metrics import MetricRows
from elt_llm_core.state.trace_files import TraceFiles
from elt_llm_core.store.database import Database

from elt_llm_api.serve.monitoring.opentelemetry import open_spans
from elt_llm_api.serve.monitoring.recorder import Recorder, Sink
from elt_llm_api.serve.monitoring.series import Series
from elt_llm_api.serve.monitoring.traces import TraceLines


@contextmanager
def open_recorder(loaded: LoadedSettings, state: Database) -> Iterator[Recorder]:
    """A recorder over the state database; what it has counted is saved when the block ends. Raises SettingsError."""
    settings = loaded.settings
    serve = settings.serve
    series = Series(MetricRows(state), serve.metrics_hourly_days, serve.metrics_daily_days)
    sinks: list[Sink] = []
    with ExitStack() as opened:
        if serve.trace_files:
            sinks.append(TraceLines(TraceFiles(loaded.data_dir, serve.trace_files), words=serve.trace_questions))
        if serve.otel_endpoint:
            allow = settings.network.allow_remote_traces
            sinks.append(opened.enter_context(open_spans(serve.otel_endpoint, allow_remote=allow)))
        yield opened.enter_context(Recorder(series, sinks))
