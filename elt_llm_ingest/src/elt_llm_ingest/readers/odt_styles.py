"""Styles of an OpenDocument text: what is bold, what is a title, how lists and headings count."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from elt_llm_ingest.readers.docx_styles import number
from elt_llm_ingest.readers.list_markers import bullet, format_number

if TYPE_CHECKING:
    from lxml.etree import _Element

_NAMES = "urn:oasis:names:tc:opendocument:xmlns"
OFFICE = f"{{{_NAMES}:office:1.0}}"
TEXT = f"{{{_NAMES}:text:1.0}}"
TABLE = f"{{{_NAMES}:table:1.0}}"
DRAW = f"{{{_NAMES}:drawing:1.0}}"
STYLE = f"{{{_NAMES}:style:1.0}}"
_FORMAT = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_MOST_BASES = 20
_DEEPEST = 10
_LEVELS = (f"{TEXT}list-level-style-number", f"{TEXT}outline-level-style")


@dataclass(frozen=True)
class Level:
    """How one level of a list counts; a bullet has no format."""

    format: str = ""
    prefix: str = ""
    suffix: str = ""
    shown: int = 1
    start: int = 1
    is_bullet: bool = False


@dataclass
class Counter:
    """The numbers of one list as it goes on."""

    levels: Mapping[int, Level]
    counts: dict[int, int] = field(default_factory=dict)

    def step(self, level: int, start: int | None = None) -> str:
        """Count an item of a level (from 1), or begin with `start`; the label, such as `2.1.`, is returned."""
        own = self.levels.get(level, Level())
        for above in range(1, level):
            self.counts.setdefault(above, self.levels.get(above, Level()).start)
        self.counts = {place: count for place, count in self.counts.items() if place <= level}
        first = own.start if start is None else start
        self.counts[level] = self.counts[level] + 1 if level in self.counts and start is None else first
        if own.is_bullet:
            return bullet(level - 1)
        if not own.format:
            return ""
        shown = range(max(1, level - own.shown + 1), level + 1)
        numbers = (format_number(self.counts[place], self.levels.get(place, own).format or "1") for place in shown)
        return f"{own.prefix}{'.'.join(numbers)}{own.suffix}".strip()


class OdtStyles:
    """The styles of content.xml and styles.xml by family and name."""

    def __init__(self, *roots: "_Element | None") -> None:
        self._styles: dict[tuple[str, str], _Element] = {}
        self._lists: dict[str, dict[int, Level]] = {}
        self.outline: dict[int, Level] = {}
        for root in roots:
            if root is not None:
                self._read(root)

    def is_bold(self, family: str, name: str | None) -> bool | None:
        """Whether text of a style ("text", "paragraph") is bold; None where neither it nor its bases say."""
        for style in self._chain(family, name):
            for properties in style.iter(f"{STYLE}text-properties"):
                if weight := properties.get(f"{_FORMAT}font-weight"):
                    return weight in {"bold", "600", "700", "800", "900"}
        return None

    def is_a(self, name: str | None, *kinds: str) -> bool:
        """Whether a paragraph's style, or one it is based on, has one of those words in its name."""
        for style in self._chain("paragraph", name):
            own = (style.get(f"{STYLE}display-name") or style.get(f"{STYLE}name") or "").casefold().replace("_20_", " ")
            if any(kind in own for kind in kinds):
                return True
        return False

    def counter(self, list_style: str | None) -> Counter:
        """A list of that style, at its beginning."""
        return Counter(self._lists.get(list_style or "", {}))

    def _chain(self, family: str, name: str | None) -> "Iterator[_Element]":
        for _ in range(_MOST_BASES):
            style = self._styles.get((family, name or ""))
            if style is None:
                return
            yield style
            name = style.get(f"{STYLE}parent-style-name")

    def _read(self, root: "_Element") -> None:
        for style in root.iter(f"{STYLE}style"):
            self._styles[style.get(f"{STYLE}family", ""), style.get(f"{STYLE}name", "")] = style
        for found in root.iter(f"{TEXT}list-style"):
            self._lists[found.get(f"{STYLE}name", "")] = _levels(found)
        for found in root.iter(f"{TEXT}outline-style"):
            self.outline = _levels(found)


def _levels(parent: "_Element") -> dict[int, Level]:
    levels = {}
    for element in parent:
        place = number(element.get(f"{TEXT}level")) or 0
        if not 1 <= place <= _DEEPEST:
            continue
        if element.tag in _LEVELS:
            levels[place] = Level(
                element.get(f"{STYLE}num-format", ""),
                element.get(f"{STYLE}num-prefix", ""),
                element.get(f"{STYLE}num-suffix", ""),
                number(element.get(f"{TEXT}display-levels")) or 1,
                number(element.get(f"{TEXT}start-value")) or 1,
            )
        else:
            levels[place] = Level(is_bullet=True)
    return levels
