"""Remote sources are read only from allowed hosts, and have the same outcomes as local files."""

import functools
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.errors import IngestError, UsageError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.store import open_store
from elt_llm_ingest.pipeline import ingest
from elt_llm_ingest.run.report import IngestReport
from elt_llm_ingest.sandbox.parser import DirectParser
from elt_llm_ingest.session import CollectionTask, IngestSession
from elt_llm_ingest.sources.remote import RemoteUrl
from elt_llm_ingest.sources.request import IngestRequest
from processes.failing import fetching_killed_at
from stored.job_project import JobProject

pytestmark = pytest.mark.network
COLLECTION = "remote"
SECRET = "sEcret-pass"


@dataclass
class WebServer:
    """A web server on this machine: `requests` are the requests that it received, as method and path."""

    folder: Path
    address: str
    requests: list[str] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    slow: set[str] = field(default_factory=set)
    fails: set[str] = field(default_factory=set)
    vanishing: set[str] = field(default_factory=set)
    without_length: set[str] = field(default_factory=set)
    logins: list[str] = field(default_factory=list)

    def url(self, path: str = "/") -> str:
        return f"http://{self.address}{path}"

    def fetched(self) -> list[str]:
        """Return the paths of files that were fetched since the last call."""
        paths = sorted(it.removeprefix("GET ") for it in self.requests if it.startswith("GET ") and it[-1] != "/")
        self.requests.clear()
        return paths


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *arguments: Any, web: WebServer) -> None:
        self._web = web
        super().__init__(*arguments, directory=str(web.folder))

    def send_head(self) -> Any:
        self._web.requests.append(f"{self.command} {self.path}")
        self._web.logins.append(self.headers.get("Authorization") or "")
        if self.path in self._web.slow:
            time.sleep(3)
        if self.path in self._web.redirects:
            self.send_response(302)
            self.send_header("Location", self._web.redirects[self.path])
            self.end_headers()
            return None
        if self.path in self._web.fails or (self.command == "GET" and self.path in self._web.vanishing):
            self.send_error(500 if self.path in self._web.fails else 404)
            return None
        if self.path in self._web.without_length:
            self.send_response(200)
            self.end_headers()
            return (self._web.folder / self.path[1:]).open("rb")
        return super().send_head()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the class of Python has
        pass


@pytest.fixture
def web(tmp_path: Path) -> Iterator[WebServer]:
    folder = tmp_path / "web"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.md").write_text("# Apples\n\nThe apple is a fruit.\n")
    (folder / "b.txt").write_text("The banana is a fruit.\n")
    (folder / "deep" / "c.html").write_text("<h1>Cherries</h1><p>The cherry is a fruit.</p>")
    (folder / "picture.xyz").write_bytes(b"no text")
    web = WebServer(folder, "")
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Handler, web=web)) as server:
        web.address = f"127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield web
        server.shutdown()
        thread.join()


def _run(
    tmp_path: Path, web: WebServer, *urls: str, allowed: tuple[str, ...] | None = None, **flags: Any
) -> IngestReport:
    remote = {"allowed_hosts": (web.address,) if allowed is None else allowed, "timeout_seconds": 2}
    settings = Settings.model_validate({"ingest": {"remote": remote, "max_file_mb": 1}})
    request = IngestRequest(COLLECTION, (), tuple(map(RemoteUrl.parse, urls)), **flags)
    with open_store(tmp_path / "data", for_writing=True) as store:
        return ingest(request, settings, FakeEmbedding(), store, SilentListener(), DirectParser())


def _outcomes(web: WebServer, report: IngestReport) -> dict[str, str]:
    return {outcome.path.removeprefix(web.url("")): outcome.status for outcome in report.files}


ALL = {"/a.md": "ok", "/b.txt": "ok", "/deep/c.html": "ok", "/picture.xyz": "skipped"}


def test_one_web_page_is_ingested_under_its_url(tmp_path: Path, web: WebServer) -> None:
    report = _run(tmp_path, web, web.url("/a.md"))
    assert [(it.path, it.status) for it in report.files] == [(web.url("/a.md"), "ok")]
    with open_store(tmp_path / "data") as store, open_generation(store, COLLECTION) as generation:
        assert [document.source for document in generation.documents()] == [web.url("/a.md")]


def test_a_remote_folder_is_ingested_with_its_subfolders(tmp_path: Path, web: WebServer) -> None:
    report = _run(tmp_path, web, web.url())
    assert (_outcomes(web, report), report.exit_code, report.documents) == (ALL, 0, 3)
    assert web.fetched() == ["/a.md", "/b.txt", "/deep/c.html"]


def test_an_unchanged_remote_file_is_not_fetched_again(tmp_path: Path, web: WebServer) -> None:
    for name in ("a.md", "b.txt", "deep/c.html"):
        _set_time(web.folder / name, 1_700_000_000)
    first = _run(tmp_path, web, web.url())
    web.fetched()
    for urls in ([web.url()], []):
        again = _run(tmp_path, web, *urls)
        assert (again.collection_hash, again.published) == (first.collection_hash, False)
        assert set(_outcomes(web, again).values()) == {"unchanged", "skipped"}
        assert web.fetched() == []


def test_a_changed_remote_file_is_fetched_again(tmp_path: Path, web: WebServer) -> None:
    for name in ("a.md", "b.txt", "deep/c.html"):
        _set_time(web.folder / name, 1_700_000_000)
    _run(tmp_path, web, web.url())
    web.fetched()
    (web.folder / "b.txt").write_text("The blueberry is a fruit.\n")
    assert _outcomes(web, _run(tmp_path, web))["/b.txt"] == "ok"
    assert web.fetched() == ["/b.txt"]


def test_what_a_killed_ingest_has_fetched_is_deleted_by_the_next_command_that_writes(
    tmp_path: Path, web: WebServer
) -> None:
    data, url = tmp_path / "data", web.url("/a.md")
    assert fetching_killed_at("chunk-before:1:kill", data, url)
    assert [path.read_bytes() for path in data.glob("downloads/*/*")] == [(web.folder / "a.md").read_bytes()]
    assert not fetching_killed_at("", data, url)
    assert not (data / "downloads").exists()


def _set_time(path: Path, seconds: int) -> None:
    import os

    os.utime(path, (seconds, seconds))


def test_a_file_that_is_gone_from_a_remote_folder_is_removed(tmp_path: Path, web: WebServer) -> None:
    _run(tmp_path, web, web.url())
    (web.folder / "b.txt").unlink()
    report = _run(tmp_path, web)
    assert (_outcomes(web, report)["/b.txt"], report.documents) == ("removed", 2)


def test_the_documents_of_a_remote_folder_are_kept_if_the_whole_folder_is_empty(tmp_path: Path, web: WebServer) -> None:
    _run(tmp_path, web, web.url())
    for name in ("a.md", "b.txt", "deep/c.html"):
        (web.folder / name).unlink()
    report = _run(tmp_path, web)
    assert (_outcomes(web, report)["/b.txt"], report.documents) == ("missing", 3)
    assert _run(tmp_path, web, allow_delete=True).documents == 0


def test_the_document_of_a_single_remote_file_that_is_gone_is_kept_unless_deletions_are_allowed(
    tmp_path: Path, web: WebServer
) -> None:
    _run(tmp_path, web, web.url("/a.md"), web.url("/b.txt"))
    (web.folder / "b.txt").unlink()
    report = _run(tmp_path, web)
    assert (_outcomes(web, report)["/b.txt"], report.documents) == ("missing", 2)
    assert _run(tmp_path, web, allow_delete=True).documents == 1


def test_a_host_that_is_not_allowed_is_refused_and_the_error_names_the_setting_to_change(
    tmp_path: Path, web: WebServer
) -> None:
    with pytest.raises(UsageError, match="is not allowed") as refused:
        _run(tmp_path, web, web.url("/a.md"), allowed=())
    assert refused.value.hint == f'Add "{web.address}" to ingest.remote.allowed_hosts in the settings.'
    assert web.requests == []


def test_documents_of_a_host_that_is_no_longer_allowed_are_kept(tmp_path: Path, web: WebServer) -> None:
    _run(tmp_path, web, web.url())
    report = _run(tmp_path, web, allowed=())
    assert (_outcomes(web, report), report.documents, report.exit_code) == ({"/": "failed"}, 3, 1)
    assert "ingest.remote.allowed_hosts" in report.files[0].reason


def test_documents_of_a_host_that_does_not_answer_are_kept(tmp_path: Path, web: WebServer) -> None:
    _run(tmp_path, web, web.url())
    web.slow.add("/")
    report = _run(tmp_path, web)
    assert (_outcomes(web, report), report.documents) == ({"/": "failed"}, 3)
    assert "did not answer within 2 s" in report.files[0].reason


def test_an_incomplete_listing_of_a_remote_folder_deletes_no_documents(tmp_path: Path, web: WebServer) -> None:
    _run(tmp_path, web, web.url())
    (web.folder / "b.txt").unlink()
    web.fails.add("/deep/")
    report = _run(tmp_path, web)
    assert (_outcomes(web, report), report.documents) == ({"/": "failed"}, 3)


def test_a_remote_file_that_vanishes_while_it_is_fetched_fails_without_affecting_other_files(
    tmp_path: Path, web: WebServer
) -> None:
    web.vanishing.add("/b.txt")
    report = _run(tmp_path, web, web.url())
    assert _outcomes(web, report) == ALL | {"/b.txt": "failed"}
    assert any("vanished before it was fetched" in it.reason for it in report.files)


@pytest.mark.parametrize("announced", [True, False])
def test_a_remote_file_above_the_size_limit_is_never_fetched_completely(
    tmp_path: Path, web: WebServer, announced: bool
) -> None:
    (web.folder / "b.txt").write_bytes(b"word " * 3_000_000)
    if not announced:
        web.without_length.add("/b.txt")
    report = _run(tmp_path, web, web.url())
    assert _outcomes(web, report) == ALL | {"/b.txt": "failed"}
    assert ("/b.txt" in web.fetched()) is not announced
    assert any("limit of 1 MB" in it.reason for it in report.files)


def test_a_redirect_to_a_host_that_is_not_allowed_is_not_followed(tmp_path: Path, web: WebServer) -> None:
    web.redirects["/a.md"] = web.url("/b.txt").replace("127.0.0.1", "localhost") + "?token=" + SECRET
    with pytest.raises(IngestError, match=r"redirects to localhost:\d+, which is not allowed") as refused:
        _run(tmp_path, web, web.url("/a.md"))
    assert web.fetched() in ([], ["/a.md"], ["/a.md", "/a.md"])
    assert SECRET not in str(refused.value)


def test_a_redirect_within_the_allowed_host_is_followed(tmp_path: Path, web: WebServer) -> None:
    web.redirects["/a.md"] = "/b.txt"
    assert _outcomes(web, _run(tmp_path, web, web.url("/a.md"))) == {"/a.md": "ok"}


def test_credentials_for_a_remote_host_are_sent_but_never_stored_or_reported(tmp_path: Path, web: WebServer) -> None:
    given = web.url("/a.md").replace("//", f"//user:{SECRET}@")
    report = _run(tmp_path, web, given)
    assert web.logins[-1].startswith("Basic ")
    assert SECRET not in str(report) + repr(RemoteUrl.parse(given))
    stored = [path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in content for content in stored)


def test_the_message_about_an_error_of_a_remote_host_names_the_http_status_and_no_credentials(
    tmp_path: Path, web: WebServer
) -> None:
    web.fails.add("/a.md")
    with pytest.raises(IngestError, match="HTTP status 500") as failed:
        _run(tmp_path, web, web.url("/a.md").replace("//", f"//user:{SECRET}@"))
    assert SECRET not in str(failed.value)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://files.example/a.md", "unsupported scheme"),
        ("https:///a.md", "names no host"),
        ("https://wiki.example/a.md?token=1", "query or fragment"),
        ("https://wiki.example:99999/a.md", "host or port cannot be read"),
        ("https://wiki.example/a b.md", "space or control character"),
    ],
)
def test_an_invalid_url_is_refused(url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        RemoteUrl.parse(url)


def test_a_job_that_splits_files_cannot_have_urls_as_sources(tmp_path: Path) -> None:
    project = JobProject(tmp_path)
    project.job("a", "collection_prefix: a\nsplit_by: type\npaths: ['https://docs.example/a.html']\n")
    with pytest.raises(UsageError, match="both split_by and URLs") as refused:
        project.run("a")
    assert "without split_by" in str(refused.value.hint)


def test_watching_only_urls_is_refused_and_the_error_names_an_alternative(tmp_path: Path) -> None:
    task = CollectionTask("web", (), (RemoteUrl.parse("https://docs.example/a.html"),))
    loaded = load_settings(None, {}, tmp_path)
    with (
        IngestSession(task, loaded, {}, "elt-llm ingest") as session,
        pytest.raises(UsageError, match="local files") as refused,
    ):
        session.scope()
    assert "from a timer" in str(refused.value.hint)
