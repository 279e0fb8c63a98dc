"""S-ISO, S-PATH and S-SSRF over every route there is: what a key may not read, and what lies elsewhere, stays there."""

import hashlib
import shutil
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from command_line import FAKE
from elt_llm_api.cli import run
from elt_llm_core.state.database import open_state
from elt_llm_core.state.job_queue import JobQueue
from elt_llm_core.state.keys import Keys
from elt_llm_core.state.sessions import Sessions
from elt_llm_core.store.store import open_store
from served import Served, served
from served_routes import Filled, Operation, fill, operations

pytestmark = pytest.mark.network

TOKEN = "scope-token-" + "z" * 32
CANARY = "zqxcanary"
"""A word of the collection that may not be read: in its text, its file's name, its title and its job."""
OTHER = "b_private"


@dataclass(frozen=True)
class Scoped:
    """A server with two collections, and a client whose key reads and writes the first alone."""

    server: Served
    reader: httpx.Client
    hidden: dict[str, str]
    """Names and ids of what belongs to the other collection, by the name of a parameter they would be given as."""


@pytest.fixture(scope="module")
def scoped(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scoped]:
    """Two collections, one of them with the canary in everything; the canary's conversation belongs to another key."""
    folder = tmp_path_factory.mktemp("scopes") / "project"
    shutil.copytree(sample_folder, folder)
    private = folder / "private"
    private.mkdir()
    file = private / f"{CANARY}.md"
    file.write_text(f"# {CANARY} grading\n\nA {CANARY} ground needs ninety-nine points.\n", encoding="utf-8")
    assert run(["ingest", str(private), "-c", OTHER, "--json"], FAKE, folder) == 0
    with served(folder, token=TOKEN, requests_per_minute="100000", tries="1000") as server:
        secret, hidden = _filled_with(server, file)
        headers = {"authorization": f"Bearer {secret}"}
        with httpx.Client(base_url=server.address, headers=headers, timeout=60) as reader:
            yield Scoped(server, reader, hidden)


def _filled_with(server: Served, file: Path) -> tuple[str, dict[str, str]]:
    state = open_state(server.data_dir)
    try:
        keys = Keys(state)
        secret = keys.create("reader_of_a", ["samples"], ["samples"])
        other = keys.create("owner_of_b", [OTHER], [OTHER])
        answered = server.client.post("/v1/query", json={"question": f"{CANARY} points", "collections": [OTHER]})
        assert CANARY in answered.text
        made = httpx.post(
            f"{server.address}/v1/sessions",
            json={"collections": [OTHER]},
            headers={"authorization": f"Bearer {other}"},
            timeout=60,
        )
        assert made.status_code in {200, 201}, made.text
        [session] = [one.session_id for one in Sessions(state).all()]
        # Whether it is run meanwhile makes no difference: what it was asked to do names the canary.
        identity = JobQueue(state).submit("verify", {"collections": [OTHER], "only": CANARY}, "owner_of_b").id
    finally:
        state.close()
    found = server.client.post("/v1/search", json={"question": CANARY, "collections": [OTHER]}).json()["chunks"][0]
    document = found["source_id"]
    names = {"collection": OTHER, "name": OTHER, "job": OTHER, "path": str(file), "question": f"{CANARY} points"}
    ids = {
        "session": session,
        "document": document,
        "source_id": document,
        "source": document,
        "node": found["node_id"],
    }
    return secret, {**names, **ids, "identity": identity, "request": answered.headers["x-request-id"]}


def _reaching(operation: Operation, hidden: dict[str, str]) -> Iterator[Filled]:
    """Requests of a route for what is hidden: by the names it is known by, by prefixes, patterns and conditions."""
    yield fill(operation, OTHER, hidden)
    known: dict[str, object] = {
        **hidden,
        "profile": "default",
        "session": None,
        "history": [],
        "where": [],
        "prefixes": [],
    }
    yield fill(operation, "default", {**known, "collections": [OTHER]}, sparing=True)
    for prefix in ("", "b_", "b_private"):
        yield fill(operation, "default", {**known, "collections": [], "prefixes": [prefix]})
    yield fill(operation, "default", {**known, "collections": ["samples", OTHER]})
    yield fill(operation, "default", {**known, "collections": ["samples"], "where": [f"collection={OTHER}"]})
    yield fill(operation, "default", {**known, "collections": ["*"], "collection": "*", "name": "*"})


def test_s_iso_no_route_gives_a_key_anything_of_a_collection_it_may_not_read(scoped: Scoped) -> None:
    told = []
    for operation in operations(scoped.server):
        for request in _reaching(operation, scoped.hidden):
            asked = str(request.content or b"") + str(dict(request.query)) + request.path
            answer = _answered(scoped.reader, request)
            text = answer.text.replace(f"{CANARY} points", "")  # the question itself, told back
            if CANARY in text or (OTHER in text and OTHER not in asked):
                told.append((str(operation), request.content, text[:300]))
    assert told == []


def test_s_iso_the_same_requests_tell_whoever_may_read_it(scoped: Scoped) -> None:
    """Else the tests here would hold for requests that reach nothing."""
    asked = [one for one in operations(scoped.server) if one.method != "delete" and "cancel" not in one.path]
    answers = {str(one): [_answered(scoped.server.client, it) for it in _reaching(one, scoped.hidden)] for one in asked}
    telling = {name for name, several in answers.items() if any(CANARY in it.text for it in several)}
    naming = {name for name, several in answers.items() if any(OTHER in it.text for it in several)}
    assert {"POST /v1/search", "POST /v1/query"} <= telling
    assert {"GET /v1/collections", "GET /v1/collections/{name}", "GET /v1/jobs", "GET /v1/jobs/{identity}"} <= naming


def test_s_iso_no_route_lets_a_key_change_a_collection_it_may_not_write(scoped: Scoped) -> None:
    before = _published(scoped)
    for operation in operations(scoped.server):
        if operation.method != "get":
            for request in _reaching(operation, scoped.hidden):
                assert not (200 <= _answered(scoped.reader, request).status_code < 300 and OTHER in request.path), (
                    request
                )
    assert _published(scoped) == before


def test_s_iso_what_may_not_be_read_is_refused_as_what_does_not_exist_is(scoped: Scoped) -> None:
    for operation in operations(scoped.server):
        if not set(operation.named("path")) & {"name", "collection"}:
            continue
        missing = {**scoped.hidden, "name": "b_nothing", "collection": "b_nothing"}
        answers = [_answered(scoped.reader, fill(operation, "x", known)) for known in (scoped.hidden, missing)]
        told = [(one.status_code, one.text.replace(OTHER, "b_nothing").partition("request_id")[0]) for one in answers]
        assert told[0] == told[1], operation


def test_s_iso_the_same_key_reads_what_it_may(scoped: Scoped) -> None:
    found = scoped.reader.post("/v1/search", json={"question": "Grade A", "prefixes": [""]})
    assert {chunk["collection"] for chunk in found.json()["chunks"]} == {"samples"}
    refused = scoped.reader.post("/v1/search", json={"question": "Grade A", "collections": [OTHER]})
    assert refused.status_code == 403


def test_s_iso_agents_get_no_more_than_programs(scoped: Scoped) -> None:
    for tool in ("search", "answer", "list_collections", "collection_status", "get_span", "explain"):
        call = {"name": tool, "arguments": {"question": "points", "query": "points", "collection": OTHER}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        headers = {"accept": "application/json, text/event-stream"}
        answer = scoped.reader.post("/mcp", json=body, headers=headers)
        assert CANARY not in answer.text, tool


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


def test_s_path_there_are_sixty_names_at_least_and_each_once() -> None:
    assert len(NAMES) == len(set(NAMES)) >= 60


def test_s_path_no_name_leads_any_route_out(scoped: Scoped) -> None:
    """Every name in every place of every route: nothing outside is read, nothing anywhere is written."""
    canary = scoped.server.folder.parent / "canary.txt"
    canary.write_text("outsidecanary", encoding="ascii")
    before = _files(scoped.server.folder.parent)
    for operation in operations(scoped.server):
        for number, name in enumerate(NAMES):
            if not operation.named("path") and not operation.named("query") and number % 6:
                continue  # a body is no path: each sixth will do
            try:
                answer = _answered(scoped.server.client, fill(operation, name, {"question": "points"}))
            except httpx.InvalidURL:
                continue  # no client sends it, so no server sees it
            assert answer.status_code < 500, (operation, name, answer.text)
            assert "outsidecanary" not in answer.text, (operation, name)
            assert "root:" not in answer.text, (operation, name)
    for name in NAMES[:30]:
        for start in ("/gradio_api/file=", "/static/", "/assets/"):
            target = httpx.URL(scoped.server.address).copy_with(raw_path=f"{start}{name}".encode())
            told = scoped.server.client.send(httpx.Request("GET", target, headers=scoped.server.client.headers))
            assert told.status_code in {400, 403, 404}, (start, name)
    assert _files(scoped.server.folder.parent) == before


@pytest.fixture
def watched() -> Iterator[tuple[int, list[str]]]:
    """A port of this machine where nobody should ask, and who did."""
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


def test_s_ssrf_no_address_in_any_place_of_any_route_is_fetched(scoped: Scoped, watched: tuple[int, list[str]]) -> None:
    """What would leave this machine is refused by the guard of all tests, which fails whichever it caught."""
    port, asked = watched
    here = (
        f"http://127.0.0.1:{port}/",
        f"http://localhost:{port}/",
        f"http://2130706433:{port}/",
        f"gopher://0:{port}/",
    )
    elsewhere = ("http://169.254.169.254/latest", "http://[::1]:1/", "file:///etc/passwd", "https://evil.example/?d=1")
    for operation in operations(scoped.server):
        for address in (*here, *elsewhere):
            answer = _answered(scoped.server.client, fill(operation, address, {"question": "points"}))
            assert "root:" not in answer.text
    for address in (*here, *elsewhere):
        for quoted in (address, address.replace(":", "%3A"), address.replace(":", "%253a"), address.replace("//", "/")):
            for start in ("/gradio_api/file=", "/gradio_api/proxy=", "/gradio_api/stream/", "/file="):
                assert scoped.server.client.get(start + quoted).status_code in {400, 403, 404}, start + quoted
    assert asked == []


def _answered(client: httpx.Client, request: Filled) -> httpx.Response:
    """The answer; of a stream that does not end, what came first."""
    with client.stream(
        request.method, request.path, params=request.query, content=request.content, headers=_typed(request)
    ) as answer:
        answer.read()
    return answer


def _typed(request: Filled) -> dict[str, str]:
    return {"content-type": "application/json"} if request.content is not None else {}


def _published(scoped: Scoped) -> list[tuple[str, int | None]]:
    with open_store(scoped.server.data_dir) as store:
        return [(record.name, record.published) for record in store.collections.all()]


def _files(folder: Path) -> dict[str, str]:
    """What lies in a folder and below, but for the databases and indexes that a server writes anyhow."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and ".elt_llm" not in path.parts
    }
