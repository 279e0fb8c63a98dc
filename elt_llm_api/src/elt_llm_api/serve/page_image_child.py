"""Draws one page of a PDF: `python -m elt_llm_api.serve.page_image_child MEGABYTES SECONDS HASH PAGE < FILE > PNG`.

Files are made by others: before this looks at one, it gives up memory, time, writing and the network. It draws only a
file that has the bytes that were read once.
"""

import hashlib
import sys
import zlib
from typing import NoReturn

CHANGED, DAMAGED = 3, 4
"""Exit codes: the file has other bytes than HASH says; it, or the page, cannot be drawn."""
_MOST_DOTS = 1600  # the longer side of the picture
_POINTS_PER_INCH, _DOTS_PER_INCH = 72, 144


def main() -> NoReturn:
    """Read the file on standard input, and write its page to standard output."""
    from elt_llm_ingest.sandbox.guards import give_up_privileges, leave_network, limit_computing, limit_resources
    from elt_llm_ingest.sandbox.landlock import give_up_writing

    megabytes, seconds, wanted, page = sys.argv[1:]
    import pypdfium2

    leave_network()
    give_up_privileges()
    give_up_writing(())
    limit_resources(int(megabytes))
    limit_computing(int(seconds))
    data = sys.stdin.buffer.read()
    if hashlib.sha256(data).hexdigest() != wanted:
        sys.exit(CHANGED)
    try:
        picture = _drawn(data, int(page))
    except (pypdfium2.PdfiumError, MemoryError, IndexError):
        sys.exit(DAMAGED)
    sys.stdout.buffer.write(picture)
    sys.stdout.buffer.flush()
    sys.exit(0)


def _drawn(data: bytes, number: int) -> bytes:
    """Page `number`, from 1, as PNG."""
    import pypdfium2

    page = pypdfium2.PdfDocument(data)[number - 1]
    longest = max(page.get_width(), page.get_height(), 1.0)
    bitmap = page.render(scale=min(_DOTS_PER_INCH / _POINTS_PER_INCH, _MOST_DOTS / longest), rev_byteorder=True)
    width, height, stride, channels = bitmap.width, bitmap.height, bitmap.stride, bitmap.n_channels
    dots = memoryview(bytes(bitmap.buffer))
    return png([dots[row * stride : row * stride + width * channels] for row in range(height)], width, channels)


def png(rows: "list[memoryview]", width: int, channels: int) -> bytes:
    """A picture of 1 (grey), 3 (red, green, blue) or 4 (with opacity) bytes a dot, row by row, as PNG (RFC 2083)."""
    colour = {1: 0, 3: 2, 4: 6}[channels]
    header = width.to_bytes(4, "big") + len(rows).to_bytes(4, "big") + bytes((8, colour, 0, 0, 0))
    content = zlib.compress(b"".join(b"\0" + row for row in rows), 6)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
        for kind, data in ((b"IHDR", header), (b"IDAT", content), (b"IEND", b""))
    )


if __name__ == "__main__":
    main()
