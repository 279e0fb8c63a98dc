"""Office packages with damaged parts in a valid archive are read, or refused with a reason."""

import re
import tempfile
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers import create_reader
from elt_llm_ingest.readers.office_package import refuse_damage
from file_formats.samples import SAMPLES
from hypothesis import given
from hypothesis import strategies as st

OFFICE = (".docx", ".pptx", ".odt")
VALUES = ("", "-1", "0", "99999999", "\u00b2", "x", "../../../etc/passwd", "heading 0", "%9%9%9", "title", "rId1")
_ATTRIBUTE = re.compile(r'="[^"<>]{0,80}"')


def _read_members(data: bytes) -> dict[str, bytes]:
    with ZipFile(BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zip_members(members: dict[str, bytes]) -> bytes:
    target = BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target.getvalue()


def _read_or_reason(data: bytes, suffix: str) -> ParsedDocument | str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"damaged{suffix}"
        path.write_bytes(data)
        reader = create_reader(path)
        assert reader is not None
        try:
            return reader.read(path)
        except UnreadableDocument as refusal:
            return str(refusal)


@pytest.mark.parametrize("suffix", OFFICE)
@given(data=st.data())
def test_an_office_file_with_any_attribute_value_is_read_or_refused(suffix: str, data: st.DataObject) -> None:
    members = _read_members(SAMPLES[suffix])
    name = data.draw(st.sampled_from(sorted(members)))
    text = members[name].decode()
    places = list(_ATTRIBUTE.finditer(text))
    if places:
        for place in reversed(data.draw(st.lists(st.sampled_from(places), max_size=3, unique=True))):
            value = data.draw(st.sampled_from(VALUES))
            text = f'{text[: place.start()]}="{value}"{text[place.end() :]}'
    assert _read_or_reason(_zip_members({**members, name: text.encode()}), suffix)


@pytest.mark.parametrize("suffix", OFFICE)
@given(data=st.data())
def test_an_office_file_with_missing_truncated_or_swapped_parts_is_read_or_refused(
    suffix: str, data: st.DataObject
) -> None:
    members = _read_members(SAMPLES[suffix])
    name, other = data.draw(st.tuples(st.sampled_from(sorted(members)), st.sampled_from(sorted(members))))
    match data.draw(st.sampled_from(("missing", "cut", "other"))):
        case "missing":
            del members[name]
        case "cut":
            members[name] = members[name][: data.draw(st.integers(0, len(members[name])))]
        case _:
            members[name] = members[other]
    assert _read_or_reason(_zip_members(members), suffix)


@pytest.mark.parametrize("suffix", OFFICE)
def test_an_xml_entity_declared_in_any_part_of_an_office_file_is_refused(suffix: str) -> None:
    members = _read_members(SAMPLES[suffix])
    declared = b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>'
    read = [name for name in members if name.endswith((".xml", ".rels")) and "slide2" not in name]
    for name in read:
        refusal = _read_or_reason(_zip_members({**members, name: declared + members[name]}), suffix)
        assert refusal == "holds XML with a DOCTYPE, which could declare entities", name


@pytest.mark.parametrize("error", [KeyError("a"), ValueError("b"), EOFError(), OverflowError(), IndexError()])
def test_a_library_error_caused_by_a_damaged_office_file_is_reported_as_damage(error: Exception) -> None:
    with pytest.raises(UnreadableDocument, match="is damaged"), refuse_damage():
        raise error


def test_a_file_nested_too_deeply_is_reported_but_a_programming_error_is_raised() -> None:
    with pytest.raises(UnreadableDocument, match="nested too deeply"), refuse_damage():
        raise RecursionError
    with pytest.raises(TypeError), refuse_damage():
        raise TypeError
    with pytest.raises(UnreadableDocument, match="as it is"), refuse_damage():
        raise UnreadableDocument("as it is")
