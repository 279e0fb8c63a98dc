"""What every reader yields: one text, and where its pages, sections and blocks stand in it."""

from dataclasses import dataclass, field
from typing import Literal

from elt_llm_core.outline import Outline, Section

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
    """

    text: str
    title: str
    pages: tuple[int, ...] = ()
    sections: tuple[Section, ...] = ()
    blocks: tuple[Block, ...] = ()
    metadata: dict[str, str | int | float | bool] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def outline(self) -> Outline:
        """Its pages and sections."""
        return Outline(self.pages, self.sections)

    def page_at(self, offset: int) -> int | None:
        """The page that holds `offset`, from 1; None where the format has no pages."""
        return self.outline.page_at(offset)

    def section_path(self, offset: int) -> tuple[str, ...]:
        """Titles of the headings above `offset`, outermost first."""
        return self.outline.section_path(offset)
