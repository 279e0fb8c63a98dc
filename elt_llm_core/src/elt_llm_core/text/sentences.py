"""Where the sentences of a text lie; made for rule books, whose numbers and abbreviations are full of full stops."""

# ruff: noqa: RUF001 - the look-alike quotes and stops are what this file is about.
import re
from collections.abc import Iterator

from elt_llm_core.text.abbreviations import CONJUNCTIONS, MONTHS, NUMBERED, OPEN, REFERENCES, STARTERS, TITLES

CLOSERS = "\"'”’»)\\]*_"
# Possessive, and never from the middle of a run: else a long row of dots would take quadratic time.
END = re.compile(rf"(?<![.!?…])[.!?…]++[{CLOSERS}]*+(?=\s)|(?<![。！？｡])[。！？｡]++[」』”’）]*+")
FIRST_WORD = re.compile(r"[\s\"'“‘«„(\[*_]*((?:l')?[^\W_]+|)")
LAST_WORD = re.compile(r"[^\s\"“‘«„(\[*_/—–]{0,24}\Z")
INITIAL = re.compile(r"[A-Z]|(?:[A-Z]\.)+[A-Z]", re.ASCII)
BARE_MARKER = re.compile(r"\W*(?:(?:\d{1,4}\.)*\d{1,4}|[A-Za-z]|[ivxIVX]{1,6})[.)]\W*")
ABBREVIATION_REACH = 24  # characters looked back at; no abbreviation is longer

ITEM_LINE = re.compile(r"\s*(?:[-*+•–▪◦‣●○■□·]\s|#{1,6}\s|>|\|)")
NUMBER_LINE = re.compile(
    r"\s*(?:\((?:[a-zA-Z]{1,2}|[ivxIVX]{1,6}|\d{1,3})\)|[a-z][.)]|[ivx]{1,6}[.)]|\d{1,3}[.)]|\d{1,3}(?:\.\d{1,3})+[.)]?)\s+(\S?)"
)
TABLE_ROW = re.compile(r"\s*\|")
CLOSED_LINE = re.compile(r"\s*(?:#{1,6}\s|\||```|~~~|[=\-_*]{3,}\s*\Z)")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Spans (start, end) of the sentences, in order and stripped; each visible character lies in exactly one.

    Ends are full stops, question and exclamation marks that close a sentence, blank lines, headings, table rows and
    the lines before list items and numbered rules. A line break within a sentence is no end. Linear in the length.
    """
    spans: list[tuple[int, int]] = []
    for start, end in _blocks(text):
        spans.extend(_sentences_of(text, start, end))
    return spans


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Spans of lines that belong together: one paragraph, list item, heading or table row."""
    start = position = 0
    previous = ""
    for line in text.splitlines(keepends=True):
        if _starts_block(line, previous):
            yield start, position
            start = position
        previous = line
        position += len(line)
    yield start, position


def _starts_block(line: str, previous: str) -> bool:
    before = previous.rstrip()
    if not before or not line.strip():
        return True
    if CLOSED_LINE.match(before) or CLOSED_LINE.match(line) or ITEM_LINE.match(line):
        return True
    if _is_capital_heading(before):
        return True
    return _is_numbered(line, before)


def _is_numbered(line: str, before: str) -> bool:
    match = NUMBER_LINE.match(line)
    if match is None:
        return False
    in_brackets = ")" in match.group()
    return (in_brackets or not match.group(1).islower()) and not _asks_for_number(before, in_brackets)


def _asks_for_number(before: str, in_brackets: bool) -> bool:
    """Whether a line ends as in "... according to rule", so that the number on the next one belongs to it."""
    if before[-1] in "(,":
        # Items in brackets may end with commas: "(a) pays," / "(b) plays".
        return before[-1] == "(" or not in_brackets
    rest, _, word = before.rpartition(" ")
    if word in CONJUNCTIONS and rest.rstrip().endswith((";", ",")):
        return False
    return word.lower() in NUMBERED


def _is_capital_heading(line: str) -> bool:
    return len(line) <= 80 and line.isupper() and line[-1] not in ",;:-" and " " in line.strip()


def _sentences_of(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if TABLE_ROW.match(text, start, end):
        yield from _stripped(text, start, end)
        return
    begin = start
    for match in END.finditer(text, start, end):
        if _ends_sentence(text, begin, match, end):
            yield from _stripped(text, begin, match.end())
            begin = match.end()
    yield from _stripped(text, begin, end)


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    bare = piece.strip()
    if bare:
        first = start + len(piece) - len(piece.lstrip())
        yield first, first + len(bare)


def _ends_sentence(text: str, begin: int, match: re.Match[str], end: int) -> bool:
    mark = match.group()
    following = FIRST_WORD.match(text, match.end(), end)
    word = following.group(1) if following else ""
    if mark[0] in "。！？｡":
        return True
    if mark.startswith(("..", "…")):
        return not word[:1].islower()
    if mark[0] in "!?":
        # He asked "Why?" and left.
        return not (word[:1].islower() and mark[-1] not in "!?")
    if word[:1].islower():
        return False
    return not _is_abbreviated(text, begin, match.start(), word)


def _is_abbreviated(text: str, begin: int, stop: int, following: str) -> bool:
    """Whether the full stop at `stop` belongs to the word before it."""
    before = text[max(begin, stop - ABBREVIATION_REACH) : stop]
    if len(before) < ABBREVIATION_REACH and BARE_MARKER.fullmatch(before.strip() + "."):
        return True
    found = LAST_WORD.search(before)
    word = found.group() if found else ""
    lowered = word.lower()
    if lowered in TITLES:
        return True
    if lowered in REFERENCES:
        return following[:1].isdigit() or (len(following) == 1 and following.lower() not in STARTERS)
    if lowered in OPEN or INITIAL.fullmatch(word):
        return following != "" and following.lower() not in STARTERS
    return word.isdigit() and len(word) <= 2 and following.lower() in MONTHS
