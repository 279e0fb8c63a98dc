"""Compare a quote with a text word by word: find the quote or the nearest span, and list the differences."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Annotated, Literal

from pydantic import Field

from elt_llm_core.text.normalise import fold

DifferenceKind = Literal["other words", "not in the document", "left out", "other signs"]


@dataclass(frozen=True)
class QuoteWord:
    """A word with its punctuation, such as "(rule", at text[start:end]. White space delimits words."""

    text: str
    start: int
    end: int

    @property
    def folded(self) -> str:
        """The word in lower case, without accents and surrounding punctuation, and with one kind of quote and dash."""
        return fold(self.text).strip(" .,;:!?\"'()[]{}")


@dataclass(frozen=True)
class QuoteDifference:
    """A difference between a quote and a text: the words that differ in each. One of the two may be empty."""

    kind: Annotated[
        DifferenceKind,
        Field(description="other signs: the same words, but for capitals, accents, punctuation, quotes or dashes."),
    ]
    quote: Annotated[str, Field(description="The words of the quote; empty if the quote leaves words out.")]
    document: Annotated[str, Field(description="The words of the document; empty if the document has none there.")]


def locate_words(text: str, start: int = 0, end: int | None = None) -> Iterator[QuoteWord]:
    """Yield the words of text[start:end], in order, each with its offsets in the whole text."""
    offset = max(0, start)
    for word in text[offset:end].split():
        offset = text.index(word, offset)  # only white space precedes the word
        yield QuoteWord(word, offset, offset + len(word))
        offset += len(word)


def find_quote(quote: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of `text` that equal the quote except for white space, in order. Spans may overlap.

    The quote may start and end within words. The time is linear in the length of the text.
    """
    sought, squeezed = " ".join(quote.split()), " ".join(text.split())
    found = squeezed.find(sought) if sought else -1
    if found < 0:
        return
    offsets = [offset for word in locate_words(text) for offset in (word.start - 1, *range(word.start, word.end))]
    while found >= 0:  # + 1, because `offsets` starts with the space before the first word
        yield offsets[found + 1], offsets[found + len(sought)] + 1
        found = squeezed.find(sought, found + 1)


def nearest_span(quote: str, text: str, start: int = 0, end: int | None = None) -> tuple[int, int, float] | None:
    """Return the span in text[start:end] with the most words of the quote, as (start, end, share of the quote's words).

    The span is as long as the quote in words, and is trimmed to start and end with words of the quote. Among equally
    good spans, the first is returned, or None if there is no common word. The time is linear in the text's length.
    """
    quoted = list(locate_words(quote))
    wanted = Counter(filter(None, (word.folded for word in quoted)))
    words = list(locate_words(text, start, end))
    total = sum(wanted.values())
    if not total or not words:
        return None
    best, first = _best_window(wanted, [word.folded for word in words], total)
    if not best:
        return None
    shared = [word for word in words[first : first + total] if word.folded in wanted]
    return _start_of_match(shared[0], quoted[0]), _end_of_match(shared[-1], quoted[-1]), best / total


def quote_differences(quote: str, text: str) -> list[QuoteDifference]:
    """Return where a quote's words differ from a text's, in order. White space does not count."""
    quoted, written = [word.text for word in locate_words(quote)], [word.text for word in locate_words(text)]
    differences = []
    for kind, first, last, start, end in SequenceMatcher(None, quoted, written, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        words, others = quoted[first:last], written[start:end]
        if words and others:
            folded = [[QuoteWord(word, 0, len(word)).folded for word in side] for side in (words, others)]
            difference: DifferenceKind = "other signs" if folded[0] == folded[1] else "other words"
        else:
            difference = "not in the document" if words else "left out"
        differences.append(QuoteDifference(difference, " ".join(words), " ".join(others)))
    return differences


def _start_of_match(word: QuoteWord, quoted: QuoteWord) -> int:
    """Return where `word` starts in the text, without punctuation that `quoted` lacks: after "(" in "(rule"."""
    same = word.folded == quoted.folded and word.text.endswith(quoted.text)
    return word.end - len(quoted.text) if same else word.start


def _end_of_match(word: QuoteWord, quoted: QuoteWord) -> int:
    same = word.folded == quoted.folded and word.text.startswith(quoted.text)
    return word.start + len(quoted.text) if same else word.end


def _best_window(wanted: Counter[str], words: Sequence[str], length: int) -> tuple[int, int]:
    """Find the `length` consecutive words that contain the most words of a quote.

    `wanted` has the quote's words and how often each occurs in it; a word counts at most that often. Returns the number
    of the quote's words that were found, and the position of the first of the `length` words.
    """
    counts: Counter[str] = Counter()
    current = best = first = 0
    for index, word in enumerate(words):
        if word in wanted:
            counts[word] += 1
            current += counts[word] <= wanted[word]
        if index >= length:
            leaving = words[index - length]
            if leaving in wanted:
                current -= counts[leaving] <= wanted[leaving]
                counts[leaving] -= 1
        if current > best:
            best, first = current, max(0, index - length + 1)
    return best, first
