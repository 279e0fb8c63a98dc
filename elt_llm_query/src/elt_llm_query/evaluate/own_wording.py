"""Questions made of headings, definitions and table cells by rules alone, in the language of the documents."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from elt_llm_core.text.sentences import sentence_spans

MOST_TERM_WORDS = 6
MOST_CHARACTERS = 160


@dataclass(frozen=True)
class Wording:
    """How one language asks; `{0}` is the heading or the term, or the column, and `{1}` the key of the row."""

    about: str
    meaning: str
    cell: str
    asking: str


_ENGLISH = Wording(
    "What about {0}?",
    "What is {0}?",
    'What is "{0}" for {1}?',
    "what who whom whose when where which why how can could may must should shall will would is are do does did has",
)
_GERMAN = Wording(
    "Was ist mit {0}?",
    "Was ist {0}?",
    'Was ist "{0}" bei {1}?',
    "was wer wen wem wessen wann wo wohin woher welche welcher welches warum wieso weshalb wie kann darf muss soll",
)
_ANY = Wording("{0}?", "{0}?", "{1}: {0}?", "")
_WORDINGS = {"en": _ENGLISH, "de": _GERMAN}

_NUMBER = re.compile(
    r"^(?:(?:part|chapter|section|schedule|annex|appendix|article|rule|teil|kapitel|abschnitt|anhang|artikel)\s{1,3}"
    r"[A-Z0-9.]{1,8}|§{0,2}\s?[A-Z]{0,2}\d{1,4}(?:\.\d{1,4}){0,6}[a-z]?|[A-Z]{1,2}\.|[IVX]{1,6}\.)"
    r"(?:\s{0,3}[:.)|\u2013\u2014-]{1,2}\s{0,3}|\s{1,3})",
    re.IGNORECASE,
)
_VERB = re.compile(
    r" (?:means|refers to|denotes|describes|is defined as|is understood as|stands for|bezeichnet|bedeutet"
    r"|(?:is|are|was|were) (?:an?|the|one of)|(?:ist|sind|war|waren) (?:eine?|der|die|das|einer der))\s"
)
_FRAME = re.compile(r"^(?:(?:the|an?|der|die|das|eine?|term|expression)\s{1,2}){0,2}", re.IGNORECASE)
_MARKS = re.compile(r"^[\s#*_>-]{1,12}")
_QUOTES = re.compile(r"[\"“”„«»]")
_BRACKETS = re.compile(r"\s?\([^()]{0,80}\)")


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


# No term begins with these words, and none has those others within: there the sentence is of another build.
_NO_BEGINNING = _listed(
    "it this that these those he she they we you i there here what which who how why when where whether one both such"
    " each all some many most much first second third other another in on at of by to for from with since as if while"
    " although because likewise however example reason name names his her its their our your my"
    " es dies diese dieser dieses er sie wir ihr man das dort hier was wer wie wo welche jeder alle einige viele im am"
    " an auf bei von zu seit als wenn beispiel grund"
)
_NOT_WITHIN = _listed("is are was were be that which who whether if because ist sind war waren dass welche ob")


def wording_of(language: str) -> Wording:
    """The wording of a language; where there is none, the words alone with a question mark."""
    return _WORDINGS.get(language, _ANY)


def heading_question(title: str, wording: Wording) -> str | None:
    """A heading as a question, its number left out; None if no words are left. One that asks already stays."""
    words = _FRAME.sub("", _unnumbered(title)).strip(" .:;-")
    if not _is_sayable(words):
        return None
    if words.isupper():
        words = words.lower()
    if words.endswith("?"):
        return words
    if words.split()[0].lower() in wording.asking.split():
        return f"{words}?"
    return wording.about.format(words)


def definitions(text: str, wording: Wording) -> Iterator[tuple[str, int, int]]:
    """Each sentence that defines a term: the question after the term, and the sentence's span in the text."""
    for start, end in sentence_spans(text):
        term = _defined_term(text[start:end])
        if term is not None:
            yield wording.meaning.format(term), start, end


def row_questions(header: list[str], cells: list[str], wording: Wording) -> Iterator[str]:
    """For each filled cell of a table row but the first, the question for it; the cell's own words are not in it."""
    key = cells[0]
    if len(cells) != len(header) or not _is_sayable(key) or len(key.split()) > MOST_TERM_WORDS + 2:
        return
    for column, cell in zip(header[1:], cells[1:], strict=True):
        if cell and cell != column:
            yield wording.cell.format(column if column.isupper() else column.lower(), key)


def is_header(cells: list[str]) -> bool:
    """Whether these cells name columns: at least two, all with letters, none long, none twice."""
    named = all(_is_sayable(cell) and len(cell.split()) <= MOST_TERM_WORDS for cell in cells)
    return len(cells) > 1 and named and len(set(cells)) == len(cells)


def cells_of(line: str) -> list[str]:
    """The cells of a row as readers write it, in Markdown or with bars between; a line that is no row is one cell."""
    text = line.strip()
    inner = text[1:-1] if len(text) > 1 and text.startswith("|") and text.endswith("|") else text
    return [cell.strip() for cell in f" {inner} ".split(" | ")]


def is_rule(line: str) -> bool:
    """Whether this is the line below a Markdown table's header."""
    return "-" in line and not line.strip("|:- \t\r\n")


def _defined_term(sentence: str) -> str | None:
    """What a sentence defines, if it begins with a name or a term and goes on with a defining verb."""
    if sentence.rstrip().endswith("?"):
        return None
    head = _unnumbered(sentence[:MOST_CHARACTERS])
    verb = _VERB.search(head)
    if verb is None:
        return None
    term = _FRAME.sub("", _QUOTES.sub("", _BRACKETS.sub("", head[: verb.start()]))).strip(" ;:")
    words = term.lower().split()
    if not 0 < len(words) <= MOST_TERM_WORDS or "," in term or "|" in term or words[0] in _NO_BEGINNING:
        return None
    return term if _NOT_WITHIN.isdisjoint(words) and _is_sayable(term) else None


def _unnumbered(title: str) -> str:
    return _NUMBER.sub("", _MARKS.sub("", " ".join(title.split())), count=1)


def _is_sayable(words: str) -> bool:
    """Whether it has letters enough to be asked for, and is no paragraph."""
    return sum(character.isalpha() for character in words) > 1 and len(words) <= MOST_CHARACTERS
