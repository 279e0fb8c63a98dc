"""Split a text into sentences, taking abbreviations, numbered rules, lists and tables into account."""

import re
from collections.abc import Iterator
from itertools import islice

from elt_llm_core.text.languages import languages, load_language, month_numbers, words


def _words(name: str) -> frozenset[str]:
    return words(name, languages())


TITLES = _words("title_abbreviations")
REFERENCES = _words("reference_abbreviations")
OPEN_ABBREVIATIONS = _words("open_abbreviations")
STARTERS = _words("sentence_starters")
NUMBERED = _words("words_before_numbers")
ITEM_CONJUNCTIONS = _words("item_conjunctions")
_DATED = [code for code in languages() if load_language(code).full_stop_after_day]
MONTHS = frozenset(month_numbers(_DATED))
STREETS = tuple(_words("street_endings"))
BEFORE_ORDINALS = _words("words_before_ordinals")
AFTER_ORDINALS = _words("words_after_ordinals")
DOCUMENT_PARTS = _words("document_parts")

# ruff: noqa: RUF001 - this file needs look-alike quotes and full stops.

CLOSERS = "\"'”’»)\\]*_"
# Quantifiers are possessive, and no match starts within a run. Otherwise a long row of dots would take quadratic time.
END = re.compile(rf"(?<![.!?…])[.!?…]++[{CLOSERS}]*+(?=\s)|(?<![。！？｡])[。！？｡]++[」』”’）]*+")
FIRST_WORD = re.compile(r"[\s\"'“‘«„(\[*_]*((?:l')?[^\W_]+|)")
LAST_WORD = re.compile(r"[^\s\"“‘«„(\[*_/—–]{0,24}\Z")
INITIAL = re.compile(r"[A-Z]|(?:[A-Z]\.)+[A-Z]", re.ASCII)
BARE_MARKER = re.compile(r"\W*(?:(?:\d{1,4}\.)*\d{1,4}|[A-Za-z]|[ivxIVX]{1,6})[.)]\W*")
ABBREVIATION_REACH = 24  # characters searched before a full stop; no abbreviation is longer
# An abbreviation of several words, such as "i.d.R.", which may contain spaces: "i. d. R.".
SEVERAL_WORDS = re.compile(
    r"(?<![\w.])(?:{})\.".format(
        "|".join(
            r"\.\s?".join(map(re.escape, one.split(".")))
            for one in sorted(TITLES | OPEN_ABBREVIATIONS, key=len, reverse=True)
            if "." in one
        )
    ),
    re.IGNORECASE,
)

ITEM_LINE = re.compile(r"\s*(?:[-*+•–▪◦‣●○■□·]\s|#{1,6}\s|>|\|)")
NUMBER_LINE = re.compile(
    r"\s*(?:\((?:[a-zA-Z]{1,2}|[ivxIVX]{1,6}|\d{1,3})\)|[a-z][.)]|[ivx]{1,6}[.)]|\d{1,3}[.)]|\d{1,3}(?:\.\d{1,3})+[.)]?)\s+(\S?)"
)
BORDER = re.compile(r"(?<=\S) \| ")  # between two cells of a table row
PROMPT = re.compile(r"\s*[$%>#] ")  # of a shell, where a bar joins commands
MOST_BORDERS = 50  # of a line that are checked
CLOSED_LINE = re.compile(r"\s*(?:#{1,6}\s|\||```|~~~|[=\-_*]{3,}\s*\Z)")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans (start, end) of the sentences, in order, without surrounding white space.

    A sentence ends at a full stop (not that of an abbreviation), a question mark or an exclamation mark. It also ends
    before a blank line, heading, table row, list item or numbered rule, but not at any other line break. Each visible
    character lies in exactly one sentence. The time is linear in the text's length.
    """
    spans: list[tuple[int, int]] = []
    for start, end in _blocks(text):
        spans.extend(_sentences_of(text, start, end))
    return spans


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each block of lines. A block is a paragraph, list item, heading or table row."""
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
    if is_bar_row(before) or is_bar_row(line):
        return True
    # A heading in capitals has several words and at most 80 characters.
    is_capital_heading = len(before) <= 80 and before.isupper() and before[-1] not in ",;:-" and " " in before.strip()
    if is_capital_heading or not (match := NUMBER_LINE.match(line)):
        return is_capital_heading
    in_brackets = ")" in match.group()
    return (in_brackets or not match.group(1).islower()) and not _asks_for_number(before, in_brackets)


def is_bar_row(line: str) -> bool:
    """Return whether a line is a table row: it starts with a bar, or has a bar between cells.

    A bar within brackets or quotes, as in "[on | off]", or in a command after a prompt separates no cells.
    """
    if "|" not in line or line.lstrip().startswith("|") or PROMPT.match(line):
        return line.lstrip().startswith("|")
    borders = islice(BORDER.finditer(line), MOST_BORDERS)
    return any(not _is_enclosed(line[: it.start()], line[it.end() :]) for it in borders)


def _is_enclosed(before: str, after: str) -> bool:
    pairs = ("[]", "{}", "()", "\u201c\u201d")
    opened = any(before.count(pair[0]) > before.count(pair[1]) and pair[1] in after for pair in pairs)
    return opened or (before.count("`") % 2 == 1 and "`" in after)


def _asks_for_number(before: str, in_brackets: bool) -> bool:
    """Return whether the line `before` needs the number on the next line, as in "see rule" / "12. of the handbook"."""
    if before[-1] in "(,":
        # After a comma, a number in brackets may be the next item: "(a) pays," / "(b) plays".
        return before[-1] == "(" or not in_brackets
    rest, _, word = before.rpartition(" ")
    if word in ITEM_CONJUNCTIONS and rest.rstrip().endswith((";", ",")):
        return False
    return word.lower() in NUMBERED


def _sentences_of(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if "|" in text[start:end] and is_bar_row(text[start:end].lstrip().partition("\n")[0]):
        yield from _stripped(text, start, end)
        return
    sentence_start = start
    for match in END.finditer(text, start, end):
        if _ends_sentence(text, sentence_start, match, end):
            yield from _stripped(text, sentence_start, match.end())
            sentence_start = match.end()
    yield from _stripped(text, sentence_start, end)


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    bare = piece.strip()
    if bare:
        first = start + len(piece) - len(piece.lstrip())
        yield first, first + len(bare)


def _ends_sentence(text: str, sentence_start: int, match: re.Match[str], end: int) -> bool:
    mark = match.group()
    following = FIRST_WORD.match(text, match.end(), end)
    word = following.group(1) if following else ""
    if mark[0] in "。！？｡":
        return True
    if mark.startswith(("..", "…")):
        return not word[:1].islower()
    if mark[0] in "!?":
        # A sentence may continue after a quoted question: He asked "Why?" and left.
        return not (word[:1].islower() and mark[-1] not in "!?")
    if word[:1].islower():
        return False
    return not _is_abbreviated(text, sentence_start, match.start(), word)


def _is_abbreviated(text: str, sentence_start: int, stop: int, following: str) -> bool:
    """Return whether the full stop at `stop` belongs to an abbreviation such as "Dr." or a number such as "3. Mai"."""
    before = text[max(sentence_start, stop - ABBREVIATION_REACH) : stop]
    if len(before) < ABBREVIATION_REACH and BARE_MARKER.fullmatch(before.strip() + "."):
        return True
    found = LAST_WORD.search(before)
    word = found.group() if found else ""
    for several in SEVERAL_WORDS.finditer(text, stop - len(before), stop + ABBREVIATION_REACH):
        if several.start() < stop < several.end() - 1:
            return True
        if stop == several.end() - 1:
            word = "".join(several.group()[:-1].split())
    forms = {word, word.lower()}
    if forms & TITLES:
        return True
    if forms & REFERENCES or word.lower().endswith(STREETS):
        return following[:1].isdigit() or (len(following) == 1 and following.lower() not in STARTERS)
    if forms & OPEN_ABBREVIATIONS or INITIAL.fullmatch(word):
        return following != "" and following.lower() not in STARTERS
    return word.isdigit() and _is_ordinal(before.removesuffix(word), word, following)


def _is_ordinal(before: str, number: str, following: str) -> bool:
    """Return whether a full stop after the number makes it an ordinal, as in "3. Mai" and "im 4. Quartal"."""
    if following.lower() in MONTHS:
        return len(number) <= 2
    if len(number) > 3 or not following[:1].isupper():
        return False
    preceding = "".join(before.split()[-1:]).lower()
    if preceding in BEFORE_ORDINALS:
        return following.lower() not in STARTERS
    return following.lower() in AFTER_ORDINALS and preceding not in DOCUMENT_PARTS
