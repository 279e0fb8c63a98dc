"""Record questions: count them, store counts by hour and day, and pass each question to the exporters."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from queue import Empty, Full, Queue
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Self

from elt_llm_core.errors import EltError, StoreError
from elt_llm_core.results import QueryResult
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.state.calibrations import MetricTable, Period, PeriodStart
from elt_llm_core.state.erasure import TraceFiles
from elt_llm_core.store.database import Database
from elt_llm_core.utilities import Closeable
from elt_llm_query.search import SearchResult

from elt_llm_api.serve.monitoring.exporters import open_span_exporter, write_trace
from elt_llm_api.serve.monitoring.measures import (
    MEASURES,
    Kind,
    QuestionMeasures,
    QuestionObservation,
    answer_fields,
    chunk_fields,
)

ObservationSink = Callable[[QuestionObservation], None]
"""A function that writes or sends the observation of a question. Raises OSError on failure."""
TOTAL: PeriodStart = ("total", "")
SAVE_EVERY = 300.0  # seconds
_MOST_WAITING = 10_000  # questions that wait for the sinks; further ones are counted but not exported
_log = logging.getLogger(__name__)


class MeasureSeries:
    """The stored metrics by hour and day. Unsaved metrics are kept apart, because other servers add to the same rows.

    Hourly metrics are kept for `keep_hours` days (not hours), daily metrics for `keep_days` days. The class is
    thread-safe.
    """

    def __init__(self, rows: MetricTable, keep_hours: int, keep_days: int) -> None:
        self._rows, self._keep_hours, self._keep_days = rows, keep_hours, keep_days
        self._unsaved: dict[PeriodStart, QuestionMeasures] = {}
        self._adding, self._saving = Lock(), Lock()

    def add(self, observation: QuestionObservation) -> None:
        """Count one question in the total, its hour and its day."""
        with self._adding:
            for start in (TOTAL, ("hour", _hour_key(observation.at)), ("day", _day_key(observation.at))):
                self._unsaved.setdefault(start, QuestionMeasures()).add(observation)

    def save(self, now: datetime | None = None) -> None:
        """Add the unsaved metrics to the database and delete old rows. After a StoreError they stay unsaved."""
        moment = now or datetime.now(UTC)
        with self._saving:
            with self._adding:
                unsaved, self._unsaved = self._unsaved, {}
            try:
                rows = {start: MEASURES.dump_json(measures).decode() for start, measures in unsaved.items()}
                self._rows.add(rows, _merge_json)
            except BaseException:
                self._restore(unsaved)
                raise
            self._rows.prune("hour", _hour_key(moment - timedelta(days=self._keep_hours)))
            self._rows.prune("day", _day_key(moment - timedelta(days=self._keep_days)))

    def total(self) -> QuestionMeasures:
        """Return the metrics of all questions so far."""
        return self.of("total", 1).get("", QuestionMeasures())

    def of(self, period: Period, most: int) -> dict[str, QuestionMeasures]:
        """Return the metrics of the last `most` hours or days with questions, keyed by their start, oldest first."""
        with self._saving:
            rows = self._rows.of(period, "", most)
            measures = {start: MEASURES.validate_json(content) for start, content in rows.items()}
            with self._adding:
                for (one, start), unsaved in self._unsaved.items():
                    if one == period:
                        measures.setdefault(start, QuestionMeasures()).merge(unsaved)
        return dict(sorted(measures.items())[-most:])

    def _restore(self, unsaved: dict[PeriodStart, QuestionMeasures]) -> None:
        with self._adding:
            for start, later in self._unsaved.items():
                unsaved.setdefault(start, QuestionMeasures()).merge(later)
            self._unsaved = unsaved


def _merge_json(stored: str, unsaved: str) -> str:
    measures = MEASURES.validate_json(stored)
    measures.merge(MEASURES.validate_json(unsaved))
    return MEASURES.dump_json(measures).decode()


def _hour_key(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:00Z")


def _day_key(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d")


class QuestionRecorder(Closeable):
    """Counts questions, and passes each question to the `sinks` in its own thread. The class is thread-safe.

    The counts are saved every `save_every` seconds and when the recorder is closed.
    """

    def __init__(
        self, series: MeasureSeries, sinks: Sequence[ObservationSink] = (), *, save_every: float = SAVE_EVERY
    ) -> None:
        self.series = series
        self.lost = 0
        """Number of questions that were counted but not passed to the sinks, because a sink was too slow."""
        self._sinks, self._save_every = tuple(sinks), save_every
        self._waiting: Queue[QuestionObservation | None] = Queue(_MOST_WAITING)
        self._thread = Thread(target=self._work, name="recorder", daemon=True)
        self._thread.start()

    def watch(
        self, kind: Kind, principal: str, question: str, profile: str, *, request_id: str = ""
    ) -> "QuestionTimer":
        """Return a timer that records the outcome of a question asked in its `with` block.

        `request_id`, if any, becomes the id of the question.
        """
        fields = {"kind": kind, "principal": principal, "question": question, "profile": profile}
        return QuestionTimer(self, {**fields, "id": request_id} if request_id else fields)

    def record(self, observation: QuestionObservation) -> None:
        """Count a question, and queue it for the sinks without waiting."""
        self.series.add(observation)
        try:
            self._waiting.put_nowait(observation)
        except Full:
            self.lost += 1

    def close(self) -> None:
        """Pass the remaining questions to the sinks and save the counts."""
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()

    def _work(self) -> None:
        due, running = time.monotonic() + self._save_every, True
        while running:
            with suppress(Empty):
                if observation := self._waiting.get(timeout=max(0.0, due - time.monotonic())):
                    self._write(observation)
                else:
                    running = False
            if not running or time.monotonic() >= due:
                try:
                    self.series.save()
                except StoreError as error:
                    _log.warning("The measures were not saved; saving will be tried again: %s", error)
                due = time.monotonic() + self._save_every

    def _write(self, observation: QuestionObservation) -> None:
        for sink in self._sinks:
            try:
                sink(observation)
            except OSError as error:
                _log.warning("The trace of a question was not written: %s", error.strerror or type(error).__name__)


class QuestionTimer:
    """Times one question. If its `with` block ends with an error, the question is recorded as failed or cancelled."""

    def __init__(self, recorder: QuestionRecorder, fields: Mapping[str, Any]) -> None:
        self._recorder, self._fields = recorder, fields
        self._started = time.perf_counter()
        self._done = False

    def answered(self, result: QueryResult) -> QueryResult:
        """Record an answer, and return it."""
        self._record(answer_fields(result))
        return result

    def found(self, result: SearchResult) -> SearchResult:
        """Record the chunks of a search result, and return the result."""
        self._record(chunk_fields(result.chunks, result.stages))
        return result

    def __enter__(self) -> Self:
        """Return the timer. The duration counts from the creation of the timer."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Record the type of an error. A cancelled question is not a failure."""
        if kind is None:
            return
        name = kind.__name__ if issubclass(kind, EltError) else "InternalError"
        failed = issubclass(kind, Exception)
        self._record({"outcome": "failed", "error": name} if failed else {"outcome": "cancelled"})

    def _record(self, outcome: dict[str, Any]) -> None:
        if not self._done:
            self._done = True
            took_ms = (time.perf_counter() - self._started) * 1000
            self._recorder.record(QuestionObservation(**self._fields, **outcome, took_ms=took_ms))


@contextmanager
def open_recorder(loaded: LoadedSettings, state: Database) -> Iterator[QuestionRecorder]:
    """Yield a recorder that saves counts in the state database, also when the block ends. Raises SettingsError."""
    serve, network = loaded.settings.serve, loaded.settings.network
    series = MeasureSeries(MetricTable(state), serve.metrics_hourly_days, serve.metrics_daily_days)
    sinks: list[ObservationSink] = []
    with ExitStack() as opened:
        if serve.trace_files:
            files = TraceFiles(loaded.data_dir, serve.trace_files)
            sinks.append(partial(write_trace, files, words=serve.trace_questions))
        if serve.otel_endpoint:
            exporter = open_span_exporter(serve.otel_endpoint, allow_remote=network.allow_remote_traces)
            sinks.append(opened.enter_context(exporter))
        yield opened.enter_context(QuestionRecorder(series, sinks))
