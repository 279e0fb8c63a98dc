"""The page of the user interface has a strict policy, and Gradio serves only the paths that the page needs."""

import asyncio
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from elt_llm_api.serve.errors import add_error_handlers
from elt_llm_api.serve.ui import mounting
from elt_llm_api.serve.ui.mounting import (
    UserInterface,
    UserInterfaceRoute,
    is_interface_path,
    page_policy,
    rewrite_page,
)
from fastapi import FastAPI
from optional import needs
from served.answering_server import EXTRACTIVE
from served.server import RunningServer, served
from starlette.requests import Request
from starlette.types import Message

pytestmark = pytest.mark.network
SHUT = (
    "/gradio_api/info",
    "/gradio_api/openapi.json",
    "/gradio_api/proxy=https://huggingface.co/x",
    "/gradio_api/runs",
    "/gradio_api/deep_link",
    "/gradio_api/mcp/",
    "/monitoring",
    "/manifest.json",
)
POSTED = ("/gradio_api/run/predict", "/gradio_api/api/predict", "/gradio_api/call/predict", "/gradio_api/vibe-edit")


@pytest.fixture(scope="module")
def server(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    needs("gradio")
    folder = tmp_path_factory.mktemp("pages") / "project"
    shutil.copytree(sample_folder, folder)
    left = folder / ".elt_llm" / "ui" / "left.txt"
    left.parent.mkdir(exist_ok=True)
    left.write_text("of a previous server", encoding="utf-8")
    with served(folder, environment=EXTRACTIVE) as one:
        yield one


def test_the_content_security_policy_of_the_page_allows_only_its_own_scripts(server: RunningServer) -> None:
    response = server.client.get("/")
    policy = dict(part.strip().split(" ", 1) for part in response.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in policy["script-src"]
    assert policy["script-src"].count("sha256-") == len(re.findall(r"<script(?![^>]* src=)", response.text))
    assert policy["connect-src"] == "'self'"


def test_the_web_page_refers_to_no_other_server(server: RunningServer) -> None:
    page = server.client.get("/").text
    theme = server.client.get("/theme.css").text
    assert re.findall(r"(?:src|href|content)=[\"'](?:https?:)?//[^\"']*", page) == []
    assert "http" not in theme.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("path", SHUT)
def test_paths_of_gradio_that_the_page_does_not_need_are_closed(server: RunningServer, path: str) -> None:
    assert server.client.get(path).status_code in {403, 404}


@pytest.mark.parametrize("path", POSTED)
def test_event_handlers_cannot_be_called_without_the_gradio_queue(server: RunningServer, path: str) -> None:
    assert server.client.post(path, json={"data": []}).status_code in {404, 405}


def test_files_of_the_data_directory_are_not_served(server: RunningServer) -> None:
    server.client.get("/")
    for name in ("state.sqlite3", "store.sqlite3"):
        assert server.client.get(f"/gradio_api/file={server.data_dir / name}").status_code in {403, 404}


def test_the_upload_folder_is_private_and_is_emptied_when_the_server_starts(server: RunningServer) -> None:
    server.client.get("/")
    folder = server.data_dir / "ui"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert not (folder / "left.txt").exists()


def test_a_request_for_the_page_with_a_wrong_key_is_refused(sample_folder: Path) -> None:
    with served(sample_folder, token="t" * 40, environment=EXTRACTIVE) as locked:
        for path in ("/", "/config", "/theme.css", "/gradio_api/queue/data", "/assets/x.js"):
            locked.client.headers["authorization"] = "Bearer wrong"
            assert locked.client.get(path).status_code in {303, 401}


def test_without_gradio_the_page_shows_the_command_that_installs_gradio() -> None:
    interface = UserInterface(None, library="a_library_that_is_not_there")  # type: ignore[arg-type]  # it needs none
    app = FastAPI()
    add_error_handlers(app)
    app.router.routes.append(UserInterfaceRoute(interface))

    async def visited() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return await client.get("/")

    response = asyncio.run(visited())
    assert response.status_code == 501
    assert response.json()["error"]["hint"] == "Run: uv sync --inexact --extra ui"


def test_rewriting_a_page_changes_only_its_external_references() -> None:
    page = (
        '<!doctype html><head><meta property="og:image" content="https://x.example/a.png"><script>let a = 1 < 2;'
        "</script><script src='./a.js'></script>"
        '<link rel="manifest" href="/m"></head><p title="&amp;">a &lt; &#98;</p>'
    )
    rewritten, scripts = rewrite_page(page)
    assert scripts == ["let a = 1 < 2;"]
    kept = page.replace('<meta property="og:image" content="https://x.example/a.png">', "")
    kept = kept.replace('<link rel="manifest" href="/m">', "")
    own = r'<script src="/page\.js" data-lost="[^"<>]+" data-error="Error" data-unsupported="[^"<>]+" defer></script>'
    assert re.sub(own, "", rewritten) == kept
    assert page_policy(scripts).count("sha256-") == 1


def test_only_the_paths_that_a_page_needs_are_served_by_the_web_interface() -> None:
    assert is_interface_path("/assets/index.js")
    assert not is_interface_path("/v1/query")
    assert not is_interface_path("/gradio_api/run/predict")


def test_the_loading_page_is_delivered_before_the_pages_are_built() -> None:
    """A second task would build the pages, and could keep the loading page from being sent."""
    needs("gradio")
    delivered: list[int] = []

    async def send(message: Message) -> None:
        delivered.append(len(asyncio.all_tasks()))

    async def visit() -> None:
        scope = {"type": "http", "path": "/", "method": "GET", "headers": [(b"accept", b"text/html")]}
        interface = UserInterface(None)  # type: ignore[arg-type]  # nothing is built before the page is delivered
        async with interface.resources:
            await interface(scope, Request(scope).receive, send)

    asyncio.run(visit())
    assert delivered == [1, 1]


def test_a_browser_sees_a_page_within_a_second_of_the_start_and_the_built_page_soon_after(
    sample_folder: Path,
) -> None:
    needs("gradio")
    browser = {"accept": "text/html,*/*", "accept-language": "de-DE,de;q=0.9"}
    with served(sample_folder, environment=EXTRACTIVE) as fresh:
        first = fresh.client.get("/", headers=browser)
        assert 'http-equiv="refresh"' in first.text
        assert "Die Seite wird aufgebaut." in first.text
        assert first.headers["content-security-policy"].startswith("default-src 'none'")
        assert fresh.client.get("/", headers={"accept-language": "de"}).status_code == 200  # waits until it is built
        assert 'lang="de"' in fresh.client.get("/", headers=browser).text


def test_the_language_of_the_page_is_that_of_the_browser(server: RunningServer) -> None:
    for asked, language, ask in (("de-AT,en;q=0.5", "de", "Fragen"), ("fr,en", "en", "Ask"), ("", "en", "Ask")):
        headers = {"accept-language": asked}
        assert f'lang="{language}"' in server.client.get("/", headers=headers).text
        tabs = server.client.get("/config", headers=headers).json()["components"]
        assert ask in [one["props"].get("label") for one in tabs if one["type"] == "tabitem"]


def test_the_script_of_the_page_never_runs_text_as_code_or_inserts_html() -> None:
    script = Path(mounting.__file__).with_name("page.js").read_text(encoding="utf-8")
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "import("):
        assert word not in script
    assert "http" not in script
