"""Questions are counted by outcome, hour and day, across restarts and several servers."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from elt_llm_api.serve.actions.questions import AskRequest
from elt_llm_api.serve.monitoring.measures import (
    BUCKET_BOUNDS,
    Histogram,
    Outcome,
    QuestionObservation,
)
from elt_llm_api.serve.monitoring.recorder import MeasureSeries, QuestionRecorder
from elt_llm_core.errors import ModelTimeout
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.results import QueryResult, TraceStage
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.state.calibrations import MetricTable
from elt_llm_core.state.database import open_state
from elt_llm_core.store.database import Database
from elt_llm_query.engine import open_engine
from hypothesis import given
from hypothesis import strategies as some
from pydantic import TypeAdapter
from served.answering_server import EXTRACTIVE, copied_project
from served.server import served

MOMENT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
TIMES = some.lists(some.floats(0, BUCKET_BOUNDS[-1]), min_size=1, max_size=60)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Database]:
    with closing(open_state(tmp_path)) as state:
        yield state


def series_over(state: Database) -> MeasureSeries:
    return MeasureSeries(MetricTable(state), 14, 400)


def seen(
    outcome: Outcome = "answered", at: datetime = MOMENT, error: str = "", took_ms: float = 5.0
) -> QuestionObservation:
    stages = (TraceStage(name="retrieve", took_ms=took_ms / 2),)
    confidence = 0.8 if outcome == "answered" else None
    return QuestionObservation("ask", "default", "local", outcome, error, took_ms, confidence, stages, at=at)


@given(TIMES, some.floats(0, 1))
def test_a_percentile_of_a_histogram_is_within_a_fifth_of_the_exact_percentile(
    times: list[float], share: float
) -> None:
    histogram = Histogram()
    for one in times:
        histogram.add(one)
    place = min(len(times) - 1, max(0, -(-round(share * len(times) * 1e6) // 10**6) - 1))
    exact = sorted(times)[place]
    assert exact / 1.2 - BUCKET_BOUNDS[0] <= histogram.percentile(share) <= exact * 1.2 + BUCKET_BOUNDS[0]


@given(TIMES, TIMES)
def test_the_sum_of_two_histograms_equals_the_histogram_of_all_values(first: list[float], second: list[float]) -> None:
    one, other, both = Histogram(), Histogram(), Histogram()
    for histogram, values in ((one, first), (other, second), (both, [*first, *second])):
        for value in values:
            histogram.add(value)
    stored = TypeAdapter(Histogram)
    one.merge(stored.validate_json(stored.dump_json(other)))
    assert one.buckets == both.buckets
    assert one.count == both.count
    assert one.total == pytest.approx(both.total)


def test_a_moving_average_gives_more_weight_to_the_latest_values() -> None:
    histogram = Histogram()
    for value in (*([10.0] * 100), *([1000.0] * 30)):
        histogram.add(value)
    assert histogram.summary()["mean_ms"] == pytest.approx(238, abs=1)
    assert histogram.moving > 900


def test_the_size_of_a_histogram_does_not_grow_with_the_number_of_values() -> None:
    histogram = Histogram()
    for value in range(100_000):
        histogram.add(value * 37.0)
    assert len(histogram.buckets) <= len(BUCKET_BOUNDS)


def test_questions_are_counted_by_hour_and_day(state: Database) -> None:
    series = series_over(state)
    for hours in (0, 0, 1, 24):
        series.add(seen(at=MOMENT + timedelta(hours=hours)))
    assert [(start, it.of("kind")) for start, it in series.of("hour", 48).items()] == [
        ("2026-03-01T12:00Z", 2),
        ("2026-03-01T13:00Z", 1),
        ("2026-03-02T12:00Z", 1),
    ]
    assert {start: it.of("kind") for start, it in series.of("day", 60).items()} == {"2026-03-01": 3, "2026-03-02": 1}
    assert list(series.of("hour", 1)) == ["2026-03-02T12:00Z"]


def test_counts_of_all_servers_survive_a_restart(state: Database) -> None:
    first, second = series_over(state), series_over(state)
    first.add(seen())
    second.add(seen("failed", error="ModelTimeout"))
    second.add(seen("refused"))
    first.save(MOMENT)
    second.save(MOMENT)
    first.save(MOMENT)
    told = series_over(state).total().summary()
    assert (told["questions"], told["answered"], told["refused"], told["failed"]) == (3, 1, 1, 1)
    assert told["failures"] == {"ModelTimeout": 1}
    assert told["mean_confidence"] == pytest.approx(0.8)
    assert told["times"]["stage:retrieve"]["count"] == 3
    assert series_over(state).of("hour", 48)["2026-03-01T12:00Z"].summary() == told


def test_counts_of_old_hours_and_days_are_dropped_but_stay_in_the_total(state: Database) -> None:
    series = series_over(state)
    for days in (0, 13, 15, 401):
        series.add(seen(at=MOMENT - timedelta(days=days)))
    series.save(MOMENT)
    assert len(series.of("hour", 48)) == 2
    assert len(series.of("day", 60)) == 3
    assert series.total().of("kind") == 4


def test_counts_that_failed_to_save_are_saved_later(tmp_path: Path) -> None:
    state = open_state(tmp_path / "gone")
    series = series_over(state)
    series.add(seen())
    state.close()
    with pytest.raises(Exception, match="closed"):
        series.save(MOMENT)
    with closing(open_state(tmp_path / "there")) as other:
        series._rows = MetricTable(other)
        series.save(MOMENT)
        assert series_over(other).total().of("kind") == 1


def test_answers_and_searches_are_counted_without_a_server(sample_folder: Path, state: Database) -> None:
    loaded = load_settings(None, EXTRACTIVE, sample_folder)
    with (
        open_engine(loaded.settings, loaded.data_dir, ["samples"], embedding=FakeEmbedding()) as engine,
        QuestionRecorder(series_over(state)) as recorder,
    ):
        for question in ("How many points does a ground need for Grade A?", "How many points does a ground need?"):
            with recorder.watch("ask", "me", question, "default") as watch:
                watch.answered(engine.ask(question))
        with recorder.watch("search", "me", "points", "default") as watch:
            watch.found(engine.search("How many points does a ground need?"))
        told = recorder.series.total().summary()
    assert told["by_kind"] == {"ask": 2, "search": 1}
    assert told["succeeded"] == 3
    assert told["cache"]["results"] == {"hit": 1, "miss": 2}
    assert sum(told["found_by"].values()) == 3
    assert set(told["found_by"]) <= {"vector", "keyword", "hybrid", "none"}
    assert sum(told["chunks"].values()) > 3
    assert {"stage:understand", "stage:retrieve", "stage:rerank", "ask", "search"} <= set(told["times"])


def test_failures_and_cancelled_questions_are_counted_separately(state: Database) -> None:
    def fail(recorder: QuestionRecorder, error: BaseException) -> None:
        with recorder.watch("ask", "me", "Why?", "default"):
            raise error

    with QuestionRecorder(series_over(state)) as recorder:
        for error in (ModelTimeout("late"), ValueError("secret words"), GeneratorExit()):
            with pytest.raises(type(error)):
                fail(recorder, error)
        told = recorder.series.total().summary()
    assert told["failures"] == {"ModelTimeout": 1, "InternalError": 1}
    assert (told["failed"], told["cancelled"], told["succeeded"]) == (2, 1, 0)


def test_a_finished_answer_is_counted_once_even_if_its_stream_is_cut_off(state: Database) -> None:
    result = QueryResult(question="Why?", answer="So.", answered=True, confidence=0.5)

    def stream(recorder: QuestionRecorder) -> Iterator[QueryResult]:
        with recorder.watch("ask", "me", "Why?", "default") as watch:
            yield watch.answered(result)

    with QuestionRecorder(series_over(state)) as recorder:
        told = stream(recorder)
        next(told)
        told.close()  # type: ignore[attr-defined]  # a generator
        assert recorder.series.total().summary()["questions"] == 1


def test_closing_a_recorder_saves_its_counts(state: Database) -> None:
    with QuestionRecorder(series_over(state)) as recorder:
        recorder.record(seen())
    assert series_over(state).total().of("kind") == 1


def test_a_recorder_saves_its_counts_at_intervals(state: Database) -> None:
    with QuestionRecorder(series_over(state), save_every=0.02) as recorder:
        recorder.record(seen())
        deadline = datetime.now(UTC) + timedelta(seconds=20)
        while not MetricTable(state).of("total"):
            assert datetime.now(UTC) < deadline


def test_a_failing_metrics_sink_does_not_affect_questions(state: Database, caplog: pytest.LogCaptureFixture) -> None:
    written: list[str] = []

    def full(_: QuestionObservation) -> None:
        raise OSError(28, "No space left on device")

    with QuestionRecorder(series_over(state), [full, lambda it: written.append(it.id)]) as recorder:
        recorder.record(seen())
    assert len(written) == 1
    assert "No space left on device" in caplog.text


@pytest.mark.network
def test_questions_sent_over_http_are_counted_even_if_they_are_refused(sample_folder: Path, tmp_path: Path) -> None:
    own_project = copied_project(sample_folder, tmp_path / "project")
    with served(own_project, environment=EXTRACTIVE) as server:
        for question in ("How many points does a ground need for Grade A?", "Who is the queen of Mars?"):
            assert server.client.post("/v1/query", json={"question": question}).status_code == 200
        asked = AskRequest(question="Who?", collections=("nowhere",)).model_dump(mode="json", exclude_unset=True)
        assert server.client.post("/v1/query", json=asked).status_code == 403
        headers = {"accept": "text/event-stream"}
        assert server.client.post("/v1/query", json={"question": "grade"}, headers=headers).status_code == 200
        told = server.client.get("/v1/monitoring").json()
    assert told["total"]["questions"] == 4
    assert told["total"]["failures"] == {"Forbidden": 1}
    assert [point["measures"]["questions"] for point in told["days"]] == [4]
    assert told["notes"] == []
    with served(own_project, environment=EXTRACTIVE) as server:
        assert server.client.get("/v1/monitoring").json()["total"]["questions"] == 4
