"""Write OLE containers, and the Word 97 files, PowerPoint 97 files and Outlook messages that consist of one."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Storage = Mapping[str, "bytes | Storage"]

_SECTOR, _MINI_SECTOR, _CUTOFF = 512, 64, 4096
_END, _FREE, _TABLE, _NONE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 0xFFFFFFFF


@dataclass
class _Entry:
    name: str
    kind: int  # 1: storage, 2: stream, 5: root
    data: bytes = b""
    left: int = _NONE
    right: int = _NONE
    child: int = _NONE
    start: int = _END
    size: int = 0


def ole_file(content: Storage) -> bytes:
    """Return an OLE container with these streams (bytes) and storages (mappings)."""
    entries = [_Entry("Root Entry", 5)]
    entries[0].child = _add_children(entries, content)
    sectors: list[bytes] = []
    chains: list[int] = []
    mini, mini_chains = b"", list[int]()
    for entry in entries[1:]:
        if entry.kind != 2 or not entry.data:
            continue
        entry.size = len(entry.data)
        if entry.size < _CUTOFF:
            count = -(-entry.size // _MINI_SECTOR)
            entry.start = len(mini_chains)
            mini += entry.data.ljust(count * _MINI_SECTOR, b"\0")
            mini_chains += [*range(entry.start + 1, entry.start + count), _END]
        else:
            entry.start = _append(sectors, chains, entry.data)
    if mini:
        entries[0].start, entries[0].size = _append(sectors, chains, mini), len(mini)
    mini_table = struct.pack(f"<{len(mini_chains)}I", *mini_chains)
    mini_start = _append(sectors, chains, mini_table, b"\xff") if mini_table else _END
    directory = _append(sectors, chains, b"".join(map(_packed, entries)))
    return _with_header(sectors, chains, directory, mini_start, -(-len(mini_table) // _SECTOR))


def _add_children(entries: list[_Entry], content: Storage) -> int:
    """Add the directory entries of a storage. Return the index of the entry at the root of their search tree."""
    indexes = []
    for name, value in sorted(content.items(), key=lambda item: (len(item[0]), item[0].upper())):
        indexes.append(len(entries))
        if isinstance(value, bytes):
            entries.append(_Entry(name, 2, value))
        else:
            entries.append(entry := _Entry(name, 1))
            entry.child = _add_children(entries, value)
    return _search_tree(entries, indexes)


def _search_tree(entries: list[_Entry], indexes: Sequence[int]) -> int:
    if not indexes:
        return _NONE
    middle = len(indexes) // 2
    entry = entries[indexes[middle]]
    entry.left = _search_tree(entries, indexes[:middle])
    entry.right = _search_tree(entries, indexes[middle + 1 :])
    return indexes[middle]


def _append(sectors: list[bytes], chains: list[int], data: bytes, filler: bytes = b"\0") -> int:
    start, count = len(sectors), -(-len(data) // _SECTOR)
    padded = data.ljust(count * _SECTOR, filler)
    sectors.extend(padded[at : at + _SECTOR] for at in range(0, len(padded), _SECTOR))
    chains.extend([*range(start + 1, start + count), _END])
    return start


def _packed(entry: _Entry) -> bytes:
    name = entry.name.encode("utf-16-le") + b"\0\0"
    links = struct.pack("<HBBIII", len(name), entry.kind, 1, entry.left, entry.right, entry.child)
    return (
        name.ljust(64, b"\0")
        + links
        + bytes(36)
        + struct.pack("<IQ", entry.start if entry.kind != 1 else 0, entry.size)
    )


def _with_header(sectors: list[bytes], chains: list[int], directory: int, mini_start: int, minis: int) -> bytes:
    count = 1
    while count * (_SECTOR // 4) < len(chains) + count:
        count += 1
    assert count <= 109, "the writer supports only tables that fit into the header"
    first = len(sectors)
    table = [*chains, *[_TABLE] * count]
    table += [_FREE] * (count * (_SECTOR // 4) - len(table))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<IIIIIIIII", 0, count, directory, 0, _CUTOFF, mini_start, minis, _END, 0)
    header += struct.pack("<109I", *range(first, first + count), *[_FREE] * (109 - count))
    return header + b"".join(sectors) + struct.pack(f"<{len(table)}I", *table)


def doc_file(title: str, sentence: str) -> bytes:
    """Return a Word 97 file (.doc) with two paragraphs, its text stored in one piece."""
    text = f"{title}\r{sentence}\r".encode("cp1252")
    begin = 0x400
    positions = struct.pack("<II", 0, len(text))
    pieces = positions + struct.pack("<HIH", 0, (begin * 2) | 0x40000000, 0)
    table = b"\x02" + struct.pack("<I", len(pieces)) + pieces
    block = bytearray(begin)
    struct.pack_into("<HHHHHH", block, 0, 0xA5EC, 0x00C1, 0, 0x0409, 0, 0x0200)  # the table stream is "1Table"
    struct.pack_into("<II", block, 0x18, begin, begin + len(text))
    struct.pack_into("<H", block, 0x20, 14)
    struct.pack_into("<H", block, 0x3E, 22)
    struct.pack_into("<I", block, 0x4C, len(text))
    struct.pack_into("<H", block, 0x98, 93)
    struct.pack_into("<II", block, 0x1A2, 0, len(table))
    document = (bytes(block) + text).ljust(_CUTOFF, b"\0")
    return ole_file({"WordDocument": document, "1Table": table})


def _record(kind: int, content: bytes, *, container: bool = False, instance: int = 0) -> bytes:
    return struct.pack("<HHI", 0xF if container else instance << 4, kind, len(content)) + content


def ppt_file(title: str, sentence: str) -> bytes:
    """Return a PowerPoint 97 file (.ppt) with one slide: its title and one paragraph."""
    texts = b""
    for kind, text in ((0, title), (1, sentence)):
        texts += _record(3999, struct.pack("<I", kind)) + _record(4000, text.encode("utf-16-le"))
    place = _record(1011, struct.pack("<IIIII", 2, 0, 2, 256, 0))
    document = _record(1000, _record(4080, place + texts, container=True), container=True)
    slide = _record(1006, b"", container=True)
    user = _record(4086, struct.pack("<IIIHHBBHI", 20, 0xE391C05F, len(document), 0, 1012, 3, 0, 0, 8))
    return ole_file({"PowerPoint Document": document + slide, "Current User": user})


_UNICODE, _BINARY = "001F", "0102"


def _properties(
    values: Mapping[int, str | bytes], head: int, times: Mapping[int, int] | None = None
) -> dict[str, "bytes | Storage"]:
    streams: dict[str, bytes | Storage] = {}
    rows = b""
    for number, value in values.items():
        kind = _UNICODE if isinstance(value, str) else _BINARY
        data = value.encode("utf-16-le") if isinstance(value, str) else value
        streams[f"__substg1.0_{number:04X}{kind}"] = data
        rows += struct.pack("<HHIII", int(kind, 16), number, 6, len(data) + (2 if isinstance(value, str) else 0), 0)
    for number, time in (times or {}).items():
        rows += struct.pack("<HHIQ", 0x40, number, 6, time)
    if head == 8:  # an attachment: 1 means that its data is stored by value
        rows += struct.pack("<HHIII", 3, 0x3705, 6, 1, 0)
    streams["__properties_version1.0"] = bytes(head) + rows
    return streams


def message_storage(
    title: str,
    sentence: str,
    attachments: Mapping[str, bytes] | None = None,
    values: Mapping[int, str | bytes] | None = None,
    *,
    inside: bool = False,
) -> dict[str, "bytes | Storage"]:
    """Return the streams of an Outlook message: with `inside`, as an attachment of a message, else as a file."""
    properties: dict[int, str | bytes] = {
        0x001A: "IPM.Note",
        0x0037: title,
        0x0C1A: "Ann Example",
        0x0C1F: "ann@example.org",
        0x0E04: "bob@example.org",
    }
    properties |= {0x1000: sentence} if sentence else {}
    # 2 March 2026, 10:00 UTC, in units of 100 ns since 1601.
    streams = _properties({**properties, **(values or {})}, 24 if inside else 32, {0x0039: 134_169_192_000_000_000})
    for number, (name, data) in enumerate((attachments or {}).items()):
        streams[f"__attach_version1.0_#{number:08X}"] = _properties({0x3707: name, 0x3704: name, 0x3701: data}, 8)
    return streams


def msg_file(
    title: str,
    sentence: str,
    attachments: Mapping[str, bytes] | None = None,
    *,
    headers: str = "",
    values: Mapping[int, str | bytes] | None = None,
    messages: Mapping[str, Storage] | None = None,
) -> bytes:
    """Return an Outlook message (.msg) with subject, sender, receivers, body and attachments.

    `headers` are the mail headers of the transport. `values` are further properties by their number. `messages` are
    attached messages by their names.
    """
    further = {**(values or {}), **({0x007D: headers} if headers else {})}
    streams = message_storage(title, sentence, attachments, further)
    streams["__nameid_version1.0"] = {f"__substg1.0_{number}0102": b"" for number in ("0002", "0003", "0004")}
    for number, (name, message) in enumerate((messages or {}).items(), 1000):
        attachment = _properties({0x3001: name}, 8)
        streams[f"__attach_version1.0_#{number:08X}"] = {**attachment, "__substg1.0_3701000D": message}
    return ole_file(streams)
