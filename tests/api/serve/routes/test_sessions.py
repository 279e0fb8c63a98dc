"""A conversation belongs to the caller who created it, and feedback is deleted with its answer."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from elt_llm_core.collection.forgetting import forget
from elt_llm_core.progress import SilentListener
from elt_llm_core.state.database import open_state
from elt_llm_core.state.keys import KeyTable
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.store import open_store
from processes.command_line import SAMPLES
from served.answering_server import EXTRACTIVE, QUESTION, copied_project
from served.server import RunningServer, served

pytestmark = pytest.mark.network
NOBODY = "f" * 32


@pytest.fixture(scope="module")
def server(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = copied_project(sample_folder, tmp_path_factory.mktemp("sessions") / "project")
    with served(folder, environment=EXTRACTIVE) as server:
        yield server


@pytest.fixture(scope="module")
def keys(server: RunningServer) -> Mapping[str, httpx.Headers]:
    """Return headers of four callers: ann and bob read everything, eve reads one other collection, ada administers."""
    with closing(open_state(server.data_dir)) as state:
        made = KeyTable(state)
        secrets = {
            "ann": made.create("ann", ["*"], []),
            "bob": made.create("bob", ["*"], []),
            "eve": made.create("eve", ["elsewhere"], []),
            "ada": made.create("ada", ["*"], ["*"], administers=True),
        }
    return {name: httpx.Headers({"authorization": f"Bearer {secret}"}) for name, secret in secrets.items()}


@pytest.fixture
def ann(server: RunningServer, keys: Mapping[str, httpx.Headers]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.address, headers=keys["ann"], timeout=60) as client:
        yield client


def created(client: httpx.Client) -> str:
    response = client.post("/v1/sessions", json={"collections": ["samples"]})
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def asked(client: httpx.Client, session: str, question: str = QUESTION) -> dict[str, Any]:
    response = client.post("/v1/ask", json={"question": question, "session": session})
    assert response.status_code == 200, response.text
    return dict(response.json())


def test_a_conversation_is_created_asked_listed_read_and_deleted(ann: httpx.Client) -> None:
    session = created(ann)
    asked(ann, session)
    listed = ann.get("/v1/sessions").json()
    assert [(one["title"], one["turns"]) for one in listed if one["id"] == session] == [(QUESTION, 1)]
    read = ann.get(f"/v1/sessions/{session}").json()
    assert read["history"][0]["result"]["citations"]
    assert ann.delete(f"/v1/sessions/{session}").status_code == 204
    assert ann.get(f"/v1/sessions/{session}").status_code == 403


def test_a_conversation_is_exported_as_markdown_with_the_citations_of_each_answer(ann: httpx.Client) -> None:
    session = created(ann)
    result = asked(ann, session)
    exported = ann.get(f"/v1/sessions/{session}/markdown")
    assert exported.headers["content-type"].startswith("text/markdown")
    assert "attachment" in exported.headers["content-disposition"]
    assert exported.text.startswith(f"# {QUESTION}\n\n## {QUESTION}\n\n")
    assert exported.text.count("\n- [") == len(result["citations"])


def test_a_follow_up_question_uses_the_collections_and_the_profile_of_its_conversation(ann: httpx.Client) -> None:
    session = ann.post("/v1/sessions", json={"collections": ["samples"], "profile": "fast"}).json()["id"]
    asked(ann, session)
    result = asked(ann, session, "and why?")
    assert result["metadata"]["generations"] == {"samples": 1}
    assert ann.get(f"/v1/sessions/{session}").json()["profile"] == "fast"


@pytest.mark.parametrize("other", ["bob", "eve", "ada"])
def test_other_callers_cannot_read_ask_or_delete_a_conversation(
    ann: httpx.Client, keys: Mapping[str, httpx.Headers], other: str
) -> None:
    session = created(ann)
    somebody = keys[other]
    answers = [
        ann.get(f"/v1/sessions/{session}", headers=somebody),
        ann.get(f"/v1/sessions/{session}/markdown", headers=somebody),
        ann.delete(f"/v1/sessions/{session}", headers=somebody),
        ann.post("/v1/ask", json={"question": QUESTION, "session": session}, headers=somebody),
        ann.post("/v1/feedback", json={"verdict": "up", "session": session, "turn": 1}, headers=somebody),
    ]
    assert [answer.status_code for answer in answers] == [403] * 5
    missing = ann.get(f"/v1/sessions/{NOBODY}", headers=somebody).json()["error"]
    assert answers[0].json()["error"]["message"].replace(session, NOBODY) == missing["message"]
    assert session not in {one["id"] for one in ann.get("/v1/sessions", headers=somebody).json()}
    assert ann.get(f"/v1/sessions/{session}").status_code == 200


def test_a_conversation_over_unreadable_collections_is_refused(
    ann: httpx.Client, keys: Mapping[str, httpx.Headers]
) -> None:
    for wanted in ({"collections": ["samples"]}, {"prefixes": ["sam"]}, {}):
        assert ann.post("/v1/sessions", json=wanted, headers=keys["eve"]).status_code == 403


def test_a_second_rating_of_a_turn_replaces_the_first_rating(
    ann: httpx.Client, keys: Mapping[str, httpx.Headers]
) -> None:
    session = created(ann)
    asked(ann, session)
    for verdict in ("down", "up"):
        given = ann.post("/v1/feedback", json={"verdict": verdict, "session": session, "turn": 1, "comment": "So."})
        assert given.status_code == 201, given.text
    kept = [one for one in ann.get("/v1/feedback", headers=keys["ada"]).json() if one["session"] == session]
    assert [(one["by"], one["verdict"], one["question"]) for one in kept] == [("ann", "up", QUESTION)]


def test_an_answer_that_belongs_to_no_conversation_is_rated_by_its_request_id(
    ann: httpx.Client, keys: Mapping[str, httpx.Headers]
) -> None:
    request = ann.post("/v1/ask", json={"question": QUESTION}).headers["x-request-id"]
    rating = {"verdict": "down", "request_id": request, "comment": "It leaves out the hall."}
    assert ann.post("/v1/feedback", json=rating, headers=keys["bob"]).status_code == 403
    assert ann.post("/v1/feedback", json=rating).json()["collections"] == ["samples"]


def test_only_administrators_can_list_feedback(ann: httpx.Client) -> None:
    assert ann.get("/v1/feedback").status_code == 403


@pytest.mark.parametrize(
    "wrong",
    [
        {"verdict": "up"},
        {"verdict": "up", "session": NOBODY},
        {"verdict": "up", "session": NOBODY, "turn": 1, "request_id": NOBODY},
        {"verdict": "sideways", "request_id": NOBODY},
        {"verdict": "up", "request_id": NOBODY, "comment": "x" * 2001},
    ],
)
def test_feedback_that_does_not_name_exactly_one_answer_or_has_a_long_comment_is_refused(
    ann: httpx.Client, wrong: dict[str, Any]
) -> None:
    assert ann.post("/v1/feedback", json=wrong).status_code == 422


def test_forgetting_a_document_deletes_turns_and_feedback_that_quote_the_document(
    sample_folder: Path, tmp_path: Path
) -> None:
    with served(copied_project(sample_folder, tmp_path / "project"), environment=EXTRACTIVE) as own:
        session = created(own.client)
        shown = asked(own.client, session)["citations"][0]["source"]
        own.client.post("/v1/feedback", json={"verdict": "up", "session": session, "turn": 1})
        request = own.client.post("/v1/ask", json={"question": QUESTION}).headers["x-request-id"]
        own.client.post("/v1/feedback", json={"verdict": "up", "request_id": request})
        assert len(own.client.get("/v1/feedback").json()) == 2
        with writer_lock(own.data_dir, "test"), open_store(own.data_dir, for_writing=True) as store:
            forget(store, "samples", shown, SilentListener())
        assert own.client.get("/v1/feedback").json() == []
        assert own.client.get("/v1/sessions").json() == []
    assert (SAMPLES / shown).exists()
