"""Read Markdown. The text is the source without front matter and inline images; blocks are spans of its lines."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import ClassVar

from elt_llm_core.store.records import MetadataValue
from elt_llm_core.text.outline import Section
from elt_llm_core.text.sentences import is_bar_row
from markdown_it import MarkdownIt
from markdown_it.token import Token

from elt_llm_ingest.parsing.charset import decode
from elt_llm_ingest.parsing.document_builder import STRUCK_OUT
from elt_llm_ingest.parsing.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.parsing.parsed_document import (
    Block,
    ParsedDocument,
    fill_gaps,
    find_web_address,
    find_year,
    known_values,
    strip_span,
)
from elt_llm_ingest.readers.headings import starts_rule

_KEY = re.compile(r"([A-Za-z][\w-]{0,63}):(?:[ \t]+(\S.*))?[ \t]{0,99}")
_LIST_ITEM = re.compile(r"[ \t]{0,9}-[ \t]+(?:name:[ \t]+)?([^:]{1,300})")
_MAX_LINES = 200
_LONGEST_TITLE = 2000  # characters
_AUTHOR_KEYS = ("authors", "author", "creator", "by")
_DATE_KEYS = ("year", "date", "published", "publication_date", "created", "dateupdated", "updated", "last_updated")
_URL_KEYS = ("url", "source", "canonical_url", "canonical", "permalink", "link")


def split_front_matter(text: str) -> tuple[int, dict[str, str]]:
    """Return the body's offset and the front matter's values, or 0 and {}. The items of a list are joined by "; "."""
    lines = text.split("\n", _MAX_LINES)[:_MAX_LINES]
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    if end is None or lines[0].rstrip() != "---":
        return 0, {}
    return min(len(text), sum(len(line) + 1 for line in lines[: end + 1])), _parse_values(lines[1:end])


def _parse_values(lines: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    items: dict[str, list[str]] = {}
    key = ""
    for line in lines:
        if match := _KEY.fullmatch(line):
            key, value = match.group(1).lower(), (match.group(2) or "").strip()
            if value.startswith("[") and value.endswith("]"):
                items[key] = [_unquoted_value(item) for item in value[1:-1].split(",")]
            elif value and value[0] not in "|>[{&*!":
                values[key] = _unquoted_value(value)
        elif key and key not in values and (match := _LIST_ITEM.fullmatch(line)):
            items.setdefault(key, []).append(_unquoted_value(match.group(1)))
    return values | {key: "; ".join(filter(None, listed)) for key, listed in items.items() if any(listed)}


def _unquoted_value(value: str) -> str:
    return value.strip().strip("\"'")


def front_matter_metadata(values: Mapping[str, str]) -> dict[str, MetadataValue]:
    """Return the front matter as metadata, with authors, year and web address under the keys that all readers use."""
    return {key: value for key, value in values.items() if key not in ("author", "year")} | known_values(
        authors=next((values[key] for key in _AUTHOR_KEYS if values.get(key)), ""),
        year=find_year(*(values.get(key, "") for key in _DATE_KEYS)),
        url=find_web_address(values.get(key, "") for key in _URL_KEYS),
    )


# Type, parameters and payload of a `data:` address. The last quantifier is possessive, for linear time.
_ADDRESS = re.compile(r"data:[\w.+-]{1,40}/[\w.+-]{1,60}(?:;[\w.+=-]{1,60}){0,4},[^\s\"'<>()\[\]]*+", re.IGNORECASE)
# A line that only defines such an address, `[logo]: <data:image/png;base64,...>`, is removed as a whole.
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]\n]{1,200}\]:[ \t]{0,9}<?$")
_DEFINITION_REACH = 300  # characters before an address that are searched for the start of its line
_SHORTEST = 64  # characters; a shorter address is kept, because it is probably an example in the text


def remove_inline_images(text: str) -> str:
    """Remove `data:` addresses, so that `![Logo](data:image/png;base64,...)` becomes `![Logo]()`.

    The names of pictures and all other addresses are kept. The time is linear in the length of the text.
    """
    kept: list[str] = []
    position = 0
    for match in _ADDRESS.finditer(text):
        if match.end() - match.start() < _SHORTEST:
            continue
        start, end = _definition_line(text, match.start(), match.end())
        if start >= position:
            kept.append(text[position:start])
            position = end
    kept.append(text[position:])
    return "".join(kept)


def _definition_line(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of an address, or of its whole line if the line is a link definition: `[logo]: data:...`."""
    before = text[max(0, start - _DEFINITION_REACH) : start].rpartition("\n")[2]
    if not _DEFINITION.match(before):
        return start, end
    stop = text.find("\n", end)
    return start - len(before), len(text) if stop < 0 else stop + 1


# Groups are atomic, "(?>(?:a|b)+)", because Python before 3.11.5 matches "(?:a|b)++" wrongly (python/cpython#106052).
# Code, escaped characters and link targets, which stay, or struck-out text with the blanks around it.
_STRUCK = re.compile(
    r"`[^`]{1,500}`|\\.|\]\([^()\s]{1,2000}+|<https?:[^<>\s]{1,2000}+>|"
    r"( ?)(?:~~(?![\s~])(?>(?:[^~]++|~(?!~))+)(?<!\s)~~(?!~)|"
    r"<(del|s|strike)(?:\s[^<>]{0,200})?>(?>(?:[^<]++|<(?!/?\2\b))+)</\2>)( ?)",
    re.IGNORECASE,
)
# Code, or a comment. One that is not closed takes all that follows, so that the time is linear.
_COMMENT = re.compile(r"`[^`]{1,500}`|<!--(?>(?:[^-]++|-(?!->))*)(?:-->|\Z)")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_MARKERS = re.compile(r"(?>(?:[\s>]|(?:[-+*]|\d{1,9}[.)])(?!\S))*)")  # of quotes and list items, at the start of a line
_MARKERS_REACH = 100  # characters before struck-out text that are searched for the start of its line
_STRUCTURE = re.compile(r"(?:[-+*]|#{1,6})(?!\S)|>|(?:=+|-+)[ \t]*(?:\n|$)")


def remove_struck_text(text: str) -> str:
    """Remove `~~struck-out~~` and `<del>struck-out</del>` text, except in code."""
    lines = text.split("\n")
    tokens = (
        MarkdownIt("commonmark").enable("table").disable("inline").parse(text) if "~~" in text or "</" in text else []
    )
    for number, token in reversed([*enumerate(tokens)]):
        if token.map and token.type in ("inline", "html_block"):
            (first, last), before = token.map, tokens[number - 1]
            source = "\n".join(lines[first:last])
            in_table = before.type in ("th_open", "td_open")
            stands = _without_struck(source, in_table=in_table, in_html=token.type == "html_block")
            if stands != source:
                kept = [line for line in stands.split("\n") if line.strip("> \t")]
                # The line below a heading, such as "====", goes with the heading.
                end = before.map[1] if before.type == "heading_open" and before.map and not kept else last
                lines[first:end] = kept or stands.split("\n")[:1]
    return "\n".join(lines)


def remove_comments(text: str) -> str:
    """Remove `<!-- comments -->`, which no reader of the rendered text sees, except in code."""
    lines = text.split("\n")
    tokens = MarkdownIt("commonmark").enable("table").disable("inline").parse(text) if "-->" in text else []
    for token in reversed(tokens):
        if token.map and token.type in ("inline", "html_block"):
            first, last = token.map
            source = "\n".join(lines[first:last])
            kept = _COMMENT.sub(lambda found: "" if found[0].endswith("-->") else found[0], source)
            if kept != source:
                lines[first:last] = [line for line in kept.split("\n") if line.strip()] or [""]
    return "\n".join(lines)


def add_outer_bars(text: str) -> str:
    """Write "Audit log|7 years", a table row without outer bars and without blanks at its bars, with outer bars."""
    lines = text.split("\n")
    tokens = (
        MarkdownIt("commonmark").enable("table").disable("inline").parse(text) if "-|" in text or "|-" in text else []
    )
    for token in tokens:
        if token.type == "tr_open" and token.map and token.level <= 2 and not is_bar_row(lines[token.map[0]]):
            lines[token.map[0]] = f"| {lines[token.map[0]].strip()} |"
    return "\n".join(lines)


def _without_struck(source: str, *, in_table: bool, in_html: bool) -> str:
    """Return the source without struck-out text. What follows it does not become a list item, heading or quotation."""

    def rest(found: re.Match[str]) -> str:
        if found[1] is None or (in_table and _CELL_BORDER.search(found[0])):
            return found[0]
        reach = max(0, found.start() - _MARKERS_REACH)
        line = source.rfind("\n", reach, found.start()) + 1 or reach
        starts_line = not in_html and _MARKERS.fullmatch(source, line, found.start())
        return (found[1] or found[3]) + ("\\" if starts_line and _STRUCTURE.match(source, found.end()) else "")

    return _STRUCK.sub(rest, source)


_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,2000}\)")
_MARKS = re.compile(r"[*`]|\{#[\w-]{1,100}\}|(?<!\w)_|_(?!\w)")


class MarkdownReader(DocumentReader):
    """Reads .md files. Front matter becomes metadata and is excluded from the text, so that no answer quotes it.

    The text is the source below the front matter, without embedded pictures (`data:` addresses), struck-out text and
    comments; table rows without bars at their ends get them. A title in the front matter becomes the first heading,
    unless the text starts with a heading of the first level.
    """

    name: ClassVar[str] = "markdown"
    version: ClassVar[int] = 7

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is not text."""
        source, notes = decode(read_bytes(path))
        document = markdown_document(source, path.stem)
        return replace(document, notes=(*notes, *document.notes))


def markdown_document(source: str, name: str) -> ParsedDocument:
    """Parse a Markdown source. `name` is the title if neither front matter nor a heading provides one."""
    whole = remove_inline_images(source.replace("\f", "\n"))
    body, values = split_front_matter(whole)
    source = remove_comments(whole[body:].lstrip("\n") if body else whole)
    text = remove_struck_text(source)
    notes = () if text == source else (STRUCK_OUT,)
    text = add_outer_bars(text)
    if (named := values.get("title")) and not _has_title_line(text):
        text = f"# {named}\n\n{text}"
    blocks, sections = _Outline(text).parse()
    heading = next((section.title for section in sections if section.level == 1 and section.title), "")
    title = values.get("title") or heading or values.get("name") or name
    return ParsedDocument(text, title, (), sections, blocks, front_matter_metadata(values), notes=notes)


def _has_title_line(text: str) -> bool:
    first = text[:_LONGEST_TITLE].lstrip().split("\n", 2)
    return first[0].startswith("# ") or (len(first) > 1 and re.fullmatch(r"=+\s*", first[1]) is not None)


class _Outline:
    """Converts the block tokens of markdown-it, which have line numbers, to the blocks and sections of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.offsets = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
        self.sections: list[Section] = []

    def parse(self) -> tuple[tuple[Block, ...], tuple[Section, ...]]:
        return tuple(fill_gaps(self.text, self._blocks())), tuple(self.sections)

    def _blocks(self) -> Iterator[Block]:
        parser = MarkdownIt("commonmark").enable("table")
        # Inline markup stays in the text, so that parsing it is unnecessary.
        parser.core.ruler.enableOnly(["normalize", "block"])
        header: str | None = None  # None before the first row of a table; "" if that row has no words
        for token in parser.parse(self.text):
            span = self._span(token)
            if token.type == "table_open":
                header = None
            elif token.type == "tr_open" and token.level <= 2 and span[1] > span[0]:
                end = self._below(token, span[1]) if header is None else span[1]
                yield Block(span[0], end, "table", header or "")
                header = self._slice(span).split("\n")[0].strip("| \t") if header is None else header
            elif token.level == 1 and token.type == "list_item_open" and span[1] > span[0]:
                yield Block(*span, "list")
            elif token.level == 0 and span[1] > span[0]:
                yield from self._block(token, span)

    def _block(self, token: Token, span: tuple[int, int]) -> Iterator[Block]:
        match token.type:
            case "heading_open":
                if title := heading_text(self._slice(span)):
                    self.sections.append(Section(span[0], int(token.tag[1]), title))
                yield Block(*span, "heading")
            case "fence" | "code_block":
                yield Block(*span, "code")
            case "paragraph_open" | "blockquote_open" | "html_block":
                yield Block(*span, "rule" if starts_rule(self._slice(span)[:80]) else "prose")

    def _slice(self, span: tuple[int, int]) -> str:
        return self.text[span[0] : span[1]]

    def _below(self, token: Token, end: int) -> int:
        """Return the end of the line of dashes below a table's header row."""
        first = token.map[0] if token.map else 0
        return max(end, min(self.offsets[min(first + 2, len(self.offsets) - 1)] - 1, len(self.text)))

    def _span(self, token: Token) -> tuple[int, int]:
        if not token.map or token.nesting < 0:
            return 0, 0
        first, last = (min(line, len(self.offsets) - 1) for line in token.map)
        return strip_span(self.text, self.offsets[first], min(self.offsets[last], len(self.text)))


def heading_text(source: str) -> str:
    """Return a heading without its markup, so that `## **Scope** [x](y)` gives `Scope x`."""
    lines = [line for line in source.split("\n") if line.strip("=- \t")]
    bare = " ".join(lines).strip().strip("#").strip()
    return html.unescape(" ".join(_MARKS.sub("", _LINK.sub(r"\1", bare)).split())) or bare
