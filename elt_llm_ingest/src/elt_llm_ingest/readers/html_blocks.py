"""The visible text of HTML elements as blocks: paragraphs, headings, list items, table rows, preformatted lines."""

import re
from collections import Counter
from collections.abc import Mapping

from selectolax.lexbor import LexborNode

from elt_llm_ingest.parsed_document import BlockKind
from elt_llm_ingest.readers.document_builder import DocumentBuilder
from elt_llm_ingest.readers.headings import begins_rule
from elt_llm_ingest.readers.html_terms import EMPHASIS, DefinitionLists, LineMarks, mark_line

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_INLINE = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i"),
        *("img", "ins", "kbd", "label", "mark", "q", "rb", "rp", "rt", "ruby", "s", "samp", "small", "span"),
        *("strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    )
)
_ITEMS: Mapping[str, BlockKind] = {"li": "list", "dt": "definition", "dd": "definition"}
_NOTE_LINKS = frozenset(("doc-noteref", "noteref", "footnote-reference", "footnote-ref", "footnoteref"))
_SPACE = re.compile(r"\s+")


class BlockWriter:
    """Appends the elements of one tree to a document, without recursion, so that no depth of nesting can end it."""

    def __init__(self, builder: DocumentBuilder) -> None:
        self._builder = builder
        self._line: list[str] = []
        self._kind: BlockKind = "prose"
        self._tight = False
        self._bare = ""
        self._numbers: Counter[int] = Counter()
        self._lists = DefinitionLists(builder)
        self._marks = LineMarks()

    def write(self, root: LexborNode) -> None:
        """Append what is below `root`."""
        pending: list[tuple[LexborNode, bool]] = [(root, False)]
        while pending:
            node, leaving = pending.pop()
            if leaving:
                self._leave(node.tag or "")
            elif not self._leaf(node):
                if node.tag not in _INLINE or node.tag in EMPHASIS:
                    self._enter(node)
                    pending.append((node, True))
                pending += [(child, False) for child in reversed(list(node.iter(include_text=True)))]
        self._flush()
        self._lists.end()

    def _leave(self, tag: str) -> None:
        if tag in EMPHASIS:
            self._marks.close(len(self._line))
            return
        self._flush()
        self._kind, self._tight = "prose", False
        self._lists.leave(tag)

    def _enter(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in EMPHASIS:
            self._marks.open(tag, len(self._line))
            return
        if tag in ("p", "div") and self._bare and "".join(self._line).strip() == self._bare:
            # The item's text stands in a paragraph of its own: its marker waits for it.
            return
        self._flush()
        self._lists.enter(tag)
        if tag in _ITEMS:
            self._kind = _ITEMS[tag]
            self._tight = tag == "dd" or _follows_item(node)
            self._line.append(self._marker(node))
            self._bare = self._line[-1].strip()

    def _marker(self, node: LexborNode) -> str:
        """What stands before a list item: its number in an ordered list, else a bullet."""
        parent = node.parent
        if node.tag != "li":
            return ""
        if parent is None or parent.tag != "ol":
            return "\u2022 "
        self._numbers[parent.mem_id] += 1
        start = parent.attributes.get("start") or "1"
        first = int(start) if start.isdecimal() and len(start) < 9 else 1
        return f"{first + self._numbers[parent.mem_id] - 1}. "

    def _leaf(self, node: LexborNode) -> bool:
        """Write a node that is taken whole; False if its children come one by one."""
        tag = node.tag or ""
        if tag == "-text":
            self._line.append(node.text_content or "")
        elif tag == "a" and (mark := _note_mark(node)):
            self._line.append(mark)
        elif tag == "br":
            self._flush(tight=True)
        elif tag in _HEADINGS:
            self._flush()
            self._builder.add_heading(_flat(node), _HEADINGS[tag])
        elif tag == "pre":
            self._flush()
            self._builder.add(node.text().strip("\n").expandtabs(4), "code")
        elif tag == "table" and _is_data(node):
            self._flush()
            self._table(node)
        else:
            return tag.startswith(("-", "!", "_"))
        return True

    def _flush(self, *, tight: bool = False) -> None:
        text = _SPACE.sub(" ", "".join(self._line)).strip()
        marks = self._marks.take(self._line)
        self._line.clear()
        if text and text not in (self._bare, "\u00b6"):
            kind: BlockKind = "rule" if self._kind == "prose" and begins_rule(text[:80]) else self._kind
            self._builder.add(text, kind, tight=self._tight)
            self._tight = tight
            mark_line(self._builder, marks, self._bare)

    def _table(self, table: LexborNode) -> None:
        """Rows as `cell | cell`, the first of header cells standing as header over the others."""
        caption = table.css_first("caption")
        if caption:
            self._builder.add(_flat(caption))
        header, first = "", caption is None
        for row in table.css("tr"):
            cells = [cell for cell in row.iter() if cell.tag in ("td", "th")]
            text = " | ".join(_flat(cell) for cell in cells).strip(" |")
            if not text:
                continue
            is_header = len(cells) > 1 and all(cell.tag == "th" for cell in cells)
            self._builder.add(text, "table", header="" if is_header else header, tight=not first)
            header, first = text if is_header else header, False


def _note_mark(link: LexborNode) -> str:
    """`[1]` for a link to a note that shows a bare figure, which would read as a number of the sentence; else empty."""
    attributes = link.attributes
    told = (attributes.get("role") or attributes.get("epub:type") or "", *(attributes.get("class") or "").split())
    text = link.text().strip() if _NOTE_LINKS.intersection(told) else ""
    return f"[{text}]" if text.isdecimal() else ""


def _flat(node: LexborNode) -> str:
    return _SPACE.sub(" ", node.text(separator=" ")).replace("\u00b6", "").strip()


def _follows_item(node: LexborNode) -> bool:
    before = node.prev
    if before is not None and before.tag == "-text":
        before = before.prev
    return before is not None and before.tag in ("li", "dd")


def _is_data(table: LexborNode) -> bool:
    """Whether a table holds data: one that holds tables, headings or lists only lays a page out."""
    return table.css_first("table table, td h1, td h2, td h3, td ul, td ol, td pre") is None
