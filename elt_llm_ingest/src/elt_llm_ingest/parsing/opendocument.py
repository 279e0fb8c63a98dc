"""Look up what the styles of OpenDocument files define, such as whether text is bold or struck out."""

from collections.abc import Iterator

from lxml.etree import _Element

from elt_llm_ingest.parsing.xml_guard import is_comment

NAMES = "urn:oasis:names:tc:opendocument:xmlns"
OFFICE = f"{{{NAMES}:office:1.0}}"
TEXT = f"{{{NAMES}:text:1.0}}"
TABLE = f"{{{NAMES}:table:1.0}}"
STYLE = f"{{{NAMES}:style:1.0}}"
_FORMAT = f"{{{NAMES}:xsl-fo-compatible:1.0}}"
_MOST_BASES = 20  # the most styles in a chain of styles that are each based on the next

_BLANKS = {f"{TEXT}s": " ", f"{TEXT}tab": " ", f"{TEXT}line-break": "\n"}


class OpenStyles:
    """The styles of content.xml and styles.xml, by style family and name."""

    def __init__(self, *roots: _Element | None) -> None:
        self._styles: dict[tuple[str, str], _Element] = {}
        for root in roots:
            for style in () if root is None else root.iter(f"{STYLE}style"):
                self._styles[style.get(f"{STYLE}family", ""), style.get(f"{STYLE}name", "")] = style

    @property
    def strike_out(self) -> bool:
        """Whether any of the styles strikes its text out."""
        return any(self.is_struck(family, name) for family, name in self._styles)

    def is_bold(self, family: str, name: str | None) -> bool | None:
        """Return whether a style of a family such as "text" is bold; None if it and its base styles set no weight."""
        weight = self._text_property(family, name, f"{_FORMAT}font-weight")
        return weight in {"bold", "600", "700", "800", "900"} if weight else None

    def is_struck(self, family: str, name: str | None) -> bool | None:
        """Return whether a style of a family strikes its text out; None if it and its base styles do not set this."""
        line = self._text_property(family, name, f"{STYLE}text-line-through-style")
        return line != "none" if line else None

    def is_raised(self, span: _Element | None) -> bool:
        """Return whether an element is a span of superscript text."""
        name = None if span is None else span.get(f"{TEXT}style-name")
        return self._text_property("text", name, f"{STYLE}text-position").startswith("super")

    def _text_property(self, family: str, name: str | None, key: str) -> str:
        texts = (part for style in self._chain(family, name) for part in style.iter(f"{STYLE}text-properties"))
        return next((value for part in texts if (value := part.get(key))), "")

    def _chain(self, family: str, name: str | None) -> Iterator[_Element]:
        for _ in range(_MOST_BASES):
            style = self._styles.get((family, name or ""))
            if style is None:
                return
            yield style
            name = style.get(f"{STYLE}parent-style-name")


def styled_texts(element: _Element, styles: OpenStyles, *, struck: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the texts in a paragraph, and whether each is struck out. `struck` is the format around the paragraph."""
    family = "text" if element.tag == f"{TEXT}span" else "paragraph"
    own = styles.is_struck(family, element.get(f"{TEXT}style-name"))
    struck = struck if own is None else own
    yield _BLANKS.get(str(element.tag), "") + (element.text or ""), struck
    for child in element:
        if not is_comment(child):
            yield from styled_texts(child, styles, struck=struck)
        yield child.tail or "", struck
