"""One document into groups: its top-level sections, or the documents within it by their type."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from elt_llm_core.marked_terms import ARTEFACT, MarkedTerms
from elt_llm_core.outline import Section

from elt_llm_ingest.parsed_document import ParsedDocument

SplitBy = Literal["section", "type"]
BEFORE_THE_FIRST = "beginning"
"""The group of what stands before the first section."""
WITHOUT_TYPE = "other"
"""The group of what has no type."""


def groups_of(parsed: ParsedDocument, split_by: SplitBy) -> list[str]:
    """The groups of a document in its order, each once. A document with anything in it has at least one."""
    if split_by == "section":
        return [slice_.group for slice_ in _slices(parsed)]
    types = list(dict.fromkeys(part.group or WITHOUT_TYPE for part in parsed.parts))
    untyped = [WITHOUT_TYPE] if parsed.text.strip() and WITHOUT_TYPE not in types else []
    return [*types, *untyped]


def part_of_group(parsed: ParsedDocument, split_by: SplitBy, group: str) -> ParsedDocument:
    """What of a document belongs to a group; empty if nothing does.

    A section keeps its pages' numbers: `page_at` answers as in the whole document. Documents within the file go with
    its first section. Artefacts are about the file as a whole, and go with every group; what is marked in a text goes
    with that text.
    """
    if split_by == "type":
        return _of_type(parsed, group)
    slices = list(_slices(parsed))
    for number, slice_ in enumerate(slices):
        if slice_.group == group:
            return replace(_cut(parsed, slice_.start, slice_.end), parts=parsed.parts if number == 0 else ())
    return replace(_cut(parsed, 0, 0), parts=())


@dataclass(frozen=True)
class _Slice:
    group: str
    start: int
    end: int


def _slices(parsed: ParsedDocument) -> Iterator[_Slice]:
    """The sections that a document falls into: together they are its whole text."""
    taken, numbers = {BEFORE_THE_FIRST}, Counter[str]()
    tops = _top_sections(parsed.sections)
    starts = [section.start for section in tops]
    if not tops or _has_text_before(parsed, starts[0]):
        end = starts[0] if tops else len(parsed.text)
        if parsed.text[:end].strip() or (parsed.parts and not tops):
            yield _Slice(BEFORE_THE_FIRST, 0, end)
    elif starts:
        starts[0] = 0  # headings above the first section, and nothing else: they go with it
    for section, (start, end) in zip(tops, pairwise([*starts, len(parsed.text)]), strict=True):
        title = " ".join(section.title.split()) or WITHOUT_TYPE
        name = title
        while name in taken:  # a third section of a title goes on from the second one's number
            numbers[title] += 1
            name = f"{title} ({numbers[title] + 1})"
        taken.add(name)
        yield _Slice(name, start, end)


def _top_sections(sections: tuple[Section, ...]) -> list[Section]:
    """Those of the highest level that has more than one: a single one above them is the document's title."""
    counts = Counter(section.level for section in sections)
    several = [level for level, count in counts.items() if count > 1]
    level = min(several or counts, default=0)
    first = next((place for place, section in enumerate(sections) if section.level == level), 0)
    return [section for section in sections[first:] if section.level <= level]


def _has_text_before(parsed: ParsedDocument, end: int) -> bool:
    """Whether anything but headings stands before an offset."""
    if not parsed.blocks:
        return bool(parsed.text[:end].strip()) and not any(section.start < end for section in parsed.sections)
    return any(block.kind != "heading" and block.start < end for block in parsed.blocks)


def _cut(parsed: ParsedDocument, start: int, end: int) -> ParsedDocument:
    """The text from `start` to `end` with all that is said of it; pages that begin before it begin at 0."""
    return replace(
        parsed,
        text=parsed.text[start:end],
        # A slice may begin where a page does: that page counts as begun, the one after `end` does not.
        pages=tuple(max(0, page - start) for page in parsed.pages[: bisect_left(parsed.pages, max(end, start + 1))]),
        sections=tuple(
            replace(section, start=section.start - start) for section in parsed.sections if start <= section.start < end
        ),
        blocks=tuple(
            replace(block, start=max(block.start, start) - start, end=min(block.end, end) - start)
            for block in parsed.blocks
            if block.start < end and block.end > start
        ),
        artefacts=_artefacts_of(parsed, start, end),
    )


def _artefacts_of(parsed: ParsedDocument, start: int, end: int) -> dict[str, Any]:
    """All artefacts, of the marks in the text those between two offsets."""
    kept = {name: value for name, value in parsed.artefacts.items() if name != ARTEFACT}
    marked = MarkedTerms.from_json(parsed.artefacts.get(ARTEFACT), len(parsed.text)).cut(start, end)
    return kept | ({ARTEFACT: marked.to_json()} if marked else {})


def _of_type(parsed: ParsedDocument, group: str) -> ParsedDocument:
    parts = tuple(part for part in parsed.parts if (part.group or WITHOUT_TYPE) == group)
    whole = parsed if group == WITHOUT_TYPE else replace(_cut(parsed, 0, 0), pages=())
    return replace(whole, parts=parts)
