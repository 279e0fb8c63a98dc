"""Where the pages of a Word file begin, as far as the file itself can be trusted to know."""

from typing import TYPE_CHECKING

from elt_llm_ingest.readers.docx_paragraph import PAGE_BREAK
from elt_llm_ingest.readers.docx_styles import number
from elt_llm_ingest.readers.ooxml import WORD, Package

if TYPE_CHECKING:
    from lxml.etree import _Element

_PAGES = "{http://schemas.openxmlformats.org/officeDocument/2006/extended-properties}Pages"


def trusted_pages(package: Package, document: "_Element") -> int | None:
    """The number of pages if the breaks in the file agree with it, else None.

    The breaks are left by the last program that drew the file: a memory of its fonts and its printer, missing before
    empty paragraphs. An uncertain page number is worse than none, so they must be as many as the pages it counted,
    and no row may be cut in several cells at once.
    """
    breaks = _breaks(document)
    properties = package.related_part("", "extended-properties") if breaks else None
    pages = None if properties is None else number((properties.findtext(_PAGES) or "").strip())
    rows = (row for row in document.iter(f"{WORD}tr") if _breaks(row))
    cut_once = all(sum(1 for cell in row.findall(f"{WORD}tc") if _breaks(cell)) <= 1 for row in rows)
    return pages if pages == breaks + 1 and cut_once else None


def breaks_around(element: "_Element") -> tuple[int, int]:
    """How many pages begin before the first text of an element, and how many after."""
    before = after = 0
    begun = False
    for found in element.iter(PAGE_BREAK, f"{WORD}t"):
        if found.tag != PAGE_BREAK:
            begun = begun or bool((found.text or "").strip())
        elif begun:
            after += 1
        else:
            before += 1
    return before, after


def _breaks(element: "_Element") -> int:
    return sum(1 for _ in element.iter(PAGE_BREAK))
