"""Spans of terms and definitions: how far a definition goes, and how its text is written on one line."""

import re

from elt_llm_query.answer.pieces import Piece

from elt_llm_consumer.definitions.layout import Layout

# ruff: noqa: RUF001 - the look-alike dashes and quotes are what this file is about.
_LINK = re.compile(r"!?\[([^\[\]]{1,300})\]\([^()\s]{0,2000}\)")
_MARKS = re.compile(
    r"\*\*|__|`{1,3}|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)|<br ?/?>|\\(?=\|)"
)
_NOTE = re.compile(r"\s?\[\d{1,3}\](?!\()|\s\[\^\w{1,20}\]")
_MARKER = re.compile(r"(?P<bullet>[-*+•–▪◦‣●○■□·])\s|\(?(?P<name>[A-Za-z]{1,5}|\d{1,3})[.)]\s")
_ROMAN = re.compile(r"[ivx]{1,5}$")
_OPEN_END = re.compile(
    r"(?:[:,;—–-]|\b(?:and|or|und|oder|und/oder|and/or|either|both|of|the|following|whether|if|who|which|that|where|when"
    r"|namely|any|means?|by|ob|wenn|die|der|das|nämlich))\s*$",
    re.IGNORECASE,
)
# "(a) as a servant": the first item of a list that goes on with a sentence.
_FIRST_ITEM = re.compile(r"\(?[ai1][.)]\s{1,9}[a-zäöü]")
_CLOSED = re.compile(r"[.!?][\"'”’)\]*_]{0,3}\s*$")
_GOES_ON = re.compile(
    r"(?:it|they|this|the\s+term|these)\s+(?:also\s+|does\s+not\s+|do\s+not\s+|shall\s+|expressly\s+)?(?:includes?|excludes?|covers?"
    r"|comprises?|extends?\s+to)\b",
    re.IGNORECASE,
)
_MOST_MARKS = 4  # signs of emphasis and quotes before a term
_OPENING = re.compile(r"(?<!\w)[\"“„«‘'*_`]{1,4}$")
_CLOSING = re.compile(r"[\"”“»’'*_`]{1,4}")
_AHEAD = 3  # pieces within which the next item of a list follows
_TAIL = re.compile(r"[\s;,]{1,12}(?:and|or|und|oder)?[\s;,]{0,12}$", re.IGNORECASE)


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without white space at both ends; it may be empty."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip())) if part.strip() else start


def with_marks(text: str, start: int, end: int, term: tuple[int, int]) -> tuple[int, int]:
    """The span with the quotes, emphasis and bracket around a term that stands at one end of it."""
    opening = _OPENING.search(text, max(0, term[0] - _MOST_MARKS), term[0])
    if opening and term[0] == start:
        start = opening.start()
    if term[1] == end:
        closing = _CLOSING.match(text, end) if opening else None
        end = closing.end() if closing else end
        if text[end : end + 1] == ")" and text.count("(", start, end) > text.count(")", start, end):
            end += 1
    return start, end


def trimmed_definition(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without what joins it to the next of a list: "; and"."""
    start, end = trimmed(text, start, end)
    tail = _TAIL.search(text, max(start, end - 12), end)
    return (start, tail.start()) if tail else (start, end)


def one_line(text: str) -> str:
    """Text without emphasis, links and marks of notes, all white space one blank."""
    return " ".join(_MARKS.sub("", _NOTE.sub("", _LINK.sub(r"\1", text))).split())


def marker_style(text: str) -> str:
    """What kind of mark a list item begins with: `a`, `A`, `i`, `1`, or the bullet itself; empty without one."""
    found = _MARKER.match(text)
    if found is None:
        return ""
    if found["bullet"]:
        return found["bullet"]
    name = found["name"]
    if name.isdigit():
        return "1"
    if _ROMAN.match(name):
        return "i"
    return ("A" if name.isupper() else "a") if len(name) <= 2 else ""


class Extent:
    """Finds where a definition that begins in one piece of a document ends."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def end(self, number: int, end: int) -> int:
        """Where the definition that runs to `end` in pieces[number] ends: after its list, or on the next page."""
        pieces = self._layout.pieces
        own = marker_style(pieces[number].text)
        end, number = self._over_page(number, end)
        if _OPEN_END.search(pieces[number].text) or self._is_parted(number, own):
            number = self._list(number, own)
            end = pieces[number].end
        following = self._following(number)
        while following is not None and _GOES_ON.match(following.text) and not following.new_paragraph:
            end, number = following.end, number + 1
            following = self._following(number)
        return end

    def _following(self, number: int) -> Piece | None:
        pieces = self._layout.pieces
        return pieces[number + 1] if number + 1 < len(pieces) else None

    def _is_parted(self, number: int, own: str) -> bool:
        """Whether a sentence without an end goes on in the items below it: "information (a) is seen, (b) is lost"."""
        following = self._following(number)
        return (
            not own.isalpha()
            and following is not None
            and _CLOSED.search(self._layout.pieces[number].text) is None
            and _FIRST_ITEM.match(following.text) is not None
        )

    def _over_page(self, number: int, end: int) -> tuple[int, int]:
        """The sentence's end if a page cut it in two."""
        one, following = self._layout.pieces[number], self._following(number)
        cut = following is not None and self._layout.page_between(one.start, following.start)
        if following is None or not cut or _CLOSED.search(one.text) or following.kind not in ("prose", "item"):
            return end, number
        goes_on = following.text[:1].islower() and not marker_style(following.text)
        return (following.end, number + 1) if goes_on else (end, number)

    def _list(self, number: int, own: str) -> int:
        """The last piece of the list under pieces[number]; items marked as `own` are siblings of the definition."""
        pieces = self._layout.pieces
        first = ""
        last = number
        for place in range(number + 1, min(len(pieces), number + 200)):
            one = pieces[place]
            style = marker_style(one.text)
            if one.kind in ("heading", "row", "rule") or (own and _same(style, own, first)):
                break
            if style:
                first = first or style
            elif not first or not self._belongs(pieces[place - 1], one):
                break
            last = place
            if _CLOSED.search(one.text) and self._ends(place, first):
                break
        return last

    def _belongs(self, before: Piece, one: Piece) -> bool:
        """Whether what has no mark goes on: the second sentence of an item, or the words after the list."""
        return not one.new_paragraph or (one.text[:1].islower() and not _CLOSED.search(before.text))

    def _ends(self, place: int, first: str) -> bool:
        """Whether no further item of the list follows."""
        ahead = self._layout.pieces[place + 1 : place + 1 + _AHEAD]
        return all(marker_style(piece.text) != first for piece in ahead)


def _same(style: str, own: str, first: str) -> bool:
    """Whether an item is of the list the definition itself stands in; (i) after (h) is no roman number."""
    return style == own and (first == "" or first != own)
