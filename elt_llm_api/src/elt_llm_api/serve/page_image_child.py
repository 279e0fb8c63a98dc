"""Render one page of a PDF: `python -m elt_llm_api.serve.page_image_child MEGABYTES SECONDS HASH PAGE < FILE > PNG`.

Uploaded files are not trusted. Before the process reads one, it limits its own memory and time, and gives up the right
to write files and to use the network. It renders a file only if its bytes have not changed since it was ingested.
The words in the environment variable QUOTE are marked where the page contains them.
"""

import ctypes
import hashlib
import os
import sys
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import pypdfium2

QUOTE_VARIABLE = "QUOTE"
CHANGED, DAMAGED = 3, 4
"""Exit codes. CHANGED: the sha256 of the file is not HASH. DAMAGED: the file or the page cannot be rendered."""
_MAX_PIXELS = 1600  # pixels of the longer side
_POINTS_PER_INCH, _PIXELS_PER_INCH = 72, 144
_MARK, _LINE, _LINE_PIXELS = (253, 230, 138), (180, 83, 9), 2
"""The colours (RGB) of marked words, and of the line below them, as in the user interface (ui/style.css)."""


def main() -> NoReturn:
    """Read the file from standard input, and write the page to standard output."""
    from elt_llm_ingest.sandbox.guards import (
        give_up_privileges,
        give_up_writing,
        leave_network,
        limit_computing,
        limit_resources,
    )

    megabytes, seconds, expected_hash, page = sys.argv[1:]
    import pypdfium2

    leave_network()
    give_up_privileges()
    give_up_writing(())
    limit_resources(int(megabytes))
    limit_computing(int(seconds))
    data = sys.stdin.buffer.read()
    if hashlib.sha256(data).hexdigest() != expected_hash:
        sys.exit(CHANGED)
    try:
        image = _render_page(data, int(page), os.environ.get(QUOTE_VARIABLE, ""))
    except (pypdfium2.PdfiumError, MemoryError, IndexError):
        sys.exit(DAMAGED)
    sys.stdout.buffer.write(image)
    sys.stdout.buffer.flush()
    sys.exit(0)


def _render_page(data: bytes, number: int, quote: str) -> bytes:
    """Return page `number`, from 1, as PNG, with the words of the quote marked if the page contains them."""
    import pypdfium2

    page = pypdfium2.PdfDocument(data)[number - 1]
    longest = max(page.get_width(), page.get_height(), 1.0)
    bitmap = page.render(scale=min(_PIXELS_PER_INCH / _POINTS_PER_INCH, _MAX_PIXELS / longest), rev_byteorder=True)
    width, height, stride, channels = bitmap.width, bitmap.height, bitmap.stride, bitmap.n_channels
    pixels = memoryview(bytearray(bitmap.buffer))
    rows = [pixels[row * stride : row * stride + width * channels] for row in range(height)]
    for box in _boxes_of_quote(page, quote, width, height):
        _mark_box(rows, box, channels)
    return encode_png(rows, width, channels)


def _boxes_of_quote(
    page: "pypdfium2.PdfPage", quote: str, width: int, height: int
) -> Iterator[tuple[int, int, int, int]]:
    """Yield (left, top, right, bottom), in pixels, of each line of the quote, if the page contains the quote."""
    from pypdfium2 import raw

    text = page.get_textpage()
    letters = "".join(letter for letter, _ in _letters(quote))
    written = list(_letters(chr(raw.FPDFText_GetUnicode(text, place)) for place in range(text.count_chars())))
    found = "".join(letter for letter, _ in written).find(letters) if letters else -1
    if found < 0:
        return
    first, last = written[found][1], written[found + len(letters) - 1][1]
    for number in range(text.count_rects(first, last - first + 1)):
        left, bottom, right, top = text.get_rect(number)
        x, y = zip(*(_pixel(page, width, height, *corner) for corner in ((left, top), (right, bottom))), strict=True)
        yield max(0, min(x)), max(0, min(y)), min(width, max(x) + 1), min(height, max(y) + 1)


def _letters(characters: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield each letter and digit in lower case with the index of its character.

    Spaces and hyphens are left out and ligatures are split, because PDF readers return them in different ways.
    """
    for place, character in enumerate(characters):
        for letter in unicodedata.normalize("NFKD", character).casefold():
            if letter.isalnum():
                yield letter, place


def _pixel(page: "pypdfium2.PdfPage", width: int, height: int, x: float, y: float) -> tuple[int, int]:
    """Return column and row of the pixel at a point of a page; the page may be cropped or rotated."""
    from pypdfium2 import raw

    column, row = ctypes.c_int(), ctypes.c_int()
    raw.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, column, row)
    return column.value, row.value


def _mark_box(rows: "list[memoryview]", box: tuple[int, int, int, int], channels: int) -> None:
    """Lay the colour of marked words over the pixels of a box, like a marker on paper, and draw a line below."""
    left, top, right, bottom = box
    for channel, (mark, line) in enumerate(zip(_MARK, _LINE, strict=True)):
        tints = bytes(value * mark // 255 for value in range(256))
        for row in rows[top:bottom]:
            part = row[left * channels + channel : right * channels : channels]
            part[:] = bytes(part).translate(tints)
        for row in rows[bottom : bottom + _LINE_PIXELS]:
            part = row[left * channels + channel : right * channels : channels]
            part[:] = bytes([line]) * len(part)


def encode_png(rows: "list[memoryview]", width: int, channels: int) -> bytes:
    """Encode rows of pixels as PNG (RFC 2083). `channels` are the bytes of a pixel: 1 (grey), 3 (RGB) or 4 (RGBA)."""
    colour = {1: 0, 3: 2, 4: 6}[channels]
    header = width.to_bytes(4, "big") + len(rows).to_bytes(4, "big") + bytes((8, colour, 0, 0, 0))
    content = zlib.compress(b"".join(b"\0" + row for row in rows), 6)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
        for kind, data in ((b"IHDR", header), (b"IDAT", content), (b"IEND", b""))
    )


if __name__ == "__main__":
    main()
