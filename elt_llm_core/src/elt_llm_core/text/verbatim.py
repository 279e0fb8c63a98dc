"""Whether a text has some words, one by one: white space apart, nothing may differ."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Annotated, Literal

from pydantic import Field

from elt_llm_core.text.normalise import fold


@dataclass(frozen=True)
class Word:
    """A word of a text: what stands between white space, signs included, at text[start:end]."""

    text: str
    start: int
    end: int

    @property
    def folded(self) -> str:
        """As readers hear it: without capitals, accents, signs around it, and kinds of quotes and dashes."""
        return fold(self.text).strip(" .,;:!?\"'()[]{}")


@dataclass(frozen=True)
class Difference:
    """Where a quote leaves a text: what it says, and what stands there. One of both may be empty."""

    kind: Annotated[
        Literal["other words", "not in the document", "left out", "other signs"],
        Field(description="other signs: the same words, but for capitals, accents, punctuation, quotes or dashes."),
    ]
    quote: Annotated[str, Field(description="What the quote says there; empty if it leaves something out.")]
    document: Annotated[str, Field(description="What the document says there; empty if nothing.")]


def words_with_places(text: str, start: int = 0, end: int | None = None) -> Iterator[Word]:
    """The words of text[start:end], in order, each with its place in the whole text."""
    place = max(0, start)
    for word in text[place:end].split():
        place = text.index(word, place)  # nothing but white space is before it
        yield Word(word, place, place + len(word))
        place += len(word)


def places_of(quote: str, text: str) -> Iterator[tuple[int, int]]:
    """Spans of `text` that are the quote once every run of white space is one space, in order; they may overlap.

    The quote may begin and end within words, as what is cut from a text does. Takes time in proportion to the text.
    """
    sought, squeezed = " ".join(quote.split()), " ".join(text.split())
    found = squeezed.find(sought) if sought else -1
    if found < 0:
        return
    offsets = [offset for word in words_with_places(text) for offset in (word.start - 1, *range(word.start, word.end))]
    while found >= 0:  # the space before the first word has an offset too
        yield offsets[found + 1], offsets[found + len(sought)] + 1
        found = squeezed.find(sought, found + 1)


def nearest_span(quote: str, text: str, start: int = 0, end: int | None = None) -> tuple[int, int, float] | None:
    """The stretch of text[start:end] with most of the quote's words, as (start, end, share of them); None for no word.

    A stretch has as many words as the quote and is then cut to begin and end with one of the quote's where it can;
    of equals the first. Takes time in proportion to the text.
    """
    said = list(words_with_places(quote))
    wanted = Counter(filter(None, (word.folded for word in said)))
    words = list(words_with_places(text, start, end))
    total = sum(wanted.values())
    if not total or not words:
        return None
    best, place = _fullest(wanted, [word.folded for word in words], total)
    if not best:
        return None
    window = words[place : place + total]
    known = [word for word in window if word.folded in wanted]
    return _start_without_signs(known[0], said[0]), _end_without_signs(known[-1], said[-1]), best / total


def differences(quote: str, text: str) -> list[Difference]:
    """In what a quote differs from a text, in order; empty if it has the same words in the same order."""
    said, stands = [word.text for word in words_with_places(quote)], [word.text for word in words_with_places(text)]
    found = []
    for kind, first, last, from_, to in SequenceMatcher(None, said, stands, autojunk=False).get_opcodes():
        if kind != "equal":
            found.append(_difference(said[first:last], stands[from_:to]))
    return found


def _start_without_signs(word: Word, said: Word) -> int:
    """Where a stretch begins: a quote need not have the signs before its first word, nor those behind its last."""
    same = word.folded == said.folded and word.text.endswith(said.text)
    return word.end - len(said.text) if same else word.start


def _end_without_signs(word: Word, said: Word) -> int:
    same = word.folded == said.folded and word.text.startswith(said.text)
    return word.start + len(said.text) if same else word.end


def _difference(said: Sequence[str], stands: Sequence[str]) -> Difference:
    quote, document = " ".join(said), " ".join(stands)
    if not said:
        return Difference("left out", quote, document)
    if not stands:
        return Difference("not in the document", quote, document)
    same = [_heard(word) for word in said] == [_heard(word) for word in stands]
    return Difference("other signs" if same else "other words", quote, document)


def _heard(word: str) -> str:
    return Word(word, 0, len(word)).folded


def _fullest(wanted: Counter[str], words: Sequence[str], length: int) -> tuple[int, int]:
    """(how many of the wanted words, counted as often as they are wanted, at which place) of the fullest window."""
    here: Counter[str] = Counter()
    held = best = at = 0
    for place, word in enumerate(words):
        if word in wanted:
            here[word] += 1
            held += here[word] <= wanted[word]
        if place >= length:
            gone = words[place - length]
            if gone in wanted:
                held -= here[gone] <= wanted[gone]
                here[gone] -= 1
        if held > best:
            best, at = held, max(0, place - length + 1)
    return best, at
