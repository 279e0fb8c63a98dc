"""A written answer cut into sentences: what each claims, which sources it names, and where it stands."""

import re
from dataclasses import dataclass

from elt_llm_core.text.normalise import fold
from elt_llm_core.text.sentences import sentence_spans

from elt_llm_query.answer.pieces import without_markup

_MARKS = r"(?:[ \t]{0,2}\[\d{1,4}(?:[ ]?[,;\u2013-][ ]?\d{1,4}){0,12}\])"
_MARK = re.compile(_MARKS)
_AFTER_END = re.compile(rf"([.!?…][\"'”»)]{{0,2}})((?:{_MARKS}){{1,12}})(?=\s|$)")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s|\*\*[^*]{1,80}\*\*:?\s*$)")
# A source by its number: what it says is claimed, not the number.
_NUMBERED = r"(?: (?:no\. ?)?\d{1,3}(?:(?:, | and | und )(?:(?:source|quelle) )?\d{1,3}){0,8})?"
_OPENING = re.compile(
    r"^(?:(?:yes|no|ja|nein|sure|of course|certainly)[,.:!] ?)?"
    r"(?:(?:according to|based on|as (?:stated|described|mentioned|noted) in|per|laut|gemass|nach) "
    r"(?:the |this |these |den |dem |der |diesen )?(?:(?:provided|given|available|above|retrieved) )?"
    r"(?:documents?|texts?|sources?|passages?|context|information|excerpts?|dokumenten?|texte?n?|quellen?|angaben)"
    rf"{_NUMBERED}(?: provided| above)?,? "
    r"|(?:the |this |these |die |das |der )?(?:documents?|texts?|sources?|passages?|dokumente?|quellen?)"
    rf"{_NUMBERED} "
    r"(?:also )?(?:says?|states?|explains?|mentions?|notes?|describes?|sagt|sagen|besagt|besagen) (?:that|dass),? )"
)
_EMPTY = re.compile(
    r"^(?:hello|hi|hey|dear|hallo|guten (?:tag|morgen|abend)|thank|thanks|danke|sure|certainly|of course|gern"
    r"|you're welcome|i hope|hope this|let me know|feel free|please (?:let|ask)|ich hoffe|wenn (?:du|sie) weitere"
    r"|here (?:is|are|'s)|hier (?:ist|sind)|in summary$|to summari[sz]e$|zusammenfassend$|(?:great|good) question"
    r"|(?:i|we|ich|wir) (?:can|could|do|did|will|am|cannot|can't|couldn't|don't|have|kann|konnte|habe)\b)"
)
_SILENT = re.compile(
    r"^(?:the|this|these|die|diese|der|das|in (?:the|these|this|diesen|den)) (?:provided |given |available )?"
    r"(?:documents?|texts?|sources?|passages?|context|dokumente?n?|quellen?|texte?n?)"
    r" (?:(?:provided )?(?:do|does|did)|enthalten|enthalt|nennen|nennt|geben|gibt|sagen|sagt) (?:not|nicht|keine?|no)\b"
    r"|^not found\b|^in diesen dokumenten nicht gefunden"
)
_MOST_EMPTY_WORDS = 14
_CONTENT = re.compile(r"[^\W_]{2,}|\d")
_JOINTS = re.compile(r"; |, (?:and|but|while|whereas|und|aber|während|sowie) ")
_FEWEST_WORDS = 4
_ENDS = 2
_LONGEST = 2000  # characters of a sentence that are compared
_LONGEST_RANGE = 20


@dataclass(frozen=True)
class Statement:
    """One sentence at start:end of the written text; `claim` is it without marks and opening, empty if it claims none.

    `cited` are the numbers in brackets that stand in it, in order.
    """

    start: int
    end: int
    text: str
    claim: str
    cited: tuple[int, ...]

    @property
    def clauses(self) -> list[str]:
        """The parts that can be held against the sources by themselves: at least two, or none."""
        parts = [part for part in _JOINTS.split(self.claim) if part]
        return parts if len(parts) > 1 and all(len(part.split()) >= _FEWEST_WORDS for part in parts) else []


def with_marks_inside(text: str) -> str:
    """The text with "end. [1]" written as "end [1].", so that marks stay with their sentence."""
    return _AFTER_END.sub(
        lambda found: f"{found.group(2) if found.group(2)[0] == ' ' else ' ' + found.group(2)}{found.group(1)}", text
    )


def without_marks(text: str) -> str:
    """The text without any number in brackets."""
    return _MARK.sub("", text)


def statements(text: str) -> list[Statement]:
    """The sentences of a text whose marks stand inside them, in order; no visible character is left out."""
    return [_statement(text, start, end) for start, end in sentence_spans(text)]


def _statement(text: str, start: int, end: int) -> Statement:
    written = text[start:end]
    cited = tuple(number for mark in _MARK.findall(written) for number in _numbers(mark))
    bare = without_marks(written).strip()
    return Statement(start, end, bare, "" if _claims_nothing(bare) else _claim(bare), tuple(dict.fromkeys(cited)))


def _numbers(mark: str) -> list[int]:
    """The numbers of a mark; [2-4] names three."""
    found: list[int] = []
    for part in re.split(r"[,;]", mark.strip(" \t[]")):
        ends = [int(number) for number in re.findall(r"\d+", part)]
        if len(ends) == _ENDS and 0 < ends[1] - ends[0] <= _LONGEST_RANGE:
            found.extend(range(ends[0], ends[1] + 1))
        else:
            found.extend(ends)
    return found


def _claim(text: str) -> str:
    """The sentence without markup and without "according to the documents"."""
    bare = without_markup(text)[:_LONGEST]
    folded = fold(bare)
    found = _OPENING.match(folded) if len(folded) == len(bare) else None
    rest = bare[found.end() :] if found else bare
    return rest[:1].upper() + rest[1:]


def _claims_nothing(text: str) -> bool:
    """Greetings, openings, questions, headings, and what is said about the documents or the writer."""
    bare = without_markup(text)
    if _HEADING.match(text) or bare.endswith((":", "?")) or not _CONTENT.search(bare):
        return True
    said = fold(bare)
    if _SILENT.search(said):
        return True
    if _EMPTY.match(said) and len(said.split()) <= _MOST_EMPTY_WORDS and not any(map(str.isdigit, said)):
        return True
    return bool(re.fullmatch(r"(?:yes|no|ja|nein|correct|richtig|\d{1,3}|\w)[.!]*", said))
