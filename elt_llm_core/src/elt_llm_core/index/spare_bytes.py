"""The bytes that a graph's files have in reserve: Chroma writes there whatever the process had in memory.

`data_level0.bin` has room for more vectors than there are, and that room is saved as it was found, which may be text
of any document that was read. It is cleared before a generation's files are hashed; the graph itself is untouched.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

_HEADER = struct.Struct("<iQQQQ")  # format, offset, room for so many elements, elements, bytes of each
_AT_ONCE = 1 << 20


def clear_spare_bytes(folder: Path) -> None:
    """Write zeros over what is in reserve in the files of a closed Chroma directory."""
    for path, start in _spare(folder):
        size = path.stat().st_size
        with path.open("r+b") as stream:
            stream.seek(start)
            for place in range(start, size, _AT_ONCE):
                stream.write(bytes(min(_AT_ONCE, size - place)))


def has_stray_bytes(folder: Path) -> bool:
    """Whether anything stands in what is in reserve, as in generations of before it was cleared."""
    for path, start in _spare(folder):
        with path.open("rb") as stream:
            stream.seek(start)
            while piece := stream.read(_AT_ONCE):
                if piece.strip(b"\0"):
                    return True
    return False


def _spare(folder: Path) -> Iterator[tuple[Path, int]]:
    """Files with bytes in reserve, and where these begin; none where the files are not as they are known."""
    for header in sorted(folder.glob("*/header.bin")):
        content = header.read_bytes()
        if len(content) < _HEADER.size:
            continue
        _, _, room, elements, size = _HEADER.unpack_from(content)
        data = header.with_name("data_level0.bin")
        if elements <= room and data.is_file() and data.stat().st_size == room * size:
            yield data, elements * size
        lengths = header.with_name("length.bin")
        if elements <= room and lengths.is_file() and lengths.stat().st_size == room * 4:
            yield lengths, elements * 4
