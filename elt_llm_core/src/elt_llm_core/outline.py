"""Where pages and sections begin in a text, and so what any offset belongs to."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property


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
        path: list[str] = []
        number = bisect_right(self.sections, offset, key=lambda section: section.start) - 1
        while number >= 0:
            path.append(self.sections[number].title)
            number = self._above[number]
        return tuple(reversed(path))

    def section_at(self, offset: int) -> str | None:
        """The headings above `offset` joined by ' > ', as citations show them; None above the first."""
        return " > ".join(self.section_path(offset)) or None

    @cached_property
    def _above(self) -> list[int]:
        """For each section the number of the one it stands in, or -1: found once, or long documents would take hours.

        Looking back for it at every question costs as many steps as there are sections where none is of level 1.
        """
        above: list[int] = []
        opened: list[int] = []
        for number, section in enumerate(self.sections):
            while opened and self.sections[opened[-1]].level >= section.level:
                opened.pop()
            above.append(opened[-1] if opened else -1)
            opened.append(number)
        return above
