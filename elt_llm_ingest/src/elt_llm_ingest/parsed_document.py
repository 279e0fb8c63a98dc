"""What every reader yields: one text, and where its pages, sections and blocks stand in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from elt_llm_core.outline import Outline, Section
from elt_llm_core.store.records import MetadataValue

BlockKind = Literal["prose", "heading", "list", "table", "rule", "definition", "code"]


@dataclass(frozen=True)
class Block:
    """A run of text that belongs together: text[start:end]. A table has one block a row; `header` is its header row."""

    start: int
    end: int
    kind: BlockKind
    header: str = ""


@dataclass(frozen=True)
class ParsedDocument:
    """The text of a file and its structure. All offsets are characters of `text`, ascending.

    `pages[i]` is where page i + 1 begins; empty if the format has no pages. `blocks` do not overlap; what lies
    between them is white space. `notes` are sentences for the report, such as pages without a text layer.

    `metadata` has `authors` (joined by "; "), `year` (a number), `url` and `page_unit` ("slide", "sheet", "diagram";
    else pages are pages) where the file tells them. `parts` are documents of their own within the file, `artefacts`
    JSON values by name that are kept with the generation, such as an enterprise model.
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
        """Its pages and sections."""
        return Outline(self.pages, self.sections)

    def page_at(self, offset: int) -> int | None:
        """The page that holds `offset`, from 1; None where the format has no pages."""
        return self.outline.page_at(offset)

    def section_path(self, offset: int) -> tuple[str, ...]:
        """Titles of the headings above `offset`, outermost first."""
        return self.outline.section_path(offset)


@dataclass(frozen=True)
class Part:
    """A document within a file, such as one fact sheet of an inventory.

    `name` is unique in the file and becomes `file#name`; `group` is what a job may split a file by, such as the type.
    """

    name: str
    group: str
    document: ParsedDocument
