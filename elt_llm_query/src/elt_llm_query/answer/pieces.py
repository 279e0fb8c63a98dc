"""A passage cut into its pieces: sentences, list items, table rows, and the furniture that only names what follows."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from elt_llm_core.text.normalise import fold
from elt_llm_core.text.sentences import sentence_spans

PieceKind = Literal["prose", "row", "item", "rule", "heading", "question"]

_RULE = re.compile(r"^[\s|:+=~*_-]+$")
_HEADING = re.compile(r"^#{1,6}\s|^[^\n.!?:;|]{1,80}\n[=~^*-]{3,}$")
_UNDERLINED = re.compile(r"\n[=~^*-]{3,}$")
ITEM = re.compile(r"^(?:[-*•\u2013·]|\(?\w{1,3}[.)])\s+")
# "6. Drones", "A3.1 Fees", "Part L: Welfare": the number of a heading.
_LABELLED = re.compile(r"\S*[\d:.)]|\w+ \w{1,3}:")
_LABEL = re.compile(r"^(?:\w+ )?\(?[\w.]{1,8}[.):]?\s+")
_QUESTION = re.compile(r"[?\uff1f][\"'\u201d\u2019»)\]*_]*$")
_OPEN_END = re.compile(r"[.!?:;,…|)\"”»]\W{0,40}$|\d")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKS = re.compile(r"\*\*|__|`+|^\s{0,40}#{1,6}\s{1,40}|^\s{0,40}[-*•\u2013·]\s{1,40}", re.MULTILINE)
_LONGEST_HEADING = 8


@dataclass(frozen=True)
class Piece:
    """The words text[start:end] of a passage; `new_paragraph` if a blank line or the beginning stands before them."""

    start: int
    end: int
    text: str
    kind: PieceKind
    new_paragraph: bool


def pieces(text: str, titles: Collection[str]) -> list[Piece]:
    """The pieces of a passage in order; `titles` are the headings known to stand over it."""
    spans = [piece for span in sentence_spans(text) for piece in lines_of_tables(text, span)]
    known = {_bare(title) for title in titles} - {""}
    found: list[Piece] = []
    for position, (start, end) in enumerate(spans):
        before = text[spans[position - 1][1] : start] if position else "\n\n"
        after = text[end : spans[position + 1][0]] if position + 1 < len(spans) else ""
        following = text[slice(*spans[position + 1])] if position + 1 < len(spans) else ""
        kind = _kind(text[start:end])
        apart = before.count("\n") > 1
        alone = apart and after.count("\n") > 1
        over_table = "\n" in after and is_row(following)
        if kind == "prose" or (kind == "item" and not _among_items(found, following)):
            kind = "heading" if _is_heading(text[start:end], known, alone=alone, over_table=over_table) else kind
        found.append(Piece(start, end, text[start:end], kind, apart))
    return found


def without_markup(text: str) -> str:
    """Text without Markdown's emphasis, links, heading and list marks, on one line."""
    return " ".join(_MARKS.sub("", _LINK.sub(r"\1", _UNDERLINED.sub("", text))).split())


def is_row(text: str) -> bool:
    """Whether a line is a row of a table."""
    return text.lstrip().startswith("|") or text.count(" | ") >= 1 or "\t" in text.strip()


def lines_of_tables(text: str, span: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """The span, but each row of a table by itself."""
    begin = None
    for line in re.finditer(r"[^\n]+", text[span[0] : span[1]]):
        start, end = span[0] + line.start(), span[0] + line.start() + len(line.group().rstrip())
        if is_row(line.group()):
            if begin is not None:
                yield begin
            begin = None
            yield start + len(line.group()) - len(line.group().lstrip()), end
        elif line.group().strip():
            begin = (begin[0] if begin else start + len(line.group()) - len(line.group().lstrip()), end)
    if begin is not None:
        yield begin


def _kind(text: str) -> PieceKind:
    if _RULE.match(text):
        return "rule"
    if is_row(text) and "\n" not in text:
        return "row"
    if _QUESTION.search(text):
        return "question"
    if _HEADING.match(text):
        return "heading"
    return "item" if ITEM.match(text) else "prose"


def _is_heading(text: str, titles: Collection[str], *, alone: bool, over_table: bool) -> bool:
    """A known title, capitals, or a short line by itself (or over a table) that has no full stop and no figure."""
    short = len(text.split()) <= _LONGEST_HEADING
    if _bare(text) in titles or (text.isupper() and short):
        return True
    said = _LABEL.sub("", text, count=1) if _LABELLED.match(text) else text
    return ((alone and short) or over_table) and "\n" not in text and not _OPEN_END.search(said)


def _among_items(before: list[Piece], following: str) -> bool:
    return bool(before and before[-1].kind == "item") or bool(ITEM.match(following))


def _bare(title: str) -> str:
    return fold(without_markup(title)).strip(" .:")
