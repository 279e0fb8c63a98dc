"""What the markup of a document says of its terms, as spans of its text: kept beside it as an artefact."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

ARTEFACT = "marked_terms"
Span = tuple[int, int]
Pair = tuple[int, int, int, int]


@dataclass(frozen=True)
class MarkedTerms:
    """Places where markup tells a term. All offsets are characters of the document's text, in order of place."""

    definitions: tuple[Pair, ...] = ()
    """Start and end of a term, start and end of what it means: the entries of definition lists."""
    terms: tuple[Span, ...] = ()
    """Words that are marked as the term which their sentence defines."""
    leading: tuple[Span, ...] = ()
    """Emphasised words with which a paragraph begins, whether or not what follows defines them."""

    def __bool__(self) -> bool:
        """Whether anything is marked."""
        return bool(self.definitions or self.terms or self.leading)

    def to_json(self) -> dict[str, list[list[int]]]:
        """As JSON: lists of offsets by name."""
        return {
            "definitions": [list(pair) for pair in self.definitions],
            "terms": [list(span) for span in self.terms],
            "leading": [list(span) for span in self.leading],
        }

    @staticmethod
    def from_json(value: Any, length: int) -> "MarkedTerms":
        """What `to_json` wrote about a text of `length` characters; whatever lies outside of the text is left out."""
        spans = value if isinstance(value, dict) else {}
        pairs = _within(spans.get("definitions"), 4, length)
        return MarkedTerms(
            tuple((one[0], one[1], one[2], one[3]) for one in pairs),
            tuple((one[0], one[1]) for one in _within(spans.get("terms"), 2, length)),
            tuple((one[0], one[1]) for one in _within(spans.get("leading"), 2, length)),
        )

    def cut(self, start: int, end: int) -> "MarkedTerms":
        """What lies in text[start:end], counted from `start`; entries that are cut in two are left out."""

        def moved(spans: Sequence[Sequence[int]]) -> list[list[int]]:
            return [[offset - start for offset in span] for span in spans if start <= span[0] and span[-1] <= end]

        value = {"definitions": moved(self.definitions), "terms": moved(self.terms), "leading": moved(self.leading)}
        return MarkedTerms.from_json(value, end - start)


def _within(value: Any, count: int, length: int) -> list[list[int]]:
    """The lists of `count` ascending offsets within the text whose spans are not empty, in order, each once."""
    found = [one for one in value if _is_ascending(one, count, length)] if isinstance(value, list | tuple) else []
    return [list(one) for one in sorted({tuple(one) for one in found})]


def _is_ascending(value: Any, count: int, length: int) -> bool:
    if not isinstance(value, list | tuple) or len(value) != count or not all(type(one) is int for one in value):
        return False
    inside = value[0] >= 0 and value[-1] <= length
    return inside and list(value) == sorted(value) and all(value[at] < value[at + 1] for at in range(0, count, 2))
