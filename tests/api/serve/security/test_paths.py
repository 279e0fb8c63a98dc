"""Security cases S-PATH and S-SSRF: no name leads out of its folder, and no route fetches an address."""

import hashlib
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from optional import needs
from served.routes import FilledRequest, fill, operations
from served.server import RunningServer, served

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def server(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Start a server over a separate project, with a caller who has every permission."""
    folder = tmp_path_factory.mktemp("paths") / "project"
    shutil.copytree(sample_folder, folder)
    with served(folder, token="path-token-" + "z" * 32, requests_per_minute="100000") as running:
        yield running


NAMES = (
    *("../" * depth + "canary.txt" for depth in range(1, 9)),
    *("..%2f" * depth + "canary.txt" for depth in range(1, 5)),
    *("%2e%2e%2f" * depth + "canary.txt" for depth in range(1, 5)),
    *("%252e%252e%252f" * depth + "canary.txt" for depth in range(1, 4)),
    *("..\\" * depth + "canary.txt" for depth in range(1, 4)),
    *("..%5c" * depth + "canary.txt" for depth in range(1, 4)),
    *("..%c0%af" * depth + "canary.txt" for depth in range(1, 4)),
    *("....//" * depth + "canary.txt" for depth in range(1, 4)),
    *("..;/" * depth + "canary.txt" for depth in range(1, 3)),
    *("%c0%ae%c0%ae/" * depth + "canary.txt" for depth in range(1, 3)),
    *("%u002e%u002e/" * depth + "canary.txt" for depth in range(1, 3)),
    "/etc/passwd",
    "//etc/passwd",
    "%2fetc%2fpasswd",
    "file:///etc/passwd",
    "file:/etc/passwd",
    "\\\\127.0.0.1\\share\\x",
    "%5c%5c127.0.0.1%5cshare",
    "C:\\Windows\\win.ini",
    "C:/Windows/win.ini",
    "canary.txt%00.md",
    "canary.txt\x00",
    "CON",
    "NUL.txt",
    "aux",
    ".",
    "..",
    "~",
    "~/canary.txt",
    "$HOME/canary.txt",
    "`id`",
    "canary.txt\n",
    "x" * 4000,
    "\u202etxt.canary",
)


def test_at_least_sixty_distinct_hostile_file_names_are_tried() -> None:
    assert len(NAMES) == len(set(NAMES)) >= 60


def test_no_hostile_file_name_reaches_outside_its_folder_on_any_route(server: RunningServer) -> None:
    """Every name is sent in every parameter of every route; nothing outside is read or written."""
    needs("mcp")
    canary = server.folder.parent / "canary.txt"
    canary.write_text("outsidecanary", encoding="ascii")
    before = _files(server.folder.parent)
    for operation in operations(server):
        for number, name in enumerate(NAMES):
            if not operation.named("path") and not operation.named("query") and number % 6:
                continue  # a body is not a path, so every sixth name is enough
            try:
                answer = _answered(server.client, fill(operation, name, {"question": "points"}))
            except httpx.InvalidURL:
                continue  # HTTP clients cannot send this path
            assert answer.status_code < 500, (operation, name, answer.text)
            assert "outsidecanary" not in answer.text, (operation, name)
            assert "root:" not in answer.text, (operation, name)
    for name in NAMES[:30]:
        for start in ("/gradio_api/file=", "/static/", "/assets/"):
            target = httpx.URL(server.address).copy_with(raw_path=f"{start}{name}".encode())
            reported = server.client.send(httpx.Request("GET", target, headers=server.client.headers))
            assert reported.status_code in {400, 403, 404}, (start, name)
    assert _files(server.folder.parent) == before


@pytest.fixture
def watched() -> Iterator[tuple[int, list[str]]]:
    """Listen on a port of this machine; yield the address and the received requests, of which there must be none."""
    asked: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        over = threading.Event()

        def watch() -> None:
            while not over.is_set():
                try:
                    connection, client = listening.accept()
                except TimeoutError:
                    continue
                asked.append(str(client))
                connection.close()

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            yield listening.getsockname()[1], asked
        finally:
            over.set()
            watching.join(10)


def test_no_route_fetches_a_url_given_in_a_parameter(server: RunningServer, watched: tuple[int, list[str]]) -> None:
    """The network guard of all tests also fails on requests to other machines."""
    port, asked = watched
    here = (
        f"http://127.0.0.1:{port}/",
        f"http://localhost:{port}/",
        f"http://2130706433:{port}/",
        f"gopher://0:{port}/",
    )
    elsewhere = ("http://169.254.169.254/latest", "http://[::1]:1/", "file:///etc/passwd", "https://evil.example/?d=1")
    for operation in operations(server):
        for address in (*here, *elsewhere):
            answer = _answered(server.client, fill(operation, address, {"question": "points"}))
            assert "root:" not in answer.text
    for address in (*here, *elsewhere):
        for quoted in (address, address.replace(":", "%3A"), address.replace(":", "%253a"), address.replace("//", "/")):
            for start in ("/gradio_api/file=", "/gradio_api/proxy=", "/gradio_api/stream/", "/file="):
                assert server.client.get(start + quoted).status_code in {400, 403, 404}, start + quoted
    assert asked == []


def _answered(client: httpx.Client, request: FilledRequest) -> httpx.Response:
    """Return the response, or the first part of an endless stream."""
    with client.stream(
        request.method, request.path, params=request.query, content=request.content, headers=_typed(request)
    ) as answer:
        answer.read()
    return answer


def _typed(request: FilledRequest) -> dict[str, str]:
    return {"content-type": "application/json"} if request.content is not None else {}


def _files(folder: Path) -> dict[str, str]:
    """Return all files below a folder, except those that every server writes."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and ".elt_llm" not in path.parts
    }
