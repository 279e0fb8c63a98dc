"""Ingests behave alike with every kind of remote host (such as S3, SFTP, WebDAV), also if the host fails."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.errors import IngestError, UsageError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.store import open_store
from elt_llm_ingest.pipeline import ingest
from elt_llm_ingest.run.report import IngestReport
from elt_llm_ingest.sandbox.parser import DirectParser
from elt_llm_ingest.sources.remote import RemoteUrl
from elt_llm_ingest.sources.request import IngestRequest
from remote_servers import PASSWORD, SERVERS, ServedFolder

# In an ordinary run each test uses two of the back ends, which differ from test to test.
pytestmark = [pytest.mark.network, pytest.mark.sampled(2)]


@pytest.fixture(params=SERVERS)
def served(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedFolder]:
    pytest.importorskip({"s3": "s3fs", "sftp": "paramiko", "webdav": "wsgidav"}.get(request.param, "aiohttp"))
    folder = tmp_path / "served"
    (folder / "deep").mkdir(parents=True)
    for name in ("a.md", "b.md", "deep/c d.md"):
        (folder / name).write_text(f"The text of {name} is about apples.\n")
        os.utime(folder / name, (1_700_000_000, 1_700_000_000))
    monkeypatch.setenv("HOME", str(tmp_path))
    with SERVERS[request.param](folder) as served:
        (tmp_path / ".ssh").mkdir()
        (tmp_path / ".ssh" / "known_hosts").write_text(served.known_host)
        for name, value in served.environment.items():
            monkeypatch.setenv(name, value)
        yield served


def _run(tmp_path: Path, served: ServedFolder, *urls: str, allowed: bool = True, **flags: Any) -> IngestReport:
    remote = {"allowed_hosts": (served.host,) if allowed else (), "timeout_seconds": 2}
    settings = Settings.model_validate({"ingest": {"remote": remote, "max_file_mb": 1}})
    request = IngestRequest("remote", (), tuple(map(RemoteUrl.parse, urls)), **flags)
    served.fetched.clear()
    with open_store(tmp_path / "data", for_writing=True) as store:
        return ingest(request, settings, FakeEmbedding(), store, SilentListener(), DirectParser())


def _outcomes(served: ServedFolder, report: IngestReport) -> dict[str, str]:
    shown = RemoteUrl.parse(served.url).url
    return {outcome.path.removeprefix(shown): outcome.status for outcome in report.files}


def test_a_remote_folder_is_listed_and_its_files_are_fetched(tmp_path: Path, served: ServedFolder) -> None:
    report = _run(tmp_path, served, served.url)
    assert _outcomes(served, report) == {"a.md": "ok", "b.md": "ok", "deep/c%20d.md": "ok"}
    assert (report.documents, report.exit_code, len(served.fetched)) == (3, 0, 3)


def test_a_single_remote_file_is_fetched(tmp_path: Path, served: ServedFolder) -> None:
    assert _outcomes(served, _run(tmp_path, served, f"{served.url}a.md")) == {"a.md": "ok"}
    assert served.fetched == ["a.md"]


def test_an_unchanged_file_on_the_remote_host_is_not_fetched_again(tmp_path: Path, served: ServedFolder) -> None:
    first = _run(tmp_path, served, served.url)
    again = _run(tmp_path, served, served.url)
    assert (set(_outcomes(served, again).values()), served.fetched) == ({"unchanged"}, [])
    assert (again.collection_hash, again.published) == (first.collection_hash, False)


def test_a_changed_file_on_the_remote_host_is_fetched_again(tmp_path: Path, served: ServedFolder) -> None:
    _run(tmp_path, served, served.url)
    (served.folder / "b.md").write_text("The text is about blueberries now.\n")
    outcomes = _outcomes(served, _run(tmp_path, served, served.url))
    assert (outcomes["a.md"], outcomes["b.md"], served.fetched) == ("unchanged", "ok", ["b.md"])


def test_a_file_that_is_gone_from_the_remote_host_is_removed_from_the_collection(
    tmp_path: Path, served: ServedFolder
) -> None:
    _run(tmp_path, served, served.url)
    (served.folder / "b.md").unlink()
    report = _run(tmp_path, served, served.url)
    assert (_outcomes(served, report)["b.md"], report.documents) == ("removed", 2)


def test_a_remote_host_that_the_settings_do_not_allow_is_refused(tmp_path: Path, served: ServedFolder) -> None:
    with pytest.raises(UsageError, match="is not allowed") as refused:
        _run(tmp_path, served, served.url, allowed=False)
    assert "ingest.remote.allowed_hosts" in refused.value.hint
    assert PASSWORD not in str(refused.value)


def test_documents_are_kept_when_the_remote_host_does_not_answer(tmp_path: Path, served: ServedFolder) -> None:
    _run(tmp_path, served, served.url)
    served.hangs = True
    report = _run(tmp_path, served, served.url)
    assert (_outcomes(served, report), report.documents, report.exit_code) == ({"": "failed"}, 3, 1)
    assert "did not answer within 2 s" in report.files[0].reason


def test_a_file_above_the_size_limit_is_not_fetched_from_the_remote_host(tmp_path: Path, served: ServedFolder) -> None:
    (served.folder / "b.md").write_bytes(b"word " * 300_000)
    report = _run(tmp_path, served, served.url)
    assert (_outcomes(served, report)["b.md"], report.documents) == ("failed", 2)
    assert "b.md" not in served.fetched


def test_credentials_for_the_remote_host_are_neither_stored_nor_reported(tmp_path: Path, served: ServedFolder) -> None:
    report = _run(tmp_path, served, served.url)
    stored = [path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert PASSWORD not in str(report)
    assert not any(PASSWORD.encode() in content for content in stored)


@pytest.mark.parametrize("served", ["sftp", "webdav"], indirect=True)
def test_a_wrong_password_is_reported_without_the_password(tmp_path: Path, served: ServedFolder) -> None:
    with pytest.raises(IngestError) as refused:
        _run(tmp_path, served, served.url.replace(PASSWORD, "wrong-word"))
    assert "wrong-word" not in f"{refused.value} {refused.value.hint}"


@pytest.mark.parametrize("served", ["sftp"], indirect=True)
def test_an_sftp_server_with_an_unknown_host_key_is_refused(tmp_path: Path, served: ServedFolder) -> None:
    (tmp_path / ".ssh" / "known_hosts").unlink()
    with pytest.raises(IngestError, match="host key of"):
        _run(tmp_path, served, served.url)
