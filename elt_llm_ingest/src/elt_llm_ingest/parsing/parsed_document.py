"""The result of every reader: one text with its pages, sections, blocks, parts and metadata."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from elt_llm_core.store.records import MetadataValue
from elt_llm_core.text.outline import Outline, Section

BlockKind = Literal["prose", "heading", "list", "table", "rule", "definition", "code"]


def known_values(**values: MetadataValue | None) -> dict[str, MetadataValue]:
    """Return the metadata values that are neither empty nor None."""
    return {key: value for key, value in values.items() if value not in ("", None)}


@dataclass(frozen=True)
class Block:
    """The paragraph, heading, item or row at text[start:end]; `header` is the header row of a table's row."""

    start: int
    end: int
    kind: BlockKind
    header: str = ""


@dataclass(frozen=True)
class ParsedDocument:
    """The text of a file and its structure. All offsets are characters of `text`, ascending.

    `pages[i]` is the offset of page i + 1; empty if the format has no pages. `blocks` do not overlap and have only
    white space between them. `notes` are sentences for the report, such as pages without a text layer.

    `metadata` has `authors` (joined by "; "), `year` (a number), `url` and `page_unit` ("slide", "sheet", "diagram";
    absent for pages) where the file has them. `parts` are separate documents within the file, `artefacts` JSON
    values by name that are stored with the generation, such as an enterprise model.
    """

    text: str
    title: str
    pages: tuple[int, ...] = ()
    sections: tuple[Section, ...] = ()
    blocks: tuple[Block, ...] = ()
    metadata: dict[str, MetadataValue] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    parts: tuple["Part", ...] = ()
    artefacts: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def outline(self) -> Outline:
        """The pages and sections."""
        return Outline(self.pages, self.sections)

    @property
    def characters(self) -> int:
        """The length of the text, including all parts."""
        return len(self.text) + sum(len(part.document.text) for part in self.parts)

    def page_at(self, offset: int) -> int | None:
        """The page that holds `offset`, from 1; None where the format has no pages."""
        return self.outline.page_at(offset)

    def section_path(self, offset: int) -> tuple[str, ...]:
        """Titles of the headings above `offset`, outermost first."""
        return self.outline.section_path(offset)


@dataclass(frozen=True)
class Part:
    """A document within a file, such as one fact sheet of an inventory.

    `name` is unique in the file and becomes `file#name`; a job may split a file by `group`, such as the type.
    """

    name: str
    group: str
    document: ParsedDocument
