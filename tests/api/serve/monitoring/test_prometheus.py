"""`/metrics` in the format of Prometheus, for administrators only."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from elt_llm_core.state.database import open_state
from elt_llm_core.state.keys import KeyTable
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from served.answering_server import EXTRACTIVE, copied_project
from served.server import RunningServer, served

TOKEN = "t" * 40
pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def server(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = copied_project(sample_folder, tmp_path_factory.mktemp("metrics") / "project")
    with served(folder, token=TOKEN, environment=EXTRACTIVE) as one:
        for question in ("How many points does a ground need for Grade A?", "Who is the queen of Mars?"):
            assert one.client.post("/v1/query", json={"question": question}).status_code == 200
        assert one.client.post("/v1/search", json={"question": "grade"}).status_code == 200
        assert one.client.post("/v1/search", json={"question": "x", "collections": ["none"]}).status_code == 403
        yield one


def families(server: RunningServer) -> dict[str, Metric]:
    answer = server.client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {family.name: family for family in text_string_to_metric_families(answer.text)}


def values(family: Metric, label: str) -> dict[str, float]:
    return {it.labels[label]: it.value for it in family.samples if label in it.labels}


def test_prometheus_counters_count_questions_by_outcome(server: RunningServer) -> None:
    found = families(server)
    assert sum(values(found["elt_llm_questions"], "outcome").values()) == 4
    assert values(found["elt_llm_questions"], "outcome")["failed"] == 1
    assert values(found["elt_llm_requests"], "kind") == {"ask": 2, "search": 2}
    assert values(found["elt_llm_failures"], "type") == {"Forbidden": 1}
    assert [(it.labels, it.value) for it in found["elt_llm_cache"].samples] == [
        ({"cache": "results", "result": "miss"}, 3)
    ]
    assert set(values(found["elt_llm_found_by"], "retrievers")) <= {"vector", "keyword", "hybrid", "none"}
    assert set(values(found["elt_llm_chunks"], "retriever")) <= {"vector", "keyword", "both"}


def test_prometheus_histogram_buckets_are_cumulative_and_the_last_bucket_is_the_total(server: RunningServer) -> None:
    found = families(server)
    for name, label in (("elt_llm_request_seconds", "kind"), ("elt_llm_stage_seconds", "stage")):
        samples = found[name].samples
        for one in {it.labels[label] for it in samples}:
            own = [it for it in samples if it.labels[label] == one]
            buckets = [(float(it.labels["le"]), it.value) for it in own if it.name.endswith("_bucket")]
            assert buckets == sorted(buckets)
            assert [count for _, count in buckets] == sorted(count for _, count in buckets)
            [count] = [it.value for it in own if it.name.endswith("_count")]
            assert buckets[-1] == (float("inf"), count)
    assert {"understand", "retrieve", "answer"} <= {it.labels["stage"] for it in found["elt_llm_stage_seconds"].samples}


def test_prometheus_gauges_describe_the_server_process(server: RunningServer) -> None:
    found = families(server)
    assert found["elt_llm_places_free"].samples[0].value == 40
    assert found["elt_llm_engines_open"].samples[0].value == 1
    assert found["elt_llm_disk_free_bytes"].samples[0].value > 0
    assert found["process_resident_memory_bytes"].samples[0].value > 0


def test_only_administrators_can_read_the_metrics(server: RunningServer) -> None:
    with closing(open_state(server.data_dir)) as state:
        secret = KeyTable(state).create("reader", ["*"], ["*"])
    for path in ("/metrics", "/v1/monitoring"):
        assert server.client.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
        answer = server.client.get(path, headers={"authorization": f"Bearer {secret}"})
        assert answer.status_code == 403
        assert "elt_llm_questions" not in answer.text


def test_two_servers_in_one_process_do_not_share_metrics(
    server: RunningServer, sample_folder: Path, tmp_path: Path
) -> None:
    with served(copied_project(sample_folder, tmp_path / "other"), environment=EXTRACTIVE) as other:
        found = families(other)
        assert not found["elt_llm_questions"].samples
    assert families(server)["elt_llm_questions"].samples
