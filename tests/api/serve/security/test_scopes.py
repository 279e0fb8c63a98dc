"""Security case S-ISO over every route: a key gets no data of a collection that it may not read."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from elt_llm_api.cli import run
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobQueue
from elt_llm_core.state.keys import KeyTable
from elt_llm_core.state.sessions import SessionTable
from elt_llm_core.store.store import open_store
from processes.command_line import FAKE
from served.mcp_clients import HttpAgent, answered, refused
from served.routes import FilledRequest, Operation, fill, operations
from served.server import RunningServer, served

pytestmark = pytest.mark.network

TOKEN = "scope-token-" + "z" * 32
CANARY = "zqxcanary"
"""A word of the collection that may not be read: in its text, its file's name, its title and its job."""
OTHER = "b_private"


@dataclass(frozen=True)
class Scoped:
    """A server with two collections, and a client whose key may read and write the first collection only."""

    server: RunningServer
    reader: httpx.Client
    hidden: dict[str, str]
    """Names and ids in the other collection, by the parameter that accepts them."""


@pytest.fixture(scope="module")
def scoped(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scoped]:
    """Serve two collections.

    Every text of the second collection contains the word CANARY, and its conversation belongs to another key.
    """
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


def _filled_with(server: RunningServer, file: Path) -> tuple[str, dict[str, str]]:
    state = open_state(server.data_dir)
    try:
        keys = KeyTable(state)
        secret = keys.create("reader_of_a", ["samples"], ["samples"])
        other = keys.create("owner_of_b", [OTHER], [OTHER])
        answered = server.client.post("/v1/ask", json={"question": f"{CANARY} points", "collections": [OTHER]})
        assert CANARY in answered.text
        made = httpx.post(
            f"{server.address}/v1/sessions",
            json={"collections": [OTHER]},
            headers={"authorization": f"Bearer {other}"},
            timeout=60,
        )
        assert made.status_code in {200, 201}, made.text
        [session] = [one.session_id for one in SessionTable(state).all()]
        # The job may run or wait: in both cases its arguments name the canary.
        identity = JobQueue(state).submit("glossary", {"collections": [OTHER], "only": CANARY}, "owner_of_b").id
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


def _reaching(operation: Operation, hidden: dict[str, str]) -> Iterator[FilledRequest]:
    """Return requests of a route for data of the second collection, by its name, prefix, a pattern or a condition."""
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


def test_no_route_reveals_an_unreadable_collection(scoped: Scoped) -> None:
    reported = []
    for operation in operations(scoped.server):
        for request in _reaching(operation, scoped.hidden):
            asked = str(request.content or b"") + str(dict(request.query)) + request.path
            answer = _answered(scoped.reader, request)
            text = answer.text.replace(f"{CANARY} points", "")  # the response repeats the question
            if CANARY in text or (OTHER in text and OTHER not in asked):
                reported.append((str(operation), request.content, text[:300]))
    assert reported == []


def test_the_requests_of_the_scope_tests_return_data_to_a_key_that_may_read(scoped: Scoped) -> None:
    """If the requests returned no data to any key, the other tests of this file would prove nothing."""
    asked = [one for one in operations(scoped.server) if one.method != "delete" and "cancel" not in one.path]
    answers = {str(one): [_answered(scoped.server.client, it) for it in _reaching(one, scoped.hidden)] for one in asked}
    telling = {name for name, several in answers.items() if any(CANARY in it.text for it in several)}
    naming = {name for name, several in answers.items() if any(OTHER in it.text for it in several)}
    assert {"POST /v1/search", "POST /v1/ask"} <= telling
    assert {"GET /v1/collections", "GET /v1/collections/{name}", "GET /v1/jobs", "GET /v1/jobs/{identity}"} <= naming


def test_no_route_lets_a_key_change_a_collection_it_may_not_write(scoped: Scoped) -> None:
    before = _published(scoped)
    for operation in operations(scoped.server):
        if operation.method != "get":
            for request in _reaching(operation, scoped.hidden):
                assert not (_answered(scoped.reader, request).is_success and _names_the_other(request)), request
    assert _published(scoped) == before


def test_requests_for_unreadable_and_unknown_collections_are_refused_with_the_same_error(scoped: Scoped) -> None:
    for operation in operations(scoped.server):
        if not set(operation.named("path")) & {"name", "collection"}:
            continue
        missing = {**scoped.hidden, "name": "b_nothing", "collection": "b_nothing"}
        answers = [_answered(scoped.reader, fill(operation, "x", known)) for known in (scoped.hidden, missing)]
        reported = [
            (one.status_code, one.text.replace(OTHER, "b_nothing").partition("request_id")[0]) for one in answers
        ]
        assert reported[0] == reported[1], operation


def test_a_key_reads_the_collections_in_its_scope(scoped: Scoped) -> None:
    found = scoped.reader.post("/v1/search", json={"question": "Grade A", "prefixes": [""]})
    assert {chunk["collection"] for chunk in found.json()["chunks"]} == {"samples"}
    refused = scoped.reader.post("/v1/search", json={"question": "Grade A", "collections": [OTHER]})
    assert refused.status_code == 403


def test_mcp_clients_have_the_same_access_as_http_clients(scoped: Scoped) -> None:
    keys = (TOKEN, scoped.reader.headers["authorization"].removeprefix("Bearer "))
    agents = [HttpAgent(scoped.server.address, key) for key in keys]
    asked: dict[str, Any] = {"question": "Which ground needs ninety-nine points?", "prefixes": [""]}
    reported = [json.dumps(answered(agent.call("search", **asked))) for agent in agents]
    assert [CANARY in one for one in reported] == [True, False]
    for tool, arguments in (
        ("search", {**asked, "collections": [OTHER]}),
        ("collection_status", {"collection": OTHER}),
    ):
        assert CANARY not in refused(agents[1].call(tool, **arguments))


def _answered(client: httpx.Client, request: FilledRequest) -> httpx.Response:
    """Return the response, or the first part of an endless stream."""
    with client.stream(
        request.method, request.path, params=request.query, content=request.content, headers=_typed(request)
    ) as answer:
        answer.read()
    return answer


def _names_the_other(request: FilledRequest) -> bool:
    """Whether the path or body of a request, except its conditions, names the other collection."""
    body = json.loads(request.content or b"{}")
    return OTHER in request.path or OTHER in [body.get("collection"), *(body.get("collections") or ())]


def _typed(request: FilledRequest) -> dict[str, str]:
    return {"content-type": "application/json"} if request.content is not None else {}


def _published(scoped: Scoped) -> list[tuple[str, int | None]]:
    with open_store(scoped.server.data_dir) as store:
        return [(record.name, record.published) for record in store.collections.all()]
