"""Read the characters of a PDF page in logical order, and recognise a text layer that is meaningless.

pdfium returns the characters of a line in the order in which the file draws them, and reverses what it takes for
right-to-left text. Since programs draw Arabic and Hebrew in either direction, letter by letter or with ligatures, the
result can contain reversed words or ligatures. The characters of lines with such letters are therefore ordered again by
their positions. This is the inverse of the Unicode bidirectional algorithm (Unicode Standard Annex 9).
"""

import ctypes
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, pairwise

import pypdfium2
import pypdfium2.raw as pdfium
from elt_llm_core.text.languages import languages
from elt_llm_core.text.stems import stopwords_of

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_FORMS = re.compile("[\ufb1d-\ufb4f\ufb50-\ufdff\ufe70-\ufefc]")
_SPACE_WIDTH = 0.18  # share of the font size; the gaps between the letters of a word are below 0.1
_LEAST_SPACE = 0.1  # points
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))


@dataclass(frozen=True)
class _Glyph:
    """What a PDF draws at one position: a letter with its vowel marks, or a ligature of letters."""

    text: str
    index: int
    origin: float
    left: float
    right: float

    @property
    def direction(self) -> str:
        """The bidirectional class of the first character, such as L, R, AL or EN."""
        return unicodedata.bidirectional(self.text[0])


class PageText:
    """The text of a page, one line after another, with the position and font of each character.

    If most letters of a page are written from right to left, the characters' boxes are mirrored, so that text always
    continues at larger x.
    """

    def __init__(self, page: pypdfium2.PdfPage) -> None:
        self._page = page.get_textpage()
        self._width = 0.0
        self._indexes: list[int] | None = None
        self.text = self._text_of_pdfium()
        letters = len(_RIGHT_TO_LEFT.findall(self.text))
        if letters:
            if 2 * letters > sum(map(str.isalpha, self.text)):
                self._width = page.get_width()
            self._order_lines()

    def close(self) -> None:
        """Release pdfium's memory for the page."""
        self._page.close()

    def box(self, position: int) -> pdfium.FS_RECTF:
        """Return a character's box in points, with y upwards. On a mirrored page, x counts from the right edge."""
        box = self._box(self._index(position))
        if self._width:
            box.left, box.right = self._width - box.right, self._width - box.left
        return box

    def base_line(self, position: int) -> float:
        """Return the height of a character's base line on the page, in points."""
        return self._origin(self._index(position))[1]

    def font_size(self, position: int) -> float:
        """Return the font size of a character in points. It can be 1.0 if the file scales the font by a matrix."""
        return float(pdfium.FPDFText_GetFontSize(self._page, self._index(position)))

    def is_bold(self, position: int) -> bool:
        """Return whether a character's font is bold, according to its weight or name."""
        if pdfium.FPDFText_GetFontWeight(self._page, self._index(position)) >= 600:  # semi-bold
            return True
        name = self._font_name(position)
        return b"bold" in name or b"black" in name

    def is_italic(self, position: int) -> bool:
        """Return whether a character's font is italic, according to its name."""
        name = self._font_name(position)
        return b"italic" in name or b"oblique" in name

    def _font_name(self, position: int) -> bytes:
        name = ctypes.create_string_buffer(128)
        pdfium.FPDFText_GetFontInfo(self._page, self._index(position), name, 128, None)
        return name.value.lower()

    def is_unreadable(self) -> bool:
        """Return whether the text is meaningless, because the page's fonts do not define which letters they draw."""
        shown = [position for position, character in enumerate(self.text[:_TESTED]) if not character.isspace()]
        if len(shown) < _FEWEST_CHARACTERS:
            return False
        sample = shown[:: -(-len(shown) // _SAMPLED_CHARACTERS)]
        unprintable = sum(is_unprintable(self.text[position]) for position in sample)
        if unprintable > _MOST_UNMAPPED * len(sample) or is_meaningless(self.text[:_TESTED]):
            return True
        unmapped = sum(
            pdfium.FPDFText_HasUnicodeMapError(self._page, self._index(position)) == 1 for position in sample
        )
        # Some old fonts have no map to Unicode but number letters as ASCII does. Such a text contains common words.
        return unmapped > _MOST_UNMAPPED * len(sample) and not _has_common_words(self.text[:_TESTED])

    def _index(self, position: int) -> int:
        return position if self._indexes is None else self._indexes[position]

    def _text_of_pdfium(self) -> str:
        """Return the text, with exactly one Python character for each pdfium character, so that their indexes agree."""
        count = self._page.count_chars()
        text: str = self._page.get_text_range()
        if len(text) == count:
            return text
        codes = (pdfium.FPDFText_GetUnicode(self._page, position) for position in range(count))
        return "".join(chr(code) if code <= sys.maxunicode and not 0xD800 <= code <= 0xDFFF else " " for code in codes)

    def _order_lines(self) -> None:
        """Put the characters of lines that contain right-to-left letters into reading order."""
        pieces: list[str] = []
        indexes: list[int] = []
        for numbers in self._joined_lines():
            line = "".join(self.text[index] for index in numbers)
            piece, order = self._logical_line(numbers) if _RIGHT_TO_LEFT.search(line) else (line, numbers)
            pieces.append(piece)
            indexes += [*order, order[-1] if order else 0]
        self.text, self._indexes = "\n".join(pieces), indexes

    def _joined_lines(self) -> Iterator[list[int]]:
        """Yield each line's character indexes. pdfium splits lines where the next letter is further left: join them."""
        line: list[int] = []
        first = 0
        for raw in self.text.split("\n"):
            numbers = list(range(first, first + len(raw)))
            first += len(raw) + 1
            if line and self._is_same_line(line, numbers):
                line += numbers
                continue
            if line:
                yield line
            line = numbers
        yield line

    def _is_same_line(self, before: Sequence[int], numbers: Sequence[int]) -> bool:
        """Return whether two parts are one line: they are on one base line and less than a letter apart."""
        if not self._width and not any(_RIGHT_TO_LEFT.match(self.text[index]) for index in (*before, *numbers)):
            return False
        shown = [[index for index in part if not self.text[index].isspace()] for part in (before, numbers)]
        if not all(shown):
            return False
        size = self._font_size_at(shown[0][-1])
        if abs(self._origin(shown[0][-1])[1] - self._origin(shown[1][0])[1]) > 0.2 * size:
            return False
        boxes = [[self._box(index) for index in part] for part in shown]
        left = max(min(box.left for box in part) for part in boxes)
        return bool(left - min(max(box.right for box in part) for part in boxes) < size)

    def _logical_line(self, numbers: Sequence[int]) -> tuple[str, list[int]]:
        line = "".join(self.text[index] for index in numbers)
        letters = len(_RIGHT_TO_LEFT.findall(line))
        right_to_left = bool(self._width) or 2 * letters >= sum(map(str.isalpha, line))
        shown = next(index for index in numbers if not self.text[index].isspace())
        spaced = list(_with_spaces(self._glyphs(numbers), self._font_size_at(shown)))
        text, order = "", []
        for glyph in reading_order(spaced, right_to_left):
            text += glyph.text
            order += [glyph.index] * len(glyph.text)
        return (_pair_brackets(text) if right_to_left else text), order

    def _font_size_at(self, index: int) -> float:
        """Return the font size in points at pdfium's index. If a matrix scales the font, measure the box instead."""
        size = float(pdfium.FPDFText_GetFontSize(self._page, index))
        box = self._box(index)
        return size if size > 1.5 else box.top - box.bottom

    def _glyphs(self, numbers: Sequence[int]) -> list[_Glyph]:
        """Return the glyphs of a line from left to right. Ligatures are joined, and vowel marks are attached."""
        glyphs: list[_Glyph] = []
        marks: list[_Glyph] = []
        for index in numbers:
            character, box = self.text[index], self._box(index)
            if character.isspace() and box.right - box.left < _LEAST_SPACE:
                continue  # pdfium added this space, which the file does not draw
            glyph = _Glyph(character, index, self._origin(index)[0], box.left, box.right)
            (marks if unicodedata.combining(character) else glyphs).append(glyph)
        glyphs = _join_ligatures(glyphs)
        glyphs.sort(key=lambda glyph: (glyph.origin, glyph.left + glyph.right))
        return _attach_marks(glyphs, marks)

    def _origin(self, index: int) -> tuple[float, float]:
        x, y = ctypes.c_double(), ctypes.c_double()
        pdfium.FPDFText_GetCharOrigin(self._page, index, x, y)
        return x.value, y.value

    def _box(self, index: int) -> pdfium.FS_RECTF:
        box = pdfium.FS_RECTF()
        pdfium.FPDFText_GetLooseCharBox(self._page, index, box)
        return box


@cache
def _ligatures() -> frozenset[str]:
    """Return the letters of each Hebrew or Arabic ligature in Unicode, in logical order."""
    letters = (unicodedata.normalize("NFKC", chr(code)) for code in (*range(0xFB50, 0xFE00), *range(0xFE70, 0xFEFD)))
    return frozenset(ligature for ligature in letters if len(ligature) > 1)


def _join_ligatures(glyphs: Sequence[_Glyph]) -> list[_Glyph]:
    """Join letters that share one box into a ligature. Restore their order if pdfium has reversed them."""
    joined: list[_Glyph] = []
    for _, group in groupby(glyphs, key=lambda glyph: (glyph.left, glyph.right, glyph.origin)):
        letters = list(group)
        text = "".join(letter.text for letter in letters)
        if text not in _ligatures() and text[::-1] in _ligatures():
            text = text[::-1]
        text = unicodedata.normalize("NFKC", text) if _FORMS.search(text) else text
        joined.append(replace(letters[0], text=text))
    return joined


def _attach_marks(glyphs: list[_Glyph], marks: Sequence[_Glyph]) -> list[_Glyph]:
    """Append each vowel mark to the letter whose middle is nearest to the middle of the mark."""
    for mark in marks:
        middle = mark.left + mark.right
        letters = [number for number, glyph in enumerate(glyphs) if not glyph.text.isspace()]
        if letters:
            near = min(letters, key=lambda number: abs(glyphs[number].left + glyphs[number].right - middle))
            glyphs[near] = replace(glyphs[near], text=glyphs[near].text + mark.text)
    return glyphs


def _with_spaces(glyphs: Sequence[_Glyph], size: float) -> Iterator[_Glyph]:
    """Yield the glyphs, and a space in each wide gap where the file has none."""
    for before, glyph in pairwise(glyphs):
        yield before
        is_apart = glyph.origin - before.right > _SPACE_WIDTH * size
        if is_apart and not before.text.isspace() and not glyph.text.isspace():
            yield _Glyph(" ", before.index, before.right, before.right, glyph.left)
    yield from glyphs[-1:]


def reading_order(glyphs: Sequence[_Glyph], right_to_left: bool) -> list[_Glyph]:
    """Put glyphs that are given from left to right into reading order."""
    if right_to_left:
        return _read_to_the_left(glyphs)
    ordered: list[_Glyph] = []
    start = 0
    while start < len(glyphs):
        if glyphs[start].direction not in ("R", "AL"):
            ordered.append(glyphs[start])
            start += 1
            continue
        last = end = start
        while end < len(glyphs) and glyphs[end].direction != "L":
            last = end if glyphs[end].direction in ("R", "AL") else last
            end += 1
        ordered += _read_to_the_left(glyphs[start : last + 1])
        start = last + 1
    return ordered


def _read_to_the_left(glyphs: Sequence[_Glyph]) -> list[_Glyph]:
    """Return glyphs in reading order: from right to left, but Latin words and numbers from left to right."""
    is_arabic = any(glyph.direction in ("AL", "AN") for glyph in glyphs)
    ordered: list[_Glyph] = []
    end = len(glyphs)
    while end:
        start = _left_to_right_run(glyphs, end, is_arabic)
        ordered += glyphs[start:end]
        end = start
    return ordered


def _left_to_right_run(glyphs: Sequence[_Glyph], end: int, is_arabic: bool) -> int:
    """Return where the left-to-right text (Latin words, numbers) that ends at `end` starts; else `end - 1`."""
    kinds = [glyph.direction for glyph in glyphs[:end]]
    start = end - 1
    # In Hebrew, but not in Arabic, a percent or currency sign is read as part of the number beside it.
    numeric = ("EN", "AN") if is_arabic else ("EN", "AN", "ET")
    if kinds[start] not in ("L", *numeric):
        return start
    inner = ("CS",) if is_arabic else ("CS", "ES")
    position = start - 1
    while position >= 0 and kinds[position] not in ("R", "AL"):
        between = kinds[position + 1 : start]
        if kinds[position] in numeric:
            if not between or (len(between) == 1 and between[0] in inner):
                start = position
            elif kinds[start] != "L":
                break
        elif kinds[position] == "L":
            # A number after a Latin word continues the Latin text, as in ISO 27001, unless brackets are between them.
            if kinds[start] != "L" and any(kind not in ("WS", "ES", "CS") for kind in between):
                break
            start = position
        position -= 1
    return start


def _pair_brackets(text: str) -> str:
    """Turn the brackets of a right-to-left line so that each pair opens before it closes.

    Such a line is drawn with mirrored brackets. Some files store the intended bracket, others the one that is drawn.
    """
    for opening, closing in _BRACKETS:
        count = text.count(opening) + text.count(closing)
        if count and count % 2 == 0:
            turned = iter([opening, closing] * (count // 2))
            text = "".join(next(turned) if letter in (opening, closing) else letter for letter in text)
        text = text.replace(f"{opening} ", opening).replace(f" {closing}", closing)
    return text


_FEWEST_CHARACTERS = 40
_SAMPLED_CHARACTERS = 300
_TESTED = 2000  # characters at the start of a page that are tested
_MOST_UNMAPPED = 0.3  # of the sampled characters, as a share
_FEWEST_LETTERS = 200
_LEAST_VOWELS = 0.22  # of the Latin letters, as a share
_LEAST_LETTERS = 0.3  # letters and digits, as a share of the characters
_LEAST_COMMON_WORDS = 0.03  # of the words, as a share
_WORD = re.compile(r"[^\W\d_]{3,}")


def is_unprintable(character: str) -> bool:
    """Return whether a character is a control, surrogate, private-use, unassigned or replacement character."""
    return character == "\ufffd" or unicodedata.category(character) in ("Cc", "Co", "Cn", "Cs")


def is_meaningless(text: str) -> bool:
    """Return whether a text is not in any language.

    Such a text consists mostly of signs, or of Latin letters with few vowels and few common words. It results from
    fonts that number letters in their own way: "The quick fox" becomes "7KH TXLFN IR[" or a row of signs.
    """
    shown = [character for character in text if not character.isspace()]
    letters = [character for character in shown if character.isalpha()]
    digits = sum(map(str.isdigit, shown))
    if len(shown) >= _FEWEST_LETTERS and len(letters) + digits < _LEAST_LETTERS * len(shown):
        # Dots, lines and bars do not count, since tables of contents, forms and tables contain many of them.
        signs = sum(not character.isalnum() and character not in "._-|=·•…" for character in shown)
        return signs > len(shown) / 2
    latin = [unicodedata.normalize("NFD", letter)[0].lower() for letter in letters]
    latin = [letter for letter in latin if "a" <= letter <= "z"]
    if len(latin) < _FEWEST_LETTERS or 2 * len(latin) < len(letters):
        return False
    vowels = sum(letter in "aeiouy" for letter in latin)
    return vowels < _LEAST_VOWELS * len(latin) and not _has_common_words(text)


def _has_common_words(text: str) -> bool:
    words = [word.casefold() for word in _WORD.findall(text)]
    return sum(word in _common_words() for word in words) > _LEAST_COMMON_WORDS * len(words)


@cache
def _common_words() -> frozenset[str]:
    """Return the common words of all languages, such as articles and prepositions."""
    return frozenset().union(*map(stopwords_of, languages()))
