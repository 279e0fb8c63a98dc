"""The section path of an offset has the headings of all enclosing sections."""

import time

import pytest
from elt_llm_core.text.outline import Outline, Section, page_label
from hypothesis import given
from hypothesis import strategies as st

LEVELS = st.lists(st.integers(1, 5), max_size=30)


@given(levels=LEVELS, offset=st.integers(0, 40))
def test_the_section_path_has_the_headings_of_all_enclosing_sections(levels: list[int], offset: int) -> None:
    sections = [Section(start, level, str(start)) for start, level in enumerate(levels)]
    open_headings: list[Section] = []
    for section in sections[: offset + 1]:
        open_headings = [above for above in open_headings if above.level < section.level]
        open_headings.append(section)
    assert Outline((), sections).section_path(offset) == tuple(section.title for section in open_headings)


def test_the_section_path_of_text_above_the_first_heading_is_empty() -> None:
    outline = Outline((0, 10), [Section(5, 1, "First")])
    assert outline.section_path(4) == ()
    assert outline.section_at(4) is None
    assert outline.section_at(5) == "First"
    assert outline.page_at(9) == 1
    assert outline.page_at(10) == 2


def test_the_section_paths_of_many_headings_without_a_top_level_take_linear_time() -> None:
    count = 100_000
    outline = Outline((), [Section(start, 2, str(start)) for start in range(count)])
    begun = time.monotonic()
    assert [outline.section_path(offset) for offset in range(count)] == [(str(start),) for start in range(count)]
    assert time.monotonic() - begun < 30  # a quadratic search took most of an hour


@pytest.mark.parametrize(
    ("source", "page", "section", "label"),
    [
        ("rules.pdf", 3, "Fees", "page 3"),
        ("rules.md", None, "Fees", ""),
        ("elements.xlsx", 2, "Elements > Pipes", "sheet Elements"),
        ("elements.ODS", 2, None, ""),
    ],
)
def test_a_page_label_is_a_page_number_or_the_name_of_a_workbook_sheet(
    source: str, page: int | None, section: str | None, label: str
) -> None:
    assert page_label(source, page, section) == label
