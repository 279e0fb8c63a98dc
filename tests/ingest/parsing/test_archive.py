"""Unsafe zip packages are refused with a reason, and valid ones are read."""

import stat
import struct
import tempfile
import zlib
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.parsing.archive import open_archive
from file_formats.workbooks import package
from hypothesis import given
from hypothesis import strategies as st


def _written(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "package.zip"
    path.write_bytes(data)
    return path


def _zip_of(*entries: tuple[ZipInfo, bytes]) -> bytes:
    target = BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for entry, content in entries:
            archive.writestr(entry, content, ZIP_DEFLATED)
    return target.getvalue()


def _read_or_reason(path: Path) -> dict[str, bytes] | str:
    try:
        with open_archive(path) as archive:
            return {name: archive.read_member(name) for name in archive.names}
    except UnreadableDocument as refusal:
        return str(refusal)


def check_archive(path: Path) -> None:
    with open_archive(path) as archive:
        archive.check_members()


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo("placeholder")
    entry.filename = name
    return entry


def test_archive_members_are_read_and_folders_are_ignored(tmp_path: Path) -> None:
    path = _written(tmp_path, _zip_of((_entry("a/"), b""), (_entry("a/b.xml"), b"one"), (_entry("c"), b"")))
    with open_archive(path) as archive:
        assert archive.names == ("a/b.xml", "c")
        assert "a/b.xml" in archive
        assert archive.read_member("a/b.xml") == b"one"
        with pytest.raises(KeyError):
            archive.read_member("d")
    check_archive(path)


def test_an_uncompressed_member_is_read_like_a_compressed_member(tmp_path: Path) -> None:
    target = BytesIO()
    with ZipFile(target, "w", ZIP_STORED) as archive:
        archive.writestr("a", b"x" * 200_000)
    with open_archive(_written(tmp_path, target.getvalue())) as guarded:
        assert guarded.read_member("a") == b"x" * 200_000


@pytest.mark.parametrize("name", ["../a", "a/../../b", "/etc/passwd", "C:/a", "..\\a", "a\\..\\b", "\\\\host\\share"])
def test_member_paths_that_lead_out_of_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnreadableDocument, match="leads out of its folder"):
        check_archive(_written(tmp_path, _zip_of((_entry(name), b"x"))))


def test_a_symbolic_link_in_an_archive_is_refused(tmp_path: Path) -> None:
    entry = _entry("link")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(UnreadableDocument, match="symbolic link"):
        check_archive(_written(tmp_path, _zip_of((entry, b"/etc/passwd"))))


def test_an_archive_with_too_many_entries_is_refused_before_parsing(tmp_path: Path) -> None:
    data = package({f"{number}": "" for number in range(10_001)})
    with pytest.raises(UnreadableDocument, match="has 10,001 entries, more than the limit of 10,000"):
        check_archive(_written(tmp_path, data))


def test_a_decompression_bomb_is_refused_by_its_declared_size(tmp_path: Path) -> None:
    bomb = _zip_of((_entry("a"), b"\0" * 2_000_000))
    with pytest.raises(UnreadableDocument, match="compression ratio above 100"):
        check_archive(_written(tmp_path, bomb))


def test_an_archive_whose_total_size_exceeds_the_limit_is_refused_before_decompression(tmp_path: Path) -> None:
    data = bytearray(_zip_of((_entry("a"), b"some words")))
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 201_000_000)
    with pytest.raises(UnreadableDocument, match="decompresses to 201 MB, more than the limit of 200 MB"):
        check_archive(_written(tmp_path, bytes(data)))


def test_many_small_archive_members_that_together_form_a_decompression_bomb_are_refused(tmp_path: Path) -> None:
    data = package({f"{number}": "0" * 900_000 for number in range(20)})
    with pytest.raises(UnreadableDocument, match="compression ratio above 100"):
        check_archive(_written(tmp_path, data))


def test_a_false_member_size_in_the_archive_directory_is_detected_during_decompression(tmp_path: Path) -> None:
    data = bytearray(_zip_of((_entry("a"), b"some words " * 50)))
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 11)
    data[at + 16 : at + 20] = struct.pack("<I", zlib.crc32(b"some words "))
    with pytest.raises(UnreadableDocument, match=r"is damaged: member .* decompresses to more than its declared size"):
        check_archive(_written(tmp_path, bytes(data)))


def test_the_error_for_a_damaged_archive_member_names_the_member(tmp_path: Path) -> None:
    data = bytearray(_zip_of((_entry("story.xml"), bytes(range(256)))))
    data[60] ^= 0xFF
    with pytest.raises(UnreadableDocument, match=r"is damaged: member 'story\.xml'"):
        check_archive(_written(tmp_path, bytes(data)))


@pytest.mark.parametrize("name", ["a.zip", "plain.bin"])
def test_an_archive_inside_an_archive_is_refused(tmp_path: Path, name: str) -> None:
    inner = _zip_of((_entry("b"), b"x"))
    with pytest.raises(UnreadableDocument, match="archive inside the archive"):
        check_archive(_written(tmp_path, _zip_of((_entry(name), inner))))


def test_the_embedded_workbook_of_a_chart_is_allowed_inside_an_office_file(tmp_path: Path) -> None:
    inner = _zip_of((_entry("b"), b"x"))
    check_archive(_written(tmp_path, _zip_of((_entry("ppt/embeddings/Sheet1.xlsx"), inner))))


def test_an_archive_with_two_members_of_the_same_name_is_refused(tmp_path: Path) -> None:
    data = _zip_of((_entry("aa"), b"x"), (_entry("ab"), b"y")).replace(b"ab", b"aa")
    with pytest.raises(UnreadableDocument, match="two members with the same name"):
        check_archive(_written(tmp_path, data))


def test_an_archive_with_overlapping_members_is_refused(tmp_path: Path) -> None:
    data = bytearray(_zip_of((_entry("a"), b"x" * 50), (_entry("b"), b"y" * 50)))
    second = data.rindex(b"PK\x01\x02")
    data[second + 42 : second + 46] = struct.pack("<I", 0)
    with pytest.raises(UnreadableDocument, match="overlap"):
        check_archive(_written(tmp_path, bytes(data)))


def test_an_encrypted_archive_is_refused_because_it_needs_a_password(tmp_path: Path) -> None:
    data = bytearray(_zip_of((_entry("a"), b"x")))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(UnreadableDocument, match="is encrypted: a password is needed"):
        check_archive(_written(tmp_path, bytes(data)))


def test_an_unsupported_compression_method_is_refused(tmp_path: Path) -> None:
    target = BytesIO()
    with ZipFile(target, "w", ZIP_BZIP2) as archive:
        archive.writestr("a", b"x" * 100)
    with pytest.raises(UnreadableDocument, match="method 12"):
        check_archive(_written(tmp_path, target.getvalue()))


@pytest.mark.parametrize("data", [b"", b"no zip at all", b"PK\x03\x04", b"PK\x05\x06" + bytes(18)])
def test_files_that_are_not_zip_archives_are_refused(tmp_path: Path, data: bytes) -> None:
    path = _written(tmp_path, data)
    if data.startswith(b"PK\x05"):
        check_archive(path)
    else:
        with pytest.raises(UnreadableDocument, match="is not a zip package, or is damaged"):
            check_archive(path)


@given(
    # Contents that start like an archive would be refused.
    contents=st.dictionaries(
        st.sampled_from("abcdef"),
        st.binary(max_size=300).filter(lambda data: data[:1] not in {b"P", b"7", b"R"}),
        max_size=4,
    ),
    damage=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=8),
    end=st.integers(1, 3000),
)
def test_a_damaged_archive_is_read_or_refused(
    contents: dict[str, bytes], damage: list[tuple[int, int]], end: int
) -> None:
    data = bytearray(_zip_of(*((_entry(name), content) for name, content in contents.items())))
    whole = end >= len(data) and not damage
    for position, value in damage:
        data[position % len(data)] = value
    with tempfile.TemporaryDirectory() as folder:
        read = _read_or_reason(_written(Path(folder), bytes(data[:end])))
    assert read == contents if whole else isinstance(read, dict) or read
