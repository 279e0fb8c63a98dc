"""Where pages and sections begin in a text, and so what any offset belongs to."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """A heading: it holds from `start` (offset of the heading itself) until the next one of its level or above."""

    start: int
    level: int
    title: str


@dataclass(frozen=True)
class Outline:
    """Pages and sections of one text. `pages[i]` is where page i + 1 begins; both ascend."""

    pages: Sequence[int] = ()
    sections: Sequence[Section] = ()

    def page_at(self, offset: int) -> int | None:
        """The page that holds `offset`, from 1; None where the format has no pages."""
        return bisect_right(self.pages, offset) if self.pages else None

    def section_path(self, offset: int) -> tuple[str, ...]:
        """Titles of the headings above `offset`, outermost first."""
        path: list[Section] = []
        number = bisect_right(self.sections, offset, key=lambda section: section.start)
        # Backwards, so that a long document costs no more than its depth for each question.
        while number > 0 and not (path and path[-1].level <= 1):
            number -= 1
            if not path or self.sections[number].level < path[-1].level:
                path.append(self.sections[number])
        return tuple(section.title for section in reversed(path))

    def section_at(self, offset: int) -> str | None:
        """The headings above `offset` joined by ' > ', as citations show them; None above the first."""
        return " > ".join(self.section_path(offset)) or None
