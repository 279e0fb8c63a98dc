"""Normalise text: fold case and diacritics, split words and codes, and replace lone surrogates."""

import re
import unicodedata

SPELLINGS = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′ʼ`´", "'"),  # noqa: RUF001
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),  # noqa: RUF001
        # Soft hyphens, byte order marks and zero-width characters are invisible.
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", None),
    }
)
LETTERS_WITHOUT_DECOMPOSITION = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}  # noqa: RUF001
)
# Diacritics are removed from Latin and Greek letters only. Elsewhere they distinguish letters, as in the Cyrillic й.
MARKED_LETTER = re.compile(r"([a-z\u03b1-\u03c9])[\u0300-\u036f]+")

# Letters and digits of all scripts, with the vowel signs that Python's \w excludes.
SIGN = r"\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e30-\u0e4e\u3099\u309a"
CHARACTER = rf"(?:[^\W_]|[{SIGN}])"
WORD = re.compile(
    rf"""
    (?:[^\W\d_]\.){{2,}}(?:[^\W\d_](?!{CHARACTER}))?    # u.s. and e.g.
    | [^\W\d_]{{1,2}}&[^\W\d_]{{1,2}}(?!{CHARACTER})      # r&d
    | (?:[^\W\d_]\.(?=\d))?                             # annex a.1
      {CHARACTER}+
      (?: (?<=\d)[.,](?=\d){CHARACTER}+                 # 12.3, v1.2.3, 1,000
        | -{CHARACTER}+                                 # u-21
        | '(?:s|t|d|m|re|ve|ll)(?!{CHARACTER})          # don't
      )*
      (?:\+\+|(?<=\b[a-z])\#)?                          # c++, c#
    """,
    re.VERBOSE,
)
THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")


def fold(text: str) -> str:
    """Return the text (NFKC) in lower case, without diacritics, with one kind of quote and dash: "Ärzte" -> "arzte"."""
    return without_diacritics(lower(text))


def words(text: str) -> list[str]:
    """Return the folded words of a text. Codes such as c++, v1.2.3 and u-21 remain whole, and 1,000 becomes 1000."""
    return split_words(fold(text))


def lower(text: str) -> str:
    """Normalise the text as `fold` does, but keep the diacritics, because stemmers need them: "Ärzte" -> "ärzte"."""
    if text.isascii():
        return text.lower().replace("`", "'")
    composed = unicodedata.normalize("NFKC", text.translate(SPELLINGS))
    # Translated again, because NFKC turns some characters, such as the superscript minus, into dashes or quotes.
    return unicodedata.normalize("NFKC", composed.casefold()).translate(SPELLINGS)


def without_diacritics(lowered: str) -> str:
    """Remove the diacritics of Latin and Greek letters from lower-case text: "société" -> "societe"."""
    if lowered.isascii():
        return lowered
    bare = MARKED_LETTER.sub(r"\1", unicodedata.normalize("NFD", lowered))
    return unicodedata.normalize("NFC", bare).translate(LETTERS_WITHOUT_DECOMPOSITION)


def split_words(lowered: str) -> list[str]:
    """Split text that `fold` or `lower` returned into words: "u.s. c++ 1,000" -> ["us", "c++", "1000"]."""
    result: list[str] = []
    for word in WORD.findall(lowered):
        if word.isalnum():
            result.append(word)
        else:
            result.extend(_pieces(word))
    return result


def _pieces(word: str) -> list[str]:
    if THOUSANDS.fullmatch(word):
        return [word.replace(",", "")]
    if word[0].isalpha() and word[1:2] == "." and not any(map(str.isdigit, word)):
        return [word.replace(".", "")]
    word = word.removesuffix("'s")
    if "-" in word and not is_code(word):
        return [piece.removesuffix("'s") for piece in word.split("-")]
    return [word]


def is_code(word: str) -> bool:
    """Return whether a word mixes letters and digits, such as "u21"."""
    return any(map(str.isdigit, word)) and any(map(str.isalpha, word))


_SURROGATE = re.compile("[\ud800-\udfff]")


def replace_surrogates(text: str) -> str:
    """Replace each lone surrogate (half of a UTF-16 pair, invalid on its own) by the character U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)
