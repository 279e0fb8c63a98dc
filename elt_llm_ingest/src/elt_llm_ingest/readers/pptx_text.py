"""The text in a shape of a slide: paragraphs, with the bullets or numbers that it, its layout or its master tell."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from elt_llm_ingest.parsed_document import BlockKind
from elt_llm_ingest.readers.docx_styles import number
from elt_llm_ingest.readers.headings import begins_item, begins_rule
from elt_llm_ingest.readers.list_markers import bullet, format_number
from elt_llm_ingest.readers.ooxml import COMPATIBILITY, DRAWING, MATH, chosen

if TYPE_CHECKING:
    from lxml.etree import _Element

_LEFT_OUT = frozenset((f"{DRAWING}pPr", f"{DRAWING}rPr", f"{DRAWING}endParaRPr"))
# Fields that say on which slide and on which day they stand.
_RUNNING_FIELDS = ("slidenum", "datetime")
_COUNTED = (("arabic", "decimal"), ("alphaLc", "a"), ("alphaUc", "A"), ("romanLc", "i"), ("romanUc", "I"))
_BULLETS = tuple(f"{DRAWING}{name}" for name in ("buNone", "buChar", "buAutoNum", "buBlip"))


class Line(NamedTuple):
    """A paragraph with its marker, and what kind of block it is."""

    text: str
    kind: BlockKind


def plain_text(paragraphs: "_Element") -> str:
    """All text below an element, one line a paragraph."""
    return "\n".join(filter(None, (paragraph_text(found) for found in paragraphs.iter(f"{DRAWING}p"))))


def paragraph_text(paragraph: "_Element") -> str:
    """The text of a paragraph, its own line breaks kept."""
    pieces = []
    pending = [paragraph]
    while pending:
        element = pending.pop()
        if element.tag in {f"{DRAWING}t", f"{MATH}t"}:
            pieces.append(element.text or "")
        elif element.tag == f"{DRAWING}br":
            pieces.append("\n")
        elif element.tag == f"{COMPATIBILITY}AlternateContent":
            pending += reversed(chosen(element))
        elif element.tag not in _LEFT_OUT and not _is_running_field(element):
            pending += reversed(element)
    # A vertical tab is how a line break within a title is written.
    lines = "".join(pieces).replace("\v", "\n").split("\n")
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


def lines_of(body: "_Element", styles: "Sequence[_Element]") -> Iterator[Line]:
    """The paragraphs of a text body. `styles` are the list styles it inherits, nearest first."""
    counts: dict[int, int] = {}
    for paragraph in body.findall(f"{DRAWING}p"):
        text = paragraph_text(paragraph)
        if not text:
            continue
        properties = paragraph.find(f"{DRAWING}pPr")
        level = min(number(properties.get("lvl")) or 0, 8) if properties is not None else 0
        sign = _bullet_of(properties, level, styles)
        marker = "" if sign is None else _marker(sign, level, counts)
        counts = {own: count for own, count in counts.items() if own < level or (own == level and marker)}
        marked = f"{marker} {text}".strip()
        if begins_rule(marked[:80]):
            yield Line(marked, "rule")
        else:
            yield Line(marked, "list" if marker or begins_item(marked[:80]) else "prose")


def _bullet_of(properties: "_Element | None", level: int, styles: "Sequence[_Element]") -> "_Element | None":
    """What the paragraph, or the nearest style that says anything of its level, puts before it."""
    inherited = (style.find(f"{DRAWING}lvl{level + 1}pPr") for style in styles)
    for source in (properties, *inherited):
        for element in () if source is None else source:
            if element.tag in _BULLETS:
                return element
    return None


def _marker(sign: "_Element", level: int, counts: dict[int, int]) -> str:
    if sign.tag == f"{DRAWING}buNone":
        return ""
    if sign.tag != f"{DRAWING}buAutoNum":
        return bullet(level)
    counts[level] = counts[level] + 1 if level in counts else number(sign.get("startAt")) or 1
    kind = sign.get("type", "")
    shown = next((shown for name, shown in _COUNTED if kind.startswith(name)), "decimal")
    written = format_number(counts[level], shown)
    if kind.endswith("ParenBoth"):
        return f"({written})"
    return written + (")" if kind.endswith("ParenR") else "" if kind.endswith("Plain") else ".")


def _is_running_field(element: "_Element") -> bool:
    return element.tag == f"{DRAWING}fld" and element.get("type", "").startswith(_RUNNING_FIELDS)
