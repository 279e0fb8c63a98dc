"""Events sent by a script instead of a page, with files of the machine, addresses, or sessions of other callers."""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from browsing.gradio_events import Events
from elt_llm_api.serve.ui.mounting import delete_old_uploads
from elt_llm_core.state.database import open_state
from elt_llm_core.state.keys import KeyTable
from optional import needs
from served.answering_server import EXTRACTIVE, QUESTION
from served.server import RunningServer, served

pytestmark = pytest.mark.network
CANARY = "zqxcanary"
JOIN = "/gradio_api/queue/join"


@dataclass(frozen=True)
class Two:
    """A server and two callers with equal read permissions and different write permissions."""

    server: RunningServer
    reader: httpx.Client
    writer: httpx.Client


@pytest.fixture(scope="module")
def two(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    needs("gradio")
    folder = tmp_path_factory.mktemp("events") / "project"
    shutil.copytree(sample_folder, folder)
    with served(folder, token="t" * 40, environment=EXTRACTIVE, requests_per_minute="100000") as server:
        state = open_state(server.data_dir)
        try:
            keys = KeyTable(state)
            secrets = keys.create("reader", ["samples"], []), keys.create("writer", ["samples"], ["brought"])
        finally:
            state.close()
        reader, writer = (
            httpx.Client(base_url=server.address, headers={"authorization": f"Bearer {secret}"}, timeout=60)
            for secret in secrets
        )
        with reader, writer:
            yield Two(server, reader, writer)


def file_of(path: Path | str) -> dict[str, Any]:
    return {"path": str(path), "url": "http://127.0.0.1:9/x", "meta": {"_type": "gradio.FileData"}}


def kept(server: RunningServer) -> set[Path]:
    return {path for path in (server.data_dir / "ui").rglob("*") if path.is_file()}


def outside(server: RunningServer) -> list[str]:
    """Return paths of files that are not uploads, written in many forms."""
    link = server.data_dir / "ui" / "link"
    link.unlink(missing_ok=True)
    link.symlink_to("/etc/passwd")
    state = server.data_dir / "state.sqlite3"
    ways = [state, f"{server.data_dir}/ui/../state.sqlite3", "/etc/passwd", "/proc/self/environ", link, "state.sqlite3"]
    return [*map(str, ways), "", "/gradio_api/file=/etc/passwd", "\0", f"{server.data_dir}/ui"]


def test_no_event_makes_the_server_copy_or_reveal_a_file_of_the_machine(two: Two) -> None:
    two.reader.get("/config")
    for client in (two.reader, two.writer):
        for handler, place in (("ask", 0), ("upload", 1), ("explain", 0)):
            for path in outside(two.server):
                before = kept(two.server)
                data: list[Any] = ["brought", [], "default", None]
                data[place] = [[{"x": file_of(path)}], file_of(path)][place == 0]
                answer = Events(client, "attacker").join(handler, data)
                assert answer.status_code == 403, (handler, path, answer.text)
                assert kept(two.server) == before


@pytest.mark.sampled(2)
@pytest.mark.parametrize("address", ["http://127.0.0.1:9/x", "https://example.org/x", "file:///etc/passwd", "//x/y"])
def test_no_event_makes_the_server_fetch_a_url(two: Two, address: str) -> None:
    assert Events(two.writer, "attacker").join("upload", ["brought", [file_of(address)]]).status_code == 403
    dropped = {"text": "x", "files": [file_of(address)]}
    assert Events(two.writer, "attacker").join("ask", [dropped, [], "default", None]).status_code == 403
    plain = {"text": "x", "files": []}
    assert Events(two.writer, "attacker").join("ask", [plain, [], "default", None], file_of(address)).status_code == 403


def test_uploaded_files_are_not_served_and_can_be_imported(two: Two) -> None:
    two.writer.get("/config")
    uploaded = two.writer.post(
        "/gradio_api/upload", files={"files": ("heron.md", b"# Herons\n\nThey nest in March.\n")}
    )
    [path] = uploaded.json()
    assert two.writer.get(f"/gradio_api/file={path}").status_code == 404
    page = Events(two.writer, "page")
    page.outcome("load", [])
    last = page.outcome("upload", [None, "brought", [file_of(path)], "", None])[-1]
    assert last["success"], last
    assert not Path(path).exists()


def test_a_key_without_write_permission_cannot_upload(two: Two) -> None:
    two.reader.get("/config")
    before = kept(two.server)
    refused = two.reader.post("/gradio_api/upload", files={"files": ("a.md", b"x" * 10_000)})
    assert refused.status_code == 403
    assert kept(two.server) == before


def test_upload_progress_is_visible_only_to_the_caller_that_uploads(two: Two) -> None:
    two.writer.get("/config")
    told = {"files": (f"{CANARY}.md", b"# Herons\n")}
    assert two.writer.post("/gradio_api/upload?upload_id=known", files=told).status_code == 200
    assert two.reader.get("/gradio_api/upload_progress", params={"upload_id": "known"}).status_code == 404
    assert two.reader.get("/gradio_api/upload_progress", params={"upload_id": "writer~known"}).status_code == 404
    assert "done" in two.writer.get("/gradio_api/upload_progress", params={"upload_id": "known"}).text


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["x-forwarded-host", "x-forwarded-proto", "x-gradio-server", "x-direct-url"])
def test_no_request_header_changes_the_server_address_in_the_page(two: Two, name: str) -> None:
    for value in ("evil.example", "https://evil.example"):
        assert "evil.example" not in two.reader.get("/", headers={name: value}).text
        assert "evil.example" not in two.reader.get("/config", headers={name: value}).text


def test_a_caller_who_knows_the_session_name_of_another_caller_cannot_see_its_questions(two: Two) -> None:
    first, second = Events(two.writer, "shared"), Events(two.reader, "shared")
    first.outcome("list_collections", ["", 0])
    second.outcome("list_collections", ["", 0])
    assert QUESTION in str(first.outcome("ask", [{"text": QUESTION, "files": []}, ["samples"], "default", None]))
    other = {"text": "Is anything else there?", "files": []}
    told = str(second.outcome("ask", [other, ["samples"], "default", None]))
    assert "Is anything else there?" in told
    assert QUESTION not in told


@pytest.mark.parametrize("session", [None, "", "writer~shared", "../x", "a" * 65, 7, ["shared"]])
def test_an_event_with_an_invalid_session_name_is_refused(two: Two, session: Any) -> None:
    told = {"data": [], "fn_index": 0, "session_hash": session, "event_id": "x"}
    assert two.reader.post(JOIN, json=told).status_code == 400
    assert two.reader.post("/gradio_api/cancel", json=told).status_code == 400
    if isinstance(session, str):
        heard = two.reader.get("/gradio_api/queue/data", params={"session_hash": session})
        assert heard.status_code == 400
    twice = two.reader.get("/gradio_api/queue/data?session_hash=shared&session_hash=other")
    assert twice.status_code == 400


@pytest.mark.parametrize("body", [b"", b"[]", b"7", b"\xff", b"[" * 100_000, b'{"data": []}'])
def test_an_invalid_event_is_refused(two: Two, body: bytes) -> None:
    answer = two.reader.post(JOIN, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400


def test_an_event_that_fails_does_not_print_the_text_it_contains_to_the_terminal(
    two: Two, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    too_long = f"{CANARY} " * 5000
    [*_, last] = Events(two.reader, "long").outcome("explain", [too_long, [], "default"])
    assert not last["success"]
    printed = capfd.readouterr()
    assert CANARY not in printed.err + printed.out
    assert "A page's event failed." in caplog.messages


def test_old_uploads_are_deleted_and_the_bytes_of_the_remaining_uploads_are_counted(tmp_path: Path) -> None:
    for name, age in (("old", 7200), ("new", 60)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(b"x" * 1000)
        (tmp_path / f"{name}.part").write_bytes(b"x" * 1000)
        for path in (tmp_path / name, tmp_path / f"{name}.part"):
            os.utime(path, (time.time() - age,) * 2)
    assert delete_old_uploads(tmp_path, time.time() - 3600) >= 2000
    assert {path.name for path in tmp_path.iterdir()} == {"new", "new.part"}
