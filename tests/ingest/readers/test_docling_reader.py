"""The docling reader turns docling items into a document. A stub replaces docling itself."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from elt_llm_core.errors import SettingsError, UnreadableDocument
from elt_llm_ingest.readers import ReaderOptions, create_reader
from elt_llm_ingest.readers.pdf import DoclingConverter, DoclingReader


@dataclass
class Provenance:
    page_no: int


@dataclass
class Cell:
    text: str


@dataclass
class Grid:
    grid: list[list[Cell]]


@dataclass
class Item:
    label: str
    text: str = ""
    page: int = 1
    level: int = 1
    data: Grid | None = None
    prov: list[Provenance] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.prov = [Provenance(self.page)]


def create_stub(*items: Item) -> DoclingConverter:
    """Create a converter that returns the same items for any file, or fails without items."""

    def convert(path: Path) -> Iterable[object]:
        if not items:
            raise RuntimeError("no pages")
        return items

    return convert


def test_docling_items_are_converted_to_pages_headings_blocks_and_rows() -> None:
    rows = Grid([[Cell("Ship"), Cell("Flag")], [Cell("A"), Cell("B\nC")]])
    items = (
        Item("title", "Ships"),
        Item("page_header", "Harbour office"),
        Item("text", "Words."),
        Item("section_header", "Flags", page=2),
        Item("list_item", "one", page=2),
        Item("table", page=3, data=rows),
    )
    document = DoclingReader(lambda: create_stub(*items)).read(Path("a.pdf"))
    assert document.text == "Ships\n\nWords.\n\nFlags\n\none\n\nShip | Flag\nA | B C"
    assert document.title == "Ships"
    assert [section.level for section in document.sections] == [1, 2]
    assert [document.page_at(document.text.index(word)) for word in ("Words", "one", "Ship |")] == [1, 2, 3]
    assert [(block.kind, block.header) for block in document.blocks][-2:] == [("table", ""), ("table", "Ship | Flag")]


def test_the_docling_converter_is_created_once_when_the_first_file_is_read() -> None:
    made = []

    def create() -> DoclingConverter:
        made.append(1)
        return create_stub(Item("text", "Words."))

    reader = DoclingReader(create)
    assert made == []
    assert reader.read(Path("a.pdf")) == reader.read(Path("a.pdf"))
    assert made == [1]


def test_a_file_that_docling_cannot_read_is_reported() -> None:
    with pytest.raises(UnreadableDocument, match="docling cannot read the file: no pages"):
        DoclingReader(create_stub).read(Path("a.pdf"))


def test_missing_docling_is_reported_with_the_install_command() -> None:
    with pytest.raises(SettingsError, match="not installed") as raised:
        create_reader(Path("a.pdf"), ReaderOptions(pdf_reader="docling"))
    assert "uv pip install docling" in raised.value.hint
