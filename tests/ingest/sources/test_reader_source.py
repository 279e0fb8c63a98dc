"""A LlamaIndex reader of an installed package can be the source of a job, and its failures affect nothing else."""

from pathlib import Path

import pytest
from elt_llm_core.errors import IngestError, SettingsError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.store import open_store
from elt_llm_ingest.pipeline import ingest
from elt_llm_ingest.run.report import IngestReport
from elt_llm_ingest.sandbox.parser import DirectParser
from elt_llm_ingest.sources.reader_source import ReaderSource, find_reader_class
from elt_llm_ingest.sources.request import IngestRequest
from stored.job_project import JobProject

pytestmark = pytest.mark.halved


SECRET = "sEcret-token"
MODULE = """
import socket, time
from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import Document

class Shelf(BaseReader):
    def __init__(self, token=""):
        self.token = token

    def load_data(self, names=("apple", "pear")):
        print(self.token)
        return [Document(text=f"The {name} is a fruit.", id_=name) for name in names]

class Raising(Shelf):
    def load_data(self):
        raise ValueError(f"login with {self.token} failed")

class Exiting(Shelf):
    def load_data(self):
        import os
        os._exit(3)

class Endless(Shelf):
    def load_data(self):
        time.sleep(60)

class Texts(Shelf):
    def load_data(self):
        return ["a text"]

class Number(Shelf):
    def load_data(self):
        return 7

class Large(Shelf):
    def load_data(self):
        return [Document(text="word " * 300_000, id_="large"), Document(text="A small text.", id_="small")]

class Calling(Shelf):
    def load_data(self):
        socket.create_connection(("127.0.0.1", 9), timeout=5)

class NoReader:
    pass
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a package of readers that child processes can import."""
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / "shelf_readers.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")


def _run(tmp_path: Path, reader: str, **arguments: object) -> IngestReport:
    settings = Settings.model_validate({"ingest": {"remote": {"reader_seconds": 120}, "max_file_mb": 1}})
    if reader == "Endless":
        settings = Settings.model_validate({"ingest": {"remote": {"reader_seconds": 2}}})
    source = ReaderSource(f"shelf_readers:{reader}", {"token": SECRET, **arguments})
    with open_store(tmp_path / "data", for_writing=True) as store:
        request = IngestRequest("shelf", source_reader=source, job="shelf")
        return ingest(request, settings, FakeEmbedding(), store, SilentListener(), DirectParser())


def _outcomes(report: IngestReport) -> dict[str, str]:
    return {outcome.path: outcome.status for outcome in report.files}


@pytest.mark.sampled(2, "reader as a source")
def test_the_documents_of_a_reader_are_ingested_under_their_ids(tmp_path: Path) -> None:
    report = _run(tmp_path, "Shelf")
    assert _outcomes(report) == {f"reader://shelf_readers:Shelf/{name}": "ok" for name in ("apple", "pear")}
    again = _run(tmp_path, "Shelf")
    assert (set(_outcomes(again).values()), again.published) == ({"unchanged"}, False)


@pytest.mark.sampled(2, "reader as a source")
def test_a_document_that_the_reader_no_longer_returns_is_removed(tmp_path: Path) -> None:
    _run(tmp_path, "Shelf")
    report = _run(tmp_path, "Shelf", load_data={"names": ["pear"]})
    assert _outcomes(report)["reader://shelf_readers:Shelf/apple"] == "removed"
    assert report.documents == 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("reader", "message"),
    [
        ("Raising", r"it raised ValueError: login with \*\*\* failed"),
        ("Exiting", "ended without a result"),
        ("Endless", "did not end within 2 s"),
        ("Texts", "returned str instead of a document"),
        ("Number", "returned int instead of a list of documents"),
        ("Calling", "the host 127.0.0.1 is not allowed"),
        ("Missing", "has no class Missing"),
        ("NoReader", "is not a class derived from LlamaIndex's BaseReader"),
    ],
)
def test_a_llama_index_reader_that_fails_is_reported_with_the_reason(tmp_path: Path, reader: str, message: str) -> None:
    with pytest.raises(IngestError, match=message) as failed:
        _run(tmp_path, reader)
    assert SECRET not in str(failed.value)


@pytest.mark.sampled(2, "reader as a source")
def test_the_documents_of_a_reader_are_kept_when_the_reader_fails_later(tmp_path: Path) -> None:
    _run(tmp_path, "Shelf")
    report = _run(tmp_path, "Shelf", load_data={"unknown": 1})
    assert (_outcomes(report), report.documents) == ({"reader://shelf_readers:Shelf/": "failed"}, 2)


@pytest.mark.sampled(2, "reader as a source")
def test_a_document_above_the_size_limit_fails_without_affecting_other_documents(tmp_path: Path) -> None:
    outcomes = _outcomes(_run(tmp_path, "Large"))
    assert outcomes == {"reader://shelf_readers:Large/large": "failed", "reader://shelf_readers:Large/small": "ok"}


@pytest.mark.sampled(2, "reader as a source")
def test_the_arguments_of_a_reader_are_neither_stored_nor_reported(tmp_path: Path) -> None:
    report = _run(tmp_path, "Shelf")
    stored = [path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert SECRET not in str(report)
    assert not any(SECRET.encode() in content for content in stored)


@pytest.mark.sampled(2, "reader as a source")
def test_a_job_names_a_reader_class_and_its_arguments(tmp_path: Path) -> None:
    project = JobProject(tmp_path)
    project.job("a", "collection: a\nreader: shelf_readers:Shelf\narguments: {load_data: {names: [fig]}}\n")
    [report] = project.run("a").reports
    assert _outcomes(report) == {"reader://shelf_readers:Shelf/fig": "ok"}


@pytest.mark.sampled(2, "reader as a source")
def test_a_job_names_a_reader_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "packages" / "shelf_readers-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: shelf-readers\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[elt_llm.readers]\nshelf = shelf_readers:Shelf\n")
    monkeypatch.syspath_prepend(str(installed.parent))
    assert find_reader_class("shelf") == "shelf_readers:Shelf"
    project = JobProject(tmp_path)
    project.job("a", "collection: a\nreader: shelf\narguments: {load_data: {names: [fig]}}\n")
    [report] = project.run("a").reports
    assert _outcomes(report) == {"reader://shelf_readers:Shelf/fig": "ok"}


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ("collection: a\nreader: shelf_readers:Shelf\npaths: [docs]\n", "provides the documents itself; remove paths"),
        ("collection: a\n", "paths is missing or empty"),
        ("collection: a\nreader: shelves\npaths: [docs]\n", "there is no reader named shelves"),
        ("collection: a\npaths: [docs]\narguments: {a: 1}\n", "only a reader package:Class has arguments"),
    ],
)
def test_a_job_that_names_contradicting_document_sources_is_refused(tmp_path: Path, job: str, message: str) -> None:
    project = JobProject(tmp_path)
    project.job("a", job)
    with pytest.raises(SettingsError, match=message):
        project.run("a")
