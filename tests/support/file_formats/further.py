"""Files of the formats that the extra `formats` reads, each with a title and a sentence in its own notation."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from email.message import EmailMessage

from file_formats.ole import doc_file, msg_file, ppt_file

Maker = Callable[[str, str], bytes]


def _lines(template: str) -> Maker:
    """Return a maker that puts title and sentence into a text. `@T` stands for the title and `@S` for the sentence."""
    return lambda title, sentence: template.replace("@T", title).replace("@S", sentence).encode()


def _notebook(title: str, sentence: str) -> bytes:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": [f"# {title}\n", sentence]},
        {"cell_type": "code", "metadata": {}, "execution_count": 1, "outputs": [], "source": ["print(7)"]},
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def email_file(title: str, sentence: str, attachments: dict[str, bytes] | None = None, *, html: bool = False) -> bytes:
    """Return an .eml file with subject, body and attachments, which answers the message <first@example.org>."""
    message = EmailMessage()
    message["From"] = "Ann Example <ann@example.org>"
    message["To"] = "bob@example.org"
    message["Subject"] = title
    message["Date"] = "Mon, 02 Mar 2026 10:00:00 +0000"
    message["Message-ID"] = "<second@example.org>"
    message["In-Reply-To"] = "<first@example.org>"
    message["References"] = "<first@example.org> <other@example.org>"
    message.set_content(f"<p>{sentence}</p>" if html else sentence, subtype="html" if html else "plain")
    for name, data in (attachments or {}).items():
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return bytes(message)


def zip_file(members: dict[str, bytes]) -> bytes:
    """Return a .zip file with these members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def tar_file(members: dict[str, bytes], *, packed: bool = False) -> bytes:
    """Return a .tar file with these members, compressed if `packed`."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(stream.getvalue(), mtime=0) if packed else stream.getvalue()


def _page(title: str, sentence: str) -> bytes:
    return f"# {title}\n\n{sentence}\n".encode()


FURTHER: dict[str, Maker] = {
    ".rtf": _lines("{\\rtf1\\ansi {\\b @T}\\par @S\\par}"),
    ".json": lambda title, sentence: json.dumps({"title": title, "items": [{"text": sentence}]}).encode(),
    ".jsonl": lambda title, sentence: f"{json.dumps({'title': title})}\n{json.dumps({'text': sentence})}\n".encode(),
    ".yaml": _lines("title: @T\nitems:\n  - text: @S\n"),
    ".yml": _lines("title: @T\ntext: @S\n"),
    ".toml": _lines('title = "@T"\ntext = "@S"\n'),
    ".xml": _lines('<?xml version="1.0"?><book><title>@T</title><p>@S</p></book>'),
    ".svg": _lines('<svg xmlns="http://www.w3.org/2000/svg"><title>@T</title><text>@S</text></svg>'),
    ".ipynb": _notebook,
    ".tex": _lines(
        "\\documentclass{article}\n\\begin{document}\n\\section{@T}\n@S\n\n"
        "\\begin{itemize}\n\\item one\n\\end{itemize}\n\\end{document}\n"
    ),
    ".typ": _lines("= @T\n@S\n\n- one\n- two\n"),
    ".org": _lines("* @T\n@S\n** Table\n| a | b |\n| c | d |\n"),
    ".bib": _lines("@article{key, title={@T}, author={A. Author}, year={2020}, note={@S}}\n"),
    ".fb2": _lines(
        '<?xml version="1.0"?><FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"><description><title-info>'
        "<book-title>@T</book-title></title-info></description><body><section><title><p>@T</p></title><p>@S</p>"
        "</section></body></FictionBook>"
    ),
    ".dbk": _lines(
        '<?xml version="1.0"?><article xmlns="http://docbook.org/ns/docbook" version="5.0"><title>@T</title>'
        "<section><title>Part</title><para>@S</para></section></article>"
    ),
    ".opml": _lines(
        '<?xml version="1.0"?><opml version="2.0"><head><title>@T</title></head><body><outline text="@T">'
        '<outline text="@S"/></outline></body></opml>'
    ),
    ".eml": email_file,
    ".zip": lambda title, sentence: zip_file({"notes/page.md": _page(title, sentence)}),
    ".tar": lambda title, sentence: tar_file({"page.md": _page(title, sentence)}),
    ".tgz": lambda title, sentence: tar_file({"page.md": _page(title, sentence)}, packed=True),
    ".gz": lambda title, sentence: gzip.compress(_page(title, sentence), mtime=0),
}


def picture(suffix: str, title: str, sentence: str) -> bytes:
    """Return a picture of black words on white paper, in the format of the suffix."""
    from PIL import Image, ImageDraw, ImageFont

    canvas = Image.new("RGB", (1500, 260), "white")
    draw = ImageDraw.Draw(canvas)
    draw.text((40, 40), title, "black", ImageFont.load_default(48))
    draw.text((40, 140), sentence, "black", ImageFont.load_default(40))
    stream = io.BytesIO()
    canvas.save(stream, {".jpg": "JPEG", ".tif": "TIFF"}.get(suffix, suffix[1:].upper()))
    return stream.getvalue()


PICTURE_SUFFIXES = (".png", ".jpg", ".tif", ".bmp", ".gif", ".webp")
FURTHER |= {
    ".doc": doc_file,
    ".ppt": ppt_file,
    ".msg": msg_file,
    ".djot": _page,
    ".jats": _lines(
        '<?xml version="1.0"?><article><front><article-meta><title-group><article-title>@T</article-title>'
        "</title-group></article-meta></front><body><sec><title>Part</title><p>@S</p></sec></body></article>"
    ),
    ".bz2": lambda title, sentence: bz2.compress(_page(title, sentence)),
    ".mbox": lambda title, sentence: b"From me Fri Nov 15 2024\n" + email_file(title, sentence, {}),
    ".xz": lambda title, sentence: lzma.compress(_page(title, sentence)),
    ".tbz2": lambda title, sentence: bz2.compress(tar_file({"page.md": _page(title, sentence)})),
    ".txz": lambda title, sentence: lzma.compress(tar_file({"page.md": _page(title, sentence)})),
}
"""A maker for each suffix of the extra except pictures: from a title and a sentence to the bytes of a file."""
