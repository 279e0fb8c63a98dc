"""Every caller sees the versions of the program, and only administrators see its folders."""

import importlib.metadata
from collections.abc import Iterator

import pytest
from served.jobs import READER, ServedJobs, job_project, served_jobs

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedJobs]:
    with served_jobs(job_project(tmp_path_factory.mktemp("version"))) as server:
        yield server


def test_the_version_route_returns_versions_and_installed_extras(jobs: ServedJobs) -> None:
    reported = jobs.get("/v1/version", READER).json()
    assert reported["packages"]["elt-llm-query"] == importlib.metadata.version("elt-llm-query")
    assert set(reported["extras"]) == {
        "ui",
        "mcp",
        "otel",
        "llama-cpp",
        "multilingual",
        "openai-like",
        "langchain",
        "qdrant",
    }
    assert reported["paths"] is None


def test_only_administrators_see_the_paths_of_the_installation(jobs: ServedJobs) -> None:
    paths = jobs.get("/v1/version").json()["paths"]
    assert paths["data"] == str(jobs.server.data_dir)
    assert str(jobs.server.folder) not in jobs.get("/v1/version", READER).text
