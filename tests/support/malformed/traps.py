"""Hostile files: decompression bombs, loops, false sizes and endless nesting. Each file is small."""

import functools
import zlib

from malformed.damage import ENTITY_BOMB, ENTITY_FILE
from malformed.seeds import (
    CATALOGUE,
    FONT,
    PAGE,
    RESOURCES,
    docx_members,
    drawio,
    one_page,
    packages_by_suffix,
    packed,
    pdf,
    stream,
)

_BOMB_PART = 30_000_000


@functools.cache
def traps() -> dict[str, bytes]:
    """Return every hostile file by its name."""
    return _pdf_traps() | _package_traps() | _text_traps() | _odd_files()


def _pdf_traps() -> dict[str, bytes]:
    form = b"/Type/XObject/Subtype/Form/BBox[0 0 612 792]" + RESOURCES
    draw = stream(b"/X Do")
    twice = zlib.compress(zlib.compress(bytes(_BOMB_PART * 10), 9), 9)
    pages = [b"<</Type/Pages/Kids[%s]/Count 1000000000>>" % b" ".join([b"3 0 R"] * 5000), PAGE]
    content = stream(b"BT /F 9 Tf (a) Tj ET " * 400_000)
    lzw = b"\x80" + b"\x0b\x60\x50\x22\x0c\x0c\x85\x01" * 200_000
    return {
        "draws-itself.pdf": pdf(one_page(draw, stream(b"/X Do /X Do BT /F 9 Tf (a) Tj ET", form))),
        "flate-bomb.pdf": pdf(one_page(stream(twice, b"/Filter[/FlateDecode/FlateDecode]", packed=False))),
        "lzw-bomb.pdf": pdf(one_page(stream(lzw, b"/Filter/LZWDecode", packed=False))),
        "many-texts.pdf": pdf(one_page(content)),
        "many-pages.pdf": pdf([CATALOGUE, *pages, draw, FONT]),
        "pages-in-a-ring.pdf": pdf([CATALOGUE, b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2>>"]),
        "own-parent.pdf": pdf([b"<</Type/Catalog/Pages 1 0 R/Kids[1 0 R]/Parent 1 0 R>>"]),
        "outline-in-a-ring.pdf": pdf(
            [
                b"<</Type/Catalog/Pages 2 0 R/Outlines 7 0 R>>",
                *one_page(draw)[1:],
                b"<</First 7 0 R/Last 7 0 R/Next 7 0 R/Title(a)/Count 9>>",
            ]
        ),
        "length-of-itself.pdf": pdf(one_page(b"<</Length 4 0 R>>\nstream\nBT\nendstream")),
        "deep-array.pdf": pdf(one_page(b"[" * 300_000)),
        "huge-page.pdf": pdf([*one_page(draw)[:2], PAGE.replace(b"612 792", b"1e30 1e30"), draw, FONT]),
        "billion-objects.pdf": pdf(one_page(draw)).replace(b"0 7\n", b"0 999999999\n"),
        "encrypted.pdf": pdf(one_page(draw), trailer=b"/Encrypt<</Filter/Standard/V 2/R 3/O(a)/U(b)/P -4>>/ID[(a)(a)]"),
    }


def _package_traps() -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    bomb, nested = bytes(_BOMB_PART), packed({f"{n}.zip": packed({"0": bytes(10**7)}) for n in range(16)})
    for suffix, members in packages_by_suffix().items():
        main = max((name for name in members if name.endswith((".xml", ".xhtml"))), key=lambda name: len(members[name]))
        whole = packed(members)
        changes: dict[str, dict[str, bytes]] = {
            "bomb-in-place": {main: bomb},
            "nested": {"inner.zip": nested},
            "laughs": {main: f"{ENTITY_BOMB}<x>&a9;</x>".encode()},
            "other-file": {main: f"{ENTITY_FILE}<x>&a9;</x>".encode()},
            "deep": {main: b"<a>" * 200_000},
            "wide": {main: b"<a " + b" ".join(b'b%d=""' % n for n in range(100_000)) + b"/>"},
        }
        found |= {f"{name}{suffix}": packed({**members, **changed}) for name, changed in changes.items()}
        found[f"lying-size{suffix}"] = _lying(whole)
        found[f"encrypted{suffix}"] = _flagged(whole)
        found[f"overlapping{suffix}"] = _overlapping(whole)
    found["bomb.docx"] = packed(docx_members() | {f"x{n}.xml": bomb for n in range(10)})
    found["many-entries.docx"] = _many_entries(docx_members())
    return found


def _text_traps() -> dict[str, bytes]:
    ring = '<mxCell id="a" parent="b" value="x" vertex="1"/><mxCell id="b" parent="a" value="y" vertex="1"/>'
    model = f"<mxGraphModel><root>{ring}</root></mxGraphModel>"
    return {
        "deep.html": b"<div>" * 30_000 + b"x",
        "deeper.html": b"<b><i><a>" * 400_000 + b"x",
        "attributes.html": b"<p " + b" ".join(b"a%d=b" % n for n in range(100_000)) + b">x",
        "tables.html": b"<table><tr><td>" * 3_000 + b"x",
        "spans.html": b"<table><tr><td colspan=999999999 rowspan=999999999>x</table>",
        "entities.html": b"&#x110000;&#xd800;&#0;&notanentity;" * 20_000,
        "ring.drawio": drawio(model),
        "laughs.drawio": f"{ENTITY_BOMB}<mxfile>&a9;</mxfile>".encode(),
        "other-file.xml": f"{ENTITY_FILE}<mxfile>&a9;</mxfile>".encode(),
        "laughs-inside.drawio": drawio(f"{ENTITY_BOMB}<mxGraphModel>&a9;</mxGraphModel>", deflated=True),
        "bomb.drawio": drawio(bytes(_BOMB_PART), deflated=True),
        "deep.drawio": drawio("<a>" * 100_000, deflated=True),
        "laughs.svg": f"{ENTITY_BOMB}<svg>&a9;</svg>".encode(),
        "brackets.md": b"[" * 200_000 + b"x",
        "quotes.md": b"> " * 50_000 + b"x",
        "fences.md": b"```\n" * 50_000,
        "aliases.md": b"---\na: &a [x]\nb: &b [*a,*a]\nc: [*b,*b,*b]\n---\nx",
        "one-row.csv": b"a;" * 500_000,
        "quote.csv": b'"' + b"a,b\n" * 100_000,
        "zeros.txt": bytes(2_000_000),
        "marks.txt": b"e" + "\u0301".encode() * 300_000,
    }


def _odd_files() -> dict[str, bytes]:
    suffixes = (".pdf", ".docx", ".pptx", ".xlsx", ".html", ".drawio", ".xls", ".odt", ".epub", ".csv", ".md", ".ods")
    empty = {f"empty{suffix}": b"" for suffix in suffixes}
    wrong = {f"a-picture{suffix}": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20 for suffix in suffixes}
    return (
        empty
        | wrong
        | {f"an-old-one{suffix}": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(3000) for suffix in suffixes}
    )


def _lying(data: bytes) -> bytes:
    """Return a zip package whose directory declares a size of ten bytes for every member."""
    place, changed = 0, bytearray(data)
    while (place := changed.find(b"PK\x01\x02", place)) >= 0:
        changed[place + 24 : place + 28] = (10).to_bytes(4, "little")
        place += 4
    return bytes(changed)


def _flagged(data: bytes) -> bytes:
    """Return a zip package whose directory declares every member as encrypted."""
    place, changed = 0, bytearray(data)
    while (place := changed.find(b"PK\x01\x02", place)) >= 0:
        changed[place + 8] |= 1
        place += 4
    return bytes(changed)


def _overlapping(data: bytes) -> bytes:
    """Return a zip package whose members all start at the same offset."""
    place, changed = 0, bytearray(data)
    while (place := changed.find(b"PK\x01\x02", place)) >= 0:
        changed[place + 42 : place + 46] = bytes(4)
        place += 4
    return bytes(changed)


def _many_entries(members: dict[str, bytes]) -> bytes:
    return packed(members | {f"{number}": b"" for number in range(66_000)})
