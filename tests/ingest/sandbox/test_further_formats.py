"""Files of the extra `formats` are read in the real sandbox, and no bad file prevents other files from being read."""

import bz2
import gzip
import lzma
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.store.store import open_store
from elt_llm_core.utilities import install_command
from elt_llm_ingest.parsing.document_builder import DocumentBuilder
from elt_llm_ingest.readers import ReaderOptions
from elt_llm_ingest.readers.formats.mail import EmailReader
from elt_llm_ingest.readers.formats.members import Members
from elt_llm_ingest.readers.tesseract import installed_version
from elt_llm_ingest.run.report import IngestReport
from elt_llm_ingest.sandbox.guards import ParseLimits
from elt_llm_ingest.sandbox.parser import ParseRequest
from elt_llm_ingest.sandbox.pool import ParsePool
from file_formats.further import FURTHER, PICTURE_SUFFIXES, email_file, picture, tar_file, zip_file
from file_formats.ole import msg_file, ole_file
from optional import needs
from stored.folders import run_ingest
from stored.shelf import COLLECTION

from elt_llm_ingest import readers

pytestmark = pytest.mark.halved


needs("kreuzberg", "olefile", "PIL")

LIMITS = ParseLimits(seconds=60)
TITLES = ("Fees", "Rules of the club", "Annual report 2026", "Memory and storage")
GOOD = b"# Ferry\n\nThe ferry leaves at noon.\n"


@pytest.fixture
def pool() -> Iterator[ParsePool]:
    with ParsePool(LIMITS, 2) as opened:
        yield opened


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


def _texts(data_dir: Path) -> str:
    """Return the text of all chunks of the collection, with single spaces."""
    with open_store(data_dir) as store, open_generation(store, COLLECTION) as generation:
        names = sorted({node.source for node in generation.nodes(generation.ids)})
        return " ".join(" ".join(generation.document(name).text.split()) for name in names)


def _reasons(report: IngestReport) -> dict[str, str]:
    return {file.path: file.reason for file in report.files}


def test_more_than_100_documents_of_more_than_25_formats_are_found_after_one_ingest(
    tmp_path: Path, docs: Path, pool: ParsePool
) -> None:
    sentences: dict[str, str] = {}
    numbers = count(1001)
    for suffix, make in FURTHER.items():
        for title in TITLES:
            name = f"{title} {suffix[1:]}{'.md' if suffix in ('.gz', '.bz2', '.xz') else ''}{suffix}"
            sentences[name] = f"The registration number of this club is {next(numbers)} exactly."
            (docs / name).write_bytes(make(title, sentences[name]))
    report = run_ingest(tmp_path / "data", docs, parser=pool)
    assert len(FURTHER) >= 25
    assert len(sentences) >= 100
    assert {file.path for file in report.files if file.status == "ok"} == set(sentences)
    text = _texts(tmp_path / "data")
    assert [name for name, sentence in sentences.items() if sentence not in text] == []


@pytest.mark.sampled(5)
@pytest.mark.parametrize("suffix", sorted(FURTHER))
def test_a_worker_returns_the_same_document_as_the_reader(docs: Path, pool: ParsePool, suffix: str) -> None:
    path = docs / f"file{suffix}"
    path.write_bytes(FURTHER[suffix]("Fees", "The fee is 5 pounds."))
    reader = readers.create_reader(path)
    assert reader is not None
    assert pool.read(ParseRequest(path)) == reader.read(path)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("suffix", PICTURE_SUFFIXES)
def test_the_words_in_a_picture_are_read_or_a_note_states_why_not(docs: Path, pool: ParsePool, suffix: str) -> None:
    path = docs / f"scan{suffix}"
    path.write_bytes(picture(suffix, "Fees", "The registration fee is 5 pounds."))
    plain = pool.read(ParseRequest(path))
    assert (plain.text, plain.notes) == ("", ("is a picture; for OCR, set ingest.ocr: true and install tesseract-ocr",))
    read = pool.read(ParseRequest(path, options=ReaderOptions(ocr=True, ocr_engine=installed_version())))
    if shutil.which("tesseract") is None:
        assert read.notes == (
            "the text of the picture is not read: tesseract is not installed (install tesseract-ocr)",
        )
    else:
        assert "registration fee is 5 pounds" in " ".join(read.text.split())


BAD_FILES: dict[str, tuple[bytes, str]] = {
    "climbing.zip": (zip_file({"../../etc/passwd": b"x"}), "a member whose path leads out of its folder"),
    "climbing.tar": (tar_file({"../../etc/passwd": b"x"}), "a member whose path leads out of its folder"),
    "absolute.tar": (tar_file({"/etc/passwd": b"x"}), "a member whose path leads out of its folder"),
    "lying.msg": (b"plain words", "is not an Outlook message"),
    "word.msg": (ole_file({"WordDocument": b"words"}), "is not an Outlook message"),
    "lying.png": (b"<html>", "is an HTML page, not a .png file: rename it to .html"),
    "lying.zip": (b"%PDF-1.4 words", "is a PDF, not a .zip file: rename it to .pdf"),
    "lying.eml": (b"\x89PNG\r\n\x1a\n", "is not an e-mail"),
    "lying.doc": (b"\x89PNG\r\n\x1a\n", "is not a zip package"),
    "lying.xz": (b"plain words", "is not a .xz archive"),
    "truncated.msg": (msg_file("Fees", "Words.", {"a.md": b"x" * 9000})[:3000], "Outlook message"),
    "truncated.tgz": (tar_file({"a.md": GOOD}, packed=True)[:60], "is not a .tgz archive, or is damaged"),
    "deep.eml": (
        b"From: a@b\nSubject: x\n"
        + b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n) for n in range(80)),
        "levels of nested parts",
    ),
}


def _bombs() -> dict[str, tuple[bytes, str]]:
    """Return archives of many zeros. Packing them takes a second, which no worker spends while it collects tests."""
    return {
        "bomb.zip": (zip_file({"zeros.txt": bytes(20_000_000)}), "compression ratio above 100"),
        "bomb.gz": (gzip.compress(bytes(50_000_000)), "to more than the limit of"),
        "bomb.bz2": (bz2.compress(bytes(50_000_000)), "to more than the limit of"),
        "bomb.xz": (lzma.compress(bytes(50_000_000)), "to more than the limit of"),
    }


def _encrypted_zip() -> bytes:
    """Return a .zip file whose member has the flag of an encrypted member."""
    data = bytearray(zip_file({"secret.md": GOOD}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    return bytes(data)


def test_unreadable_files_are_named_with_a_reason_and_the_other_files_are_read(
    tmp_path: Path, docs: Path, pool: ParsePool
) -> None:
    bad = {**_bombs(), **BAD_FILES, "secret.zip": (_encrypted_zip(), "is encrypted: a password is needed")}
    for name, (data, _) in bad.items():
        (docs / name).write_bytes(data)
        (docs / f"{name}.md").write_bytes(GOOD + name.encode())
    report = run_ingest(tmp_path / "data", docs, parser=pool)
    reasons = _reasons(report)
    assert {name: reasons[name] for name, (_, reason) in bad.items() if reason not in reasons[name]} == {}
    assert {file.path for file in report.files if file.status == "ok"} == {f"{name}.md" for name in bad}


def test_unreadable_archive_members_are_named_and_the_other_members_are_read(docs: Path, pool: ParsePool) -> None:
    members = {
        "good.md": GOOD,
        "inner.tar": tar_file({"deep.md": GOOD}),
        "inner.tgz": tar_file({"deep.md": GOOD}, packed=True),
        "tool.exe": b"MZ",
        "lying.docx": b"plain words",
        "lying.rtf": b"plain words",
        "torn.msg": msg_file("Fees", "Words.")[:700],
        "last.md": GOOD,
    }
    path = docs / "files.tar"
    path.write_bytes(tar_file(members))
    document = pool.read(ParseRequest(path))
    assert [part.name for part in document.parts] == ["good.md", "last.md"]
    assert {note.split(":")[0] for note in document.notes} == set(members) - {"good.md", "last.md"}


def test_an_archive_inside_a_zip_file_is_refused_and_named(docs: Path, pool: ParsePool) -> None:
    path = docs / "files.tar"
    path.write_bytes(tar_file({"good.md": GOOD, "inner.zip": zip_file({"innermost.zip": zip_file({"a.md": GOOD})})}))
    document = pool.read(ParseRequest(path))
    assert [part.name for part in document.parts] == ["good.md"]
    assert document.notes == ("inner.zip: an archive inside a file is not read",)


def test_a_truncated_email_is_read_as_far_as_it_goes_with_a_note(docs: Path, pool: ParsePool) -> None:
    whole = email_file("Fees", "The fee is 5 pounds.", {"fees.md": GOOD, "long.txt": b"word " * 5000})
    path = docs / "mail.eml"
    path.write_bytes(whole[: len(whole) // 2])
    document = pool.read(ParseRequest(path))
    assert "The fee is 5 pounds." in document.text
    assert "fees.md" in [part.name for part in document.parts]
    assert "the e-mail is truncated or damaged; its last part may be incomplete" in document.notes


def test_at_most_10000_attachments_of_an_email_are_read_and_a_note_reports_the_limit() -> None:
    members = Members(EmailReader(ReaderOptions()), "attachment")
    assert members.within_limit(range(10_001)) == range(10_000)
    document = members.document(DocumentBuilder(), "mail", {})
    assert document.notes == ("only the first 10,000 of the 10,001 attachments are read",)


@pytest.mark.faults
@pytest.mark.long
def test_an_email_with_more_than_10000_attachments_is_read_up_to_the_limit(docs: Path, pool: ParsePool) -> None:
    head = b'From: a@example.org\nSubject: Many\nContent-Type: multipart/mixed; boundary="b"\n\n'
    one = b"--b\nContent-Type: text/plain\nContent-Disposition: attachment; filename=%d.md\n\nNote %d.\n"
    path = docs / "many.eml"
    path.write_bytes(head + b"".join(one % (number, number) for number in range(10_001)) + b"--b--\n")
    document = pool.read(ParseRequest(path))
    assert len(document.parts) == 10_000
    assert document.parts[-1].document.text == "Note 9999."
    assert document.notes == ("only the first 10,000 of the 10,001 attachments are read",)


@contextmanager
def _without_kreuzberg() -> Iterator[None]:
    """Hide the module kreuzberg from Python, as if the extra were not installed."""
    imported = sys.modules.get("kreuzberg")
    sys.modules["kreuzberg"] = cast("ModuleType", None)
    try:
        yield
    finally:
        del sys.modules["kreuzberg"]
        if imported is not None:
            sys.modules["kreuzberg"] = imported


def test_without_the_extra_every_file_is_skipped_with_the_command_that_installs_the_extra(
    tmp_path: Path, docs: Path, pool: ParsePool
) -> None:
    for suffix in (".eml", ".msg", ".zip", ".rtf", ".png"):
        (docs / f"file{suffix}").write_bytes(b"words")
    (docs / "good.md").write_bytes(GOOD)
    with _without_kreuzberg():
        report = run_ingest(tmp_path / "data", docs, parser=pool)
    reasons = {Path(path).name: reason for path, reason in _reasons(report).items()}
    for suffix in (".eml", ".msg", ".zip", ".rtf", ".png"):
        wanted = f"no reader for {suffix} without the extra formats; run: {install_command('formats')}"
        assert reasons[f"file{suffix}"] == wanted
    assert [file.path for file in report.files if file.status == "ok"] == ["good.md"]
