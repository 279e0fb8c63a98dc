"""`/v1` lists every route, and `/docs` shows the description of the API in a browser, from files of this server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing.browser import open_browser
from browsing.interface import PATIENCE_MS
from served.answering_server import EXTRACTIVE
from served.api_fuzzing import operations
from served.server import RunningServer, served

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def server(sample_folder: Path) -> Iterator[RunningServer]:
    with served(sample_folder, environment=EXTRACTIVE) as one:
        yield one


def test_the_index_lists_every_route_of_the_openapi_description_and_links_to_the_documentation(
    server: RunningServer,
) -> None:
    index = server.client.get("/v1").json()
    described = [name for name, _ in operations(server.client.get(index["openapi"]).json())]
    assert [f"{route['method']} {route['path']}" for route in index["routes"]] == described
    assert all(route["does"].endswith(".") for route in index["routes"])
    assert server.client.get(index["documentation"]).status_code == 200


def test_the_documentation_page_shows_every_route_and_loads_nothing_from_another_server(server: RunningServer) -> None:
    requests, problems = [], []
    with open_browser() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"{server.address}/docs")
        page.wait_for_selector(".opblock")
        shown = len(page.query_selector_all(".opblock"))
    assert shown == len(server.client.get("/v1").json()["routes"])
    assert [url for url in requests if not url.startswith((server.address, "data:", "blob:"))] == []
    assert problems == []


@pytest.mark.parametrize("name", ["core.py", "..%2fcore.py", "redoc.standalone.js", "%00", "a" * 3000])
def test_the_documentation_route_serves_no_files_except_its_own(server: RunningServer, name: str) -> None:
    assert server.client.get(f"/docs/{name}").status_code in {403, 404}


def test_a_server_that_requires_keys_shows_its_documentation_only_to_key_holders(sample_folder: Path) -> None:
    with served(sample_folder, token="k" * 32, environment=EXTRACTIVE) as server:
        assert server.client.get("/docs").status_code == 200
        stranger = {"authorization": "", "accept": "text/html"}
        assert server.client.get("/docs", headers=stranger).headers["location"] == "/login"
        assert server.client.get("/v1", headers={"authorization": ""}).status_code == 401
