"""Choose the reader of each file. If a job splits files by section or by type, select the part that a run ingests."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.settings.tree import IngestSettings
from elt_llm_core.text.outline import MARKED_TERMS_ARTEFACT, MarkedTerms, Section

from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers import ReaderOptions, create_named_reader
from elt_llm_ingest.sandbox.parser import Parser, ParseRequest
from elt_llm_ingest.sources.collection_sources import LocatedFile
from elt_llm_ingest.sources.path_fields import owner_fields
from elt_llm_ingest.sources.request import IngestRequest

SplitBy = Literal["section", "type"]
LEADING_GROUP = "beginning"  # the group of the text before the first section
UNTYPED_GROUP = "other"  # the group of documents without a type


def document_groups(parsed: ParsedDocument, split_by: SplitBy) -> list[str]:
    """Return the groups into which a document can be split, in order, each once.

    These are the titles of its top-level sections, or the types of the documents within the file, such as
    "Application" and "DataObject" for the fact sheets of an inventory.
    """
    if split_by == "section":
        return [group for group, _, _ in _section_slices(parsed)]
    types = list(dict.fromkeys(part.group or UNTYPED_GROUP for part in parsed.parts))
    untyped = [UNTYPED_GROUP] if parsed.text.strip() and UNTYPED_GROUP not in types else []
    return [*types, *untyped]


def take_group(parsed: ParsedDocument, split_by: SplitBy, group: str) -> ParsedDocument:
    """Return the part of a document that belongs to a group, which is one of its `document_groups`.

    The part is a section, or all documents within the file that have one type, such as the fact sheets of the type
    "Application". It is empty if there is no such group.
    A section keeps its page numbers: `page_at` returns the same page as in the whole document. Documents within the
    file belong to its first section. Artefacts (JSON values) describe the whole file, so each part has all of them.
    Only the artefact of the terms that the markup defines is cut: a section has only the terms in its own text.
    """
    if split_by == "type":
        parts = tuple(part for part in parsed.parts if (part.group or UNTYPED_GROUP) == group)
        whole = parsed if group == UNTYPED_GROUP else replace(_slice_document(parsed, 0, 0), pages=())
        return replace(whole, parts=parts)
    for number, (name, start, end) in enumerate(_section_slices(parsed)):
        if name == group:
            return replace(_slice_document(parsed, start, end), parts=() if number else parsed.parts)
    return replace(_slice_document(parsed, 0, 0), parts=())


def _section_slices(parsed: ParsedDocument) -> Iterator[tuple[str, int, int]]:
    """Yield the name, start and end of each group: the text before the first section, then each top-level section.

    A group has the title of its section: ("Fees", 120, 480). A repeated title gets a number: "Fees (2)".
    """
    taken, numbers = {LEADING_GROUP}, Counter[str]()
    tops = _top_sections(parsed.sections)
    starts = [section.start for section in tops]
    if not tops or _has_text_before(parsed, starts[0]):
        end = starts[0] if tops else len(parsed.text)
        if parsed.text[:end].strip() or (parsed.parts and not tops):
            yield LEADING_GROUP, 0, end
    elif starts:
        starts[0] = 0  # headings above the first section belong to that section
    for section, (start, end) in zip(tops, pairwise([*starts, len(parsed.text)]), strict=True):
        title = " ".join(section.title.split()) or UNTYPED_GROUP
        name = title
        while name in taken:  # a further section with the same title gets the next number
            numbers[title] += 1
            name = f"{title} ({numbers[title] + 1})"
        taken.add(name)
        yield name, start, end


def _top_sections(sections: tuple[Section, ...]) -> list[Section]:
    """Return the sections at which a document is split: those of the highest level that several sections have."""
    counts = Counter(section.level for section in sections)
    several = [level for level, count in counts.items() if count > 1]
    level = min(several or counts, default=0)
    first = next((number for number, section in enumerate(sections) if section.level == level), 0)
    return [section for section in sections[first:] if section.level <= level]


def _has_text_before(parsed: ParsedDocument, end: int) -> bool:
    if not parsed.blocks:
        return bool(parsed.text[:end].strip()) and not any(section.start < end for section in parsed.sections)
    return any(block.kind != "heading" and block.start < end for block in parsed.blocks)


def _slice_document(parsed: ParsedDocument, start: int, end: int) -> ParsedDocument:
    """Return the document of text[start:end]. Pages that start before `start` get the offset 0."""
    artefacts = {name: value for name, value in parsed.artefacts.items() if name != MARKED_TERMS_ARTEFACT}
    terms = MarkedTerms.from_json(parsed.artefacts.get(MARKED_TERMS_ARTEFACT), len(parsed.text)).cut(start, end)
    if terms:
        artefacts[MARKED_TERMS_ARTEFACT] = terms.to_json()
    return replace(
        parsed,
        text=parsed.text[start:end],
        # A page that starts at `start` is part of the slice; a page that starts at `end` is not.
        pages=tuple(max(0, page - start) for page in parsed.pages[: bisect_left(parsed.pages, max(end, start + 1))]),
        sections=tuple(
            replace(section, start=section.start - start) for section in parsed.sections if start <= section.start < end
        ),
        blocks=tuple(
            replace(block, start=max(block.start, start) - start, end=min(block.end, end) - start)
            for block in parsed.blocks
            if block.start < end and block.end > start
        ),
        artefacts=artefacts,
    )


class FileReading:
    """How a run reads its files: with `parser`, and with the reader, the group and the path fields of `request`.

    Without `data_dir`, no owner fields (such as a tenant) are read from paths.
    """

    def __init__(
        self, request: IngestRequest, settings: IngestSettings, parser: Parser, data_dir: Path | None = None
    ) -> None:
        self.parser, self._request, self._data_dir = parser, request, data_dir
        self._options = ReaderOptions.of(settings, request.columns)
        self._identities: dict[str, str] = {}

    @property
    def scope(self) -> str:
        """The part of each file that is read, such as "section:Fees"; "" for whole files. Used in version keys."""
        return f"{self._request.split_by}:{self._request.group}" if self._request.split_by else ""

    def request(self, located: LocatedFile) -> ParseRequest:
        """Build the request that makes the parser read a file."""
        return ParseRequest(located.file.path, self._request.reader, self._options, within=located.root_path)

    def identity(self, located: LocatedFile) -> str:
        """Return the identity of a file's reader. Raises UnreadableDocument if no reader supports the file."""
        suffix = located.file.path.suffix.lower()
        if suffix not in self._identities:
            reader = create_named_reader(self._request.reader, located.file.path, self._options)
            if reader is None:
                raise UnreadableDocument(f"no reader for {suffix}")
            self._identities[suffix] = reader.identity
        return self._identities[suffix]

    def owner_fields(self, located: LocatedFile) -> Mapping[str, str]:
        """Return the owner fields, such as a tenant, in the path of a file."""
        return owner_fields(located, self._request, self._data_dir) if self._data_dir else {}

    def take(self, parsed: ParsedDocument) -> ParsedDocument:
        """Return the part of a parsed file that the ingest selects (`split_by` and `group`)."""
        split_by = self._request.split_by
        return take_group(parsed, split_by, self._request.group) if split_by else parsed
