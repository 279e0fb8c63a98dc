"""Find the lists near the retrieved chunks, and choose the one that a question asks for.

A question for steps or for several things is answered by a whole list. Its items rarely share words with the question,
so the list is compared together with its headings and the sentence that opens it. Decision 37 has the measurements.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.outline import Outline

from elt_llm_query.extractive.sentence_scores import ScoringContext
from elt_llm_query.grounding.citations import Quote
from elt_llm_query.grounding.sentences import (
    ITEM,
    TextPiece,
    embed_truncated,
    split_pieces,
    strip_markup,
    strip_syntax,
)

DocumentReader = Callable[[RetrievedChunk], tuple[str, Outline]]
"""A function that returns the text and the outline of a chunk's document."""

_BEFORE = 2500  # characters before a chunk in which its lists may start
_AFTER = 3000  # characters after a chunk in which its lists may end
_LONGEST_ANNOUNCED = 900  # characters of a quoted sentence that ends with a colon, and of what it announces
_FEWEST_ITEMS = 2
_LONGEST_LIST = 2500  # characters
_MOST_WORDS_AN_ITEM = 45  # on average; the numbered paragraphs of a law are longer, but do not list things
_WEIGHT_WHOLE = 0.6  # weight of the cosine with heading and items; the rest is for heading and opening alone
_COST_OF_RANK = 0.02  # is subtracted from the score for each rank of the chunk
_MOST_WORDS_OF_SHORT_OPENING = 3
_MOST_BETWEEN = 12  # pieces of text between two numbered items of one list
_NUMBER = re.compile(r"\(?(\d{1,3})[.)]\s")
_FIRST = re.compile(r"[-*•\u2013·]\s|\(?(?:0?[01]|[aAiI])[.)]\s")
_FIRST_NUMBERED = re.compile(r"\s{1,200}\(?(?:1|a|aa|i)[.)]\s")
_TERM = re.compile(r"([^\s-][^\n.!?:;,={}]{0,40})\n[ \t]+(?=[A-Z\u00c0-\u00de\"'])")
_DEFINITION = re.compile(r"[^\n]*(?:\n[ \t]+\S[^\n]*){0,40}")
_JOINT = re.compile(r"\b(?:and|or|und|oder)$")
_ALIGNED = re.compile(r"\S(?: {2,}|\t)\S")
_MARKERS = (re.compile(r"[-*•\u2013·]\s"), _NUMBER, re.compile(r"\(?[a-zA-Z]{1,4}[.)]\s"))


@dataclass(frozen=True)
class FoundList:
    """A list at start:end of its document, with its opening sentence ("Bring:") in `text`. `score` is about -1 to 1.

    `announced` is whether it has an opening sentence.
    """

    chunk: RetrievedChunk
    start: int
    end: int
    text: str
    score: float
    announced: bool

    def quote(self) -> Quote:
        """Quote the whole list, which may extend beyond the chunk."""
        widened = self.chunk.model_copy(update={"text": self.text, "span": (self.start, self.end)})
        return Quote(widened, 0, len(self.text))


def best_list(
    context: ScoringContext, chunks: Sequence[RetrievedChunk], read_document: DocumentReader
) -> FoundList | None:
    """Return the list near one of the chunks that best matches the question, or None. Chunks are sorted best first."""
    found: dict[tuple[str, str, int, int], tuple[int, RetrievedChunk, str, str]] = {}
    for rank, chunk in enumerate(chunks):
        text, outline = read_document(chunk)
        for start, end, opening in _lists_near(chunk, text, outline):
            key = (chunk.collection, chunk.source_id, start, end)
            heading = " ".join(outline.section_path(start)[-2:]) or chunk.source_title
            found.setdefault(key, (rank, chunk, f"{heading}: {text[start:end]}", f"{heading}: {opening}"))
    if not found:
        return None
    texts = [strip_markup(text) for _, _, *both in found.values() for text in both]
    vectors = embed_truncated(texts, context.embedding) @ context.vectors.T
    cosines = np.round(vectors.max(axis=1).reshape(-1, 2), 6)
    scores = cosines @ np.array([_WEIGHT_WHOLE, 1.0 - _WEIGHT_WHOLE])
    lists = [
        FoundList(
            chunk,
            start,
            end,
            read_document(chunk)[0][start:end],
            float(score) - _COST_OF_RANK * rank,
            bool(opening),
        )
        for ((_, _, start, end), (rank, chunk, _, opening)), score in zip(found.items(), scores, strict=True)
    ]
    return max(lists, key=lambda one: one.score)


def _lists_near(chunk: RetrievedChunk, text: str, outline: Outline) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and opening sentence ("Bring:") of each list in the chunk's section that overlaps the chunk."""
    first, last = chunk.span
    starts = [section.start for section in outline.sections]
    section_start = max((start for start in starts if start <= first), default=0)
    section_end = min((start for start in starts if start >= last), default=len(text))
    begin, stop = max(section_start, first - _BEFORE), min(section_end, last + _AFTER)
    titles = [section.title for section in outline.sections if begin <= section.start < stop]
    for start, end, opening in lists_of(text[begin:stop], titles):
        if begin + start < last and first < begin + end:
            yield begin + start, begin + end, opening


def lists_of(text: str, titles: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and opening of each list in a text.

    The opening is the sentence before the first item if it opens a list, such as "Bring:", else an empty text; the list
    starts at its opening. `titles` are the known headings. A list inside another list is also yielded by itself.
    Lists that are long, have long items, or lack their first item in the text are left out.
    """
    pieces = split_pieces(text, titles)
    position = 0
    while position < len(pieces):
        marker = _marker(pieces[position])
        if marker is None:
            position += 1
            continue
        after, items = _end_of_list(pieces, position)
        before = pieces[position - 1] if position else None
        sentence = before and before.kind in ("prose", "item")
        opening = before if before and sentence and opens_list(before.text, text[before.end :]) else None
        start = _start_of_opening(pieces, position - 1) if opening else pieces[position].start
        end = pieces[after - 1].end
        words = len(text[start:end].split())
        whole = bool(_FIRST.match(pieces[position].text))
        if whole and items >= _FEWEST_ITEMS and end - start <= _LONGEST_LIST and words <= _MOST_WORDS_AN_ITEM * items:
            yield start, end, opening.text if opening else ""
        position += 1
        while position < after and _marker(pieces[position]) in (None, marker):
            position += 1


def opens_list(text: str, after: str) -> bool:
    """Return whether a sentence opens the list after it: it ends with a colon, or goes on in an item "1." or "a)"."""
    return text.endswith(":") or (text[-1:].isalpha() and bool(_FIRST_NUMBERED.match(after)))


def _start_of_opening(pieces: Sequence[TextPiece], position: int) -> int:
    """Return where the opening of a list starts: a short one ("In particular:") belongs to the sentence before it."""
    opening = pieces[position]
    short = position and opening.text.endswith(":") and len(opening.text.split()) <= _MOST_WORDS_OF_SHORT_OPENING
    if short and not opening.new_paragraph and pieces[position - 1].kind == "prose":
        return pieces[position - 1].start
    return opening.start


def with_announced(quote: Quote, after: str) -> Quote:
    """Extend a quote that opens a list ("Bring:") by what it announces. `after` is the text after the quote.

    This is the list after it, also in groups with titles ("Minor:"), or else the next sentence or block of lines. A
    block keeps its lines. The quote stays as it is if the first item or the block is too long. Below a list whose last
    items do not fit, "…" is shown.
    """
    kept: list[TextPiece] = []
    lines = quote.chunk.text[: quote.end].rpartition("\n\n")[2].splitlines()
    own = next((line.lstrip() for line in reversed(lines) if ITEM.match(line.lstrip())), " ")
    cut = False
    for piece in split_pieces(after[: 2 * _LONGEST_ANNOUNCED], ()):
        if not _is_announced(kept, piece) or (kept and _ends_inner_list(kept, after, piece, own)):
            break
        if len(quote.words) + piece.end > _LONGEST_ANNOUNCED:
            cut = bool(ITEM.match(piece.text))
            break
        kept.append(piece)
    while kept and kept[-1].text.endswith(":"):
        kept.pop()
    if not kept:
        return quote
    start, end = quote.span
    text = quote.words + after[: kept[-1].end]
    widened = quote.chunk.model_copy(update={"text": text, "span": (start, end + kept[-1].end)})
    if cut:
        rest = "".join(f"\n{one.text}" if ITEM.match(one.text) else f" {one.text}" for one in kept)
        return Quote(widened, 0, len(text), strip_syntax(f"{quote.words}{rest}\n…"))
    prose = any(ITEM.match(piece.text) for piece in kept) or _ends_sentence(kept[-1])
    return Quote(widened, 0, len(text), "" if prose else strip_syntax(text))


def with_definition(quote: Quote, after: str) -> Quote:
    """Extend a quote that starts with a term above an indented definition to the end of it, and show "Term: ..."."""
    term, found = _TERM.match(quote.words), _DEFINITION.match(after)
    if not term or not found or ITEM.match(quote.words):
        return quote
    rest = found.group().rstrip()
    rest = rest if len(quote.words) + len(rest) <= _LONGEST_ANNOUNCED else ""
    start, end = quote.span
    text = quote.words + rest
    widened = quote.chunk.model_copy(update={"text": text, "span": (start, end + len(rest))})
    return Quote(widened, 0, len(text), f"{term[1].strip()}: {' '.join(strip_syntax(text[term.end() :]).split())}")


def is_aligned(text: str) -> bool:
    """Return whether most lines of a text have columns that are aligned with blanks."""
    lines = text.splitlines()
    return len(lines) > 1 and sum(bool(_ALIGNED.search(line.strip())) for line in lines) > len(lines) / 2


def _is_announced(before: Sequence[TextPiece], piece: TextPiece) -> bool:
    """Return whether a sentence that ends with a colon announces this piece too, besides the pieces `before` it."""
    # A number on a line of its own is that of a paragraph or page.
    if not before or before[-1].text.endswith(":") or before[-1].text.isdecimal():
        return True
    in_list = any(ITEM.match(one.text) for one in before)
    if in_list and ITEM.match(piece.text):
        return True
    if before[0].text.endswith(":") and piece.text.endswith(":"):
        return True  # the title of a further group
    return not piece.new_paragraph and (in_list or not _ends_sentence(before[-1]))


def _ends_inner_list(items: Sequence[TextPiece], text: str, piece: TextPiece, outer: str) -> bool:
    """Return whether the next item belongs to the outer list: it is indented less, or "and" or "or" joined the last.

    Or its number goes on the outer list alone. Lists of web pages have no indentation. `outer` announces the list.
    """
    joined = len(items) > 1 and bool(_JOINT.search(items[-2].text)) and _ends_sentence(items[-1])
    above, last, own = (_NUMBER.match(one) for one in (outer, items[-1].text, piece.text))
    resumed = _follows(above, own) and not _follows(last, own)
    resumed |= joined and piece.text[0] == outer[0]
    return resumed or _indentation(text, piece) < _indentation(text, items[0])


def _follows(number: re.Match[str] | None, following: re.Match[str] | None) -> bool:
    return number is not None and following is not None and int(following[1]) == int(number[1]) + 1


def _indentation(text: str, piece: TextPiece) -> int:
    return piece.start - text.rfind("\n", 0, piece.start)


def _ends_sentence(piece: TextPiece) -> bool:
    return piece.text.endswith((".", "!", "?"))


def _marker(piece: TextPiece) -> int | None:
    """Return the index of a list item's marker in _MARKERS, such as 0 for a bullet; None if it is not a list item."""
    if piece.kind != "item":
        return None
    return next((kind for kind, pattern in enumerate(_MARKERS) if pattern.match(piece.text)), None)


def _end_of_list(pieces: Sequence[TextPiece], first: int) -> tuple[int, int]:
    """Return the position after the list that starts at `first`, and its number of items."""
    marker, items, inner = _marker(pieces[first]), 0, False
    position = last = first
    while position < len(pieces):
        piece, own = pieces[position], _marker(pieces[position])
        if own is not None and own == marker:
            items, inner, last = items + 1, False, position
        elif own is not None and (inner or pieces[position - 1].text.endswith(":")):
            inner = True
        elif own is not None or piece.kind != "prose" or piece.new_paragraph:
            following = _next_number(pieces, last, position)
            if following is None:
                break
            position = following
            continue
        position += 1
    return position, items


def _next_number(pieces: Sequence[TextPiece], last: int, position: int) -> int | None:
    """Return the position of the item numbered after the item at `last`, if only paragraphs are between these items."""
    number = _NUMBER.match(pieces[last].text)
    if number is None:
        return None
    for following in range(position, min(position + _MOST_BETWEEN, len(pieces))):
        found = _NUMBER.match(pieces[following].text) if pieces[following].kind == "item" else None
        if _follows(number, found):
            return following
        if pieces[following].kind in ("heading", "question"):
            return None
    return None
