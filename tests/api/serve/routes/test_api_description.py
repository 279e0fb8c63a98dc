"""Generated requests, including malformed ones, get responses that match the OpenAPI description, and cause no crash.

By default a small sample is sent with a key. The variable FUZZED sets the number of examples for each route and phase,
sent with and without a key, as in `make fuzz-http`.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from served.answering_server import EXTRACTIVE, copied_project
from served.api_fuzzing import operations, run_schemathesis
from served.server import RunningServer, served

pytestmark = pytest.mark.network
TOKEN = "t" * 40
SEED = 7
SAMPLE = 2  # examples for each route
LONG = "FUZZED" in os.environ
TOKENS = {"with a key": TOKEN, **({"without keys": None} if LONG else {})}
UNLIMITED = {"requests_per_minute": "1000000", "tries": "1000"}


@pytest.fixture(scope="module")
def described(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = copied_project(sample_folder, tmp_path_factory.mktemp("described") / "project")
    with served(folder, environment=EXTRACTIVE) as server:
        yield server


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_every_response_matches_the_openapi_description_and_no_request_crashes_the_server(
    sample_folder: Path, tmp_path: Path, token: str | None
) -> None:
    examples = int(os.environ.get("FUZZED", SAMPLE))
    phases = "examples,coverage,fuzzing,stateful" if LONG else "examples,fuzzing"
    folder = copied_project(sample_folder, tmp_path / "project")
    with served(folder, token=token, environment=EXTRACTIVE, **UNLIMITED) as server:
        found = run_schemathesis(server, tmp_path, token=token, examples=examples, seed=SEED, phases=phases)
        Path(os.environ.get("FUZZED_REPORT", tmp_path / "printed.txt")).write_text(found.printed, encoding="utf-8")
        assert found.passed, found.printed
        assert found.requests >= (min(5000, 200 * examples) if LONG else 100)
        assert server.client.get("/health").status_code == 200


def test_every_route_has_a_description_and_a_unique_operation_id(described: RunningServer) -> None:
    known = operations(described.client.get("/openapi.json").json())
    names = [operation["operationId"] for _, operation in known]
    assert len(set(names)) == len(names)
    assert all(operation.get("summary") and operation.get("description") for _, operation in known)
    assert all(operation.get("tags") for _, operation in known)


def test_all_errors_of_all_routes_are_described_and_have_the_same_shape(described: RunningServer) -> None:
    document = described.client.get("/openapi.json").json()
    for name, operation in operations(document):
        for status in ("400", "401", "403", "408", "413", "415", "416", "421", "422", "429", "431", "500", "503"):
            content = operation["responses"][status]["content"]
            assert all("$ref" in part["schema"] for part in content.values()), (name, status)
    error = document["components"]["schemas"]["ErrorContent"]
    assert set(error["required"]) == {"type", "message", "hint", "request_id"}


def test_every_route_except_health_requires_a_key(described: RunningServer) -> None:
    open_routes = [
        name for name, it in operations(described.client.get("/openapi.json").json()) if not it.get("security")
    ]
    assert open_routes == ["GET /health"]


def test_every_request_body_has_an_example(described: RunningServer) -> None:
    document = described.client.get("/openapi.json").json()
    for name, operation in operations(document):
        if content := operation.get("requestBody", {}).get("content", {}).get("application/json"):
            shape = document["components"]["schemas"][content["schema"]["$ref"].rsplit("/", 1)[1]]
            needed = [shape["properties"][field] for field in shape.get("required", ())]
            assert "examples" in shape or all({"examples", "$ref", "enum"} & set(it) for it in needed), name


@pytest.mark.parametrize(
    ("request_line", "name", "hint"),
    [
        (
            "GET /v1/documents?collection=samples&limt=5",
            "limt",
            "Did you mean limit? The route has: collection, offset",
        ),
        ("GET /v1/rows/glossary/glossary?verdct=found", "verdct", "Did you mean verdict? The route has: "),
        ("POST /v1/search?limit=5", "limit", "the fields of a POST belong in its body"),
    ],
)
def test_an_unknown_query_parameter_is_refused_with_the_names_of_the_route(
    described: RunningServer, request_line: str, name: str, hint: str
) -> None:
    method, _, address = request_line.partition(" ")
    response = described.client.request(method, address, json={"question": "Why?"} if method == "POST" else None)
    error = response.json()["error"]
    assert (response.status_code, error["type"]) == (400, "usage_error")
    assert error["message"] == f"There is no query parameter '{name}'."
    assert hint in error["hint"]


def test_parameters_that_links_probes_and_other_clients_add_are_ignored(described: RunningServer) -> None:
    for page in ("/login", "/docs", "/page.js", "/", "/health", "/v1/models"):
        assert described.client.get(page, params={"utm_source": "mail"}).status_code in {200, 303}, page
