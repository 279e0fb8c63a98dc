"""Files of the extra `formats` are read with text, structure, attachments and members, or refused with a reason."""

import gzip
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers import FORMAT_SUFFIXES, ReaderOptions, create_reader, readable_suffixes
from elt_llm_ingest.readers.tesseract import installed_version
from file_formats.further import FURTHER, email_file, tar_file, zip_file
from file_formats.ole import message_storage, msg_file
from optional import needs

needs("kreuzberg")

TITLES = ("Fees", "Rules of the club", "Annual report 2026", "Memory & storage")
SENTENCE = "The registration fee is 5 pounds for every senior player."


def _read(path: Path, data: bytes, options: ReaderOptions | None = None) -> ParsedDocument:
    path.write_bytes(data)
    reader = create_reader(path, options)
    assert reader is not None
    return reader.read(path)


def _whole_text(document: ParsedDocument) -> str:
    return "\n".join([document.text, *(part.document.text for part in document.parts)])


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("suffix", sorted(FURTHER))
def test_the_test_sentence_in_a_file_of_each_format_is_read(tmp_path: Path, suffix: str, title: str) -> None:
    path = tmp_path / (f"file.md{suffix}" if suffix in (".gz", ".bz2", ".xz") else f"file{suffix}")
    data = FURTHER[suffix](title.replace("&", "and"), SENTENCE)
    document = _read(path, data)
    assert SENTENCE in " ".join(_whole_text(document).split())
    assert document.title
    assert all(document.text[block.start : block.end].strip() for block in document.blocks)
    assert _read(path, data) == document


@pytest.mark.parametrize("suffix", sorted(FORMAT_SUFFIXES))
def test_every_file_suffix_that_the_formats_extra_supports_has_a_reader(suffix: str) -> None:
    reader = create_reader(Path(f"file{suffix}"))
    assert reader is not None
    assert reader.identity
    assert suffix in readable_suffixes()


@pytest.mark.parametrize("suffix", [".tex", ".typ", ".org", ".ipynb", ".dbk", ".fb2"])
def test_headings_in_further_formats_become_sections(tmp_path: Path, suffix: str) -> None:
    document = _read(tmp_path / f"file{suffix}", FURTHER[suffix]("Fees", SENTENCE))
    assert "Fees" in [section.title for section in document.sections]


def test_an_xml_file_whose_data_are_mainly_in_attributes_is_read_with_a_note(tmp_path: Path) -> None:
    names = ("Amsterdam", "Berlin", "Copenhagen", "Dublin", "Essen")
    data = "".join(f'<town name="{name}" country="{name[::-1]}"/>' for name in names)
    document = _read(tmp_path / "towns.xml", f"<towns>{data}</towns>".encode())
    assert document.notes == ("only 2 of the 14 different words of the file are in the text",)


def test_an_email_has_sender_date_subject_and_thread(tmp_path: Path) -> None:
    document = _read(tmp_path / "mail.eml", email_file("New fees", SENTENCE))
    assert document.title == "New fees"
    assert document.metadata == {
        "kind": "email",
        "authors": "Ann Example <ann@example.org>",
        "sender": "Ann Example <ann@example.org>",
        "receivers": "bob@example.org",
        "subject": "New fees",
        "sent": "2026-03-02T10:00:00+00:00",
        "year": 2026,
        "message_id": "<second@example.org>",
        "thread": "<first@example.org>",
    }
    assert document.text.startswith("New fees\n\nFrom: Ann Example <ann@example.org>\nTo: bob@example.org\nDate: ")


def test_the_html_body_of_an_email_is_read_like_a_web_page(tmp_path: Path) -> None:
    assert SENTENCE in _read(tmp_path / "mail.eml", email_file("Fees", SENTENCE, html=True)).text


def test_attachments_of_an_email_become_documents_and_attachments_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    attachments = {
        "fees.md": b"# List\n\nJuniors pay 3 pounds.\n",
        "tool.exe": b"MZ",
        "old.zip": zip_file({"a.md": b"A"}),
    }
    document = _read(tmp_path / "mail.eml", email_file("Fees", SENTENCE, attachments))
    [part] = document.parts
    assert (part.name, part.group, part.document.title) == ("fees.md", "attachment", "List")
    assert part.document.metadata["attachment"] == "fees.md"
    assert "Juniors pay 3 pounds." in part.document.text
    assert document.notes == ("tool.exe: no reader for .exe", "old.zip: an archive inside a file is not read")


def test_members_of_an_archive_become_documents_and_damaged_members_are_named(tmp_path: Path) -> None:
    members = {"a/one.md": b"# One\n\nWords.\n", "b/one.md": b"# Two\n\nWords.\n", "broken.docx": b"no package"}
    document = _read(tmp_path / "files.zip", zip_file(members))
    assert [part.name for part in document.parts] == ["a/one.md", "b/one.md"]
    assert document.text == "- a/one.md\n- b/one.md\n- broken.docx"
    assert [note.split(":")[0] for note in document.notes] == ["broken.docx"]


def test_each_email_of_a_mailbox_file_becomes_a_document(tmp_path: Path) -> None:
    mails = [email_file("Fees", f"{SENTENCE}\n\n>From here on it is free.\n", {}), email_file("Keys", "Two keys.", {})]
    document = _read(tmp_path / "mails.mbox", b"\n".join(b"From me Fri Nov 15 2024\n" + mail for mail in mails))
    assert [(part.name, part.document.title) for part in document.parts] == [
        ("mail-1.eml", "Fees"),
        ("mail-2.eml", "Keys"),
    ]
    assert "\nFrom here on it is free." in document.parts[0].document.text


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("file.mbox", b"plain words", 'is not a .mbox archive, or is damaged: it does not start with "From "'),
        ("file.doc", b"plain words", "is not a zip package"),
        ("file.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 damaged", "cannot be converted: it is damaged"),
        ("file.msg", b"plain words", "is not an Outlook message"),
        ("file.rtf", b"plain words", "is not an RTF file"),
        ("file.eml", b"plain words without any header", "is not an e-mail"),
        ("file.json", b"{not json", "cannot be converted"),
        ("file.zip", b"plain words", "is not a zip package"),
        ("file.tgz", gzip.compress(bytes(5_000_000)), "decompresses 4,8.* bytes to more than the limit of 1,000,000"),
        ("file.tar", b"plain words", "is not a .tar archive, or is damaged"),
        ("file.tar", tar_file({"../../etc/passwd": b"x"}), "a member whose path leads out of its folder"),
    ],
)
def test_a_file_with_a_wrong_suffix_or_unlimited_decompressed_size_is_refused_with_a_reason(
    tmp_path: Path, name: str, data: bytes, reason: str
) -> None:
    with pytest.raises(UnreadableDocument, match=reason):
        _read(tmp_path / name, data)


def test_without_ocr_a_picture_gives_an_empty_document_with_a_note(tmp_path: Path) -> None:
    document = _read(tmp_path / "scan.png", b"\x89PNG")
    assert (document.text, document.notes) == (
        "",
        ("is a picture; for OCR, set ingest.ocr: true and install tesseract-ocr",),
    )


def test_a_damaged_picture_is_refused_if_ocr_is_switched_on(tmp_path: Path) -> None:
    if shutil.which("tesseract") is None:
        pytest.skip("needs tesseract: apt-get install tesseract-ocr")
    options = ReaderOptions(ocr=True, ocr_engine=installed_version())
    with pytest.raises(UnreadableDocument, match="cannot be read as a picture"):
        _read(tmp_path / "scan.png", b"\x89PNG damaged", options)


def _thread(folder: Path, headers: str) -> object:
    mail = f"From: a@example.org\nSubject: Fees\n{headers}\n\nWords.\n".encode()
    return _read(folder / "mail.eml", mail).metadata["thread"]


@pytest.mark.parametrize(
    "headers",
    [
        "Message-ID: <first@example.org>",
        "Message-ID: <second@example.org>\nIn-Reply-To: <first@example.org>",
        "Message-ID: <third@example.org>\nIn-Reply-To: <second@example.org>\n"
        "References: <first@example.org>\n <second@example.org>",
    ],
)
def test_the_thread_of_all_emails_of_a_conversation_is_the_id_of_the_first_message(
    tmp_path: Path, headers: str
) -> None:
    assert _thread(tmp_path, headers) == "<first@example.org>"


def test_the_thread_of_an_email_without_message_ids_is_its_topic(tmp_path: Path) -> None:
    assert _thread(tmp_path, "Thread-Topic: Fees of 2026") == "Fees of 2026"


def test_an_outlook_message_has_sender_date_subject_and_thread(tmp_path: Path) -> None:
    document = _read(tmp_path / "mail.msg", msg_file("New fees", SENTENCE, values={0x1039: "<first@a> <other@a>"}))
    assert document.title == "New fees"
    assert document.metadata == {
        "kind": "email",
        "authors": "Ann Example <ann@example.org>",
        "sender": "Ann Example <ann@example.org>",
        "receivers": "bob@example.org",
        "subject": "New fees",
        "sent": "2026-03-02T10:00:00+00:00",
        "year": 2026,
        "thread": "<first@a>",
    }


def test_the_mail_headers_of_an_outlook_message_take_precedence_over_its_properties(tmp_path: Path) -> None:
    headers = "From: =?utf-8?q?Ann_=C3=96?= <ann@club.example>\r\nMessage-ID: <second@a>\r\nReferences: <first@a>\r\n"
    document = _read(tmp_path / "mail.msg", msg_file("Fees", SENTENCE, headers=headers))
    assert document.metadata["sender"] == "Ann \u00d6 <ann@club.example>"
    assert (document.metadata["message_id"], document.metadata["thread"]) == ("<second@a>", "<first@a>")


def test_attachments_of_an_outlook_message_become_documents(tmp_path: Path) -> None:
    attachments = {"fees.md": b"# List\n\nJuniors pay 3 pounds.\n", "long.txt": b"word " * 2000, "tool.exe": b"MZ"}
    document = _read(tmp_path / "mail.msg", msg_file("Fees", SENTENCE, attachments))
    assert [part.name for part in document.parts] == ["fees.md", "long.txt"]
    assert document.parts[0].document.title == "List"
    assert document.notes == ("tool.exe: no reader for .exe",)


def test_an_outlook_message_inside_an_outlook_message_becomes_a_document(tmp_path: Path) -> None:
    inner = message_storage("Old fees", "It was 4 pounds.", {"deep.md": b"Deep."}, inside=True)
    document = _read(tmp_path / "mail.msg", msg_file("Fees", SENTENCE, messages={"old": inner}))
    [part] = document.parts
    assert (part.name, part.document.title, part.document.metadata["sent"]) == (
        "old.msg",
        "Old fees",
        "2026-03-02T10:00:00+00:00",
    )
    assert "It was 4 pounds." in part.document.text
    assert document.notes == ("old.msg: deep.md: the attachment of an attachment is not read",)


def test_struck_out_text_in_the_html_body_of_an_email_is_not_read_and_noted(tmp_path: Path) -> None:
    document = _read(tmp_path / "mail.eml", email_file("Fees", f"<del>Gone.</del>{SENTENCE}", html=True))
    assert SENTENCE in document.text
    assert "Gone" not in document.text
    assert "holds struck-out text, which is not read" in document.notes


def test_the_html_body_of_an_outlook_message_is_read_like_a_web_page(tmp_path: Path) -> None:
    document = _read(tmp_path / "mail.msg", msg_file("Fees", "", values={0x1013: f"<p>{SENTENCE}</p>".encode()}))
    assert SENTENCE in document.text


def test_the_attachments_of_emails_inside_an_archive_become_documents(tmp_path: Path) -> None:
    mails = {"mails/a.eml": email_file("Fees", SENTENCE, {"fees.md": b"# List\n"}), "b.msg": msg_file("Two", "Words.")}
    document = _read(tmp_path / "mails.zip", zip_file(mails))
    assert [part.name for part in document.parts] == ["mails/a.eml", "mails/a.eml/fees.md", "b.msg"]


@pytest.mark.parametrize("suffix", [".eml", ".msg", ".zip"])
def test_archives_and_emails_are_read_again_after_the_ocr_settings_or_the_kreuzberg_version_change(suffix: str) -> None:
    def identity(options: ReaderOptions) -> str:
        reader = create_reader(Path(f"file{suffix}"), options)
        assert reader is not None
        return reader.identity

    plain = identity(ReaderOptions())
    found = {plain} | {
        identity(ReaderOptions(ocr=True, ocr_engine=engine, ocr_languages=languages))
        for engine in ("", "tesseract 5.3.0")
        for languages in ("eng", "eng+deu")
    }
    assert len(found) == 5
    assert all(f"-{version('kreuzberg')}-" in name for name in found)


def test_raised_numbers_after_a_number_of_an_rtf_file_are_exponents(tmp_path: Path) -> None:
    data = (
        rb"{\rtf1\ansi 2{\super 32}, 10\super 6\nosupersub , 5\up6\fs16 4\up0 , "
        rb"10{\super \u8722 ?3}, 10{\super \'963}.\par "
        rb"The 1{\super st} of May, km{\super 2}, 2019{\super\chftn{\*\footnote\pard 3 years.}}\par 7\par {\super 1} A}"
    )
    text = _read(tmp_path / "raised.rtf", data).text
    assert text.split("\n\n")[0] == "2^32, 10^6, 5^4, 10^\u22123, 10^\u20133."
    assert "1st of May, km2, 2019[^1]" in text
    assert text.rstrip().endswith("\n\n7\n\n1 A")


def test_headings_and_rows_on_one_line_of_a_latex_file_are_read(tmp_path: Path) -> None:
    data = rb"""\begin{document}\maketitle\section{Growth} Kelp grows.
\begin{tabular}{lp{3cm}}Region & Tonnes \\ Brittany & 4210 \\\end{tabular} The law limits it.\end{document}"""
    document = _read(tmp_path / "compact.tex", data)
    blocks = ("# Growth", "Kelp grows.", "Region | Tonnes", "Brittany | 4210", "The law limits it.")
    assert tuple(line.strip("| ") for line in document.text.splitlines() if line.strip("| -")) == blocks


def test_a_table_of_a_latex_file_without_its_end_is_noted_and_the_text_below_is_read(tmp_path: Path) -> None:
    data = rb"\begin{document}\section{A} One. \begin{tabular}{l} a & 5 \\ Two. \section{B} Three."
    document = _read(tmp_path / "open.tex", data)
    assert all(word in document.text for word in ("One.", "5", "Two.", "# B", "Three."))
    assert document.notes == ("is damaged: \\begin{tabular} without its end, so it is read as plain text",)


def test_the_macros_of_a_latex_file_are_expanded_and_a_note_names_those_with_arguments(tmp_path: Path) -> None:
    data = r"""\documentclass{article}
\newcommand{\fee}{\pounds 40} \newcommand*\club{The \textbf{Club}\xspace} \def\town{%
Bern} \newcommand{\rule}[1]{pay #1 pounds} \newcommand{\bold}[1]{\textbf{#1}} \def\loop{\loop\loop}
\renewcommand{\section}{odd} % \newcommand{\fee}{7}
\begin{document}
\section{Fees}
\club{} of \town\ asks \fee. \renewcommand{\fee}{50}Later \fee, \feet, \bold{now}: \rule{30}.
\begin{verbatim}
\fee
\end{verbatim}
\end{document}
"""
    document = _read(tmp_path / "macros.tex", data.encode())
    words = " ".join(document.text.split())
    assert words.startswith("# Fees The **Club** of Bern asks 40. Later 50, , now: 30. ")
    assert words.endswith("\\fee ```")
    assert "uses macros whose text is not read: \\rule" in document.notes
    endless = data.replace("Later", r"\loop").encode()
    assert "\\loop, \\rule" in " ".join(_read(tmp_path / "endless.tex", endless).notes)
