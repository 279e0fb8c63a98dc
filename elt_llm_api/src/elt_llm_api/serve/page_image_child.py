"""Render one page of a PDF: `python -m elt_llm_api.serve.page_image_child MEGABYTES SECONDS HASH PAGE < FILE > PNG`.

Uploaded files are not trusted. Before the process reads one, it limits its own memory and time, and gives up the right
to write files and to use the network. It renders a file only if its bytes have not changed since it was ingested.
"""

import hashlib
import sys
import zlib
from typing import NoReturn

CHANGED, DAMAGED = 3, 4
"""Exit codes. CHANGED: the sha256 of the file is not HASH. DAMAGED: the file or the page cannot be rendered."""
_MAX_PIXELS = 1600  # pixels of the longer side
_POINTS_PER_INCH, _PIXELS_PER_INCH = 72, 144


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
        image = _render_page(data, int(page))
    except (pypdfium2.PdfiumError, MemoryError, IndexError):
        sys.exit(DAMAGED)
    sys.stdout.buffer.write(image)
    sys.stdout.buffer.flush()
    sys.exit(0)


def _render_page(data: bytes, number: int) -> bytes:
    """Return page `number`, from 1, as PNG."""
    import pypdfium2

    page = pypdfium2.PdfDocument(data)[number - 1]
    longest = max(page.get_width(), page.get_height(), 1.0)
    bitmap = page.render(scale=min(_PIXELS_PER_INCH / _POINTS_PER_INCH, _MAX_PIXELS / longest), rev_byteorder=True)
    width, height, stride, channels = bitmap.width, bitmap.height, bitmap.stride, bitmap.n_channels
    pixels = memoryview(bytes(bitmap.buffer))
    return encode_png(
        [pixels[row * stride : row * stride + width * channels] for row in range(height)], width, channels
    )


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
