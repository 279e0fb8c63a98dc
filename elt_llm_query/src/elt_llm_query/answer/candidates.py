"""The sentences of the retrieved passages that may be quoted as an answer, with their places."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Literal

from elt_llm_core.results import RetrievedChunk

from elt_llm_query.answer.pieces import ITEM, Piece, is_row, pieces, without_markup

CandidateKind = Literal["prose", "row", "item"]

_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 4
_FEWEST_CELL_WORDS = 2
_SHORTEST_PROSE = 8
_FEWEST_ROWS = 3
_YEAR = re.compile(r"\b(?:19|20)\d\d(?:/\d\d)?\b")


@dataclass(frozen=True)
class Candidate:
    """One quotable sentence: `text` is chunk.text[start:end], `lead` what it is read with (header, list opening).

    `topic` is the heading or question over it that its passage holds, `asked` whether that is a question: then the
    sentence is read as its answer. `whole` is false if the chunk begins or ends in the middle of the sentence.
    """

    chunk: int
    start: int
    end: int
    text: str
    kind: CandidateKind
    lead: str
    topic: str = ""
    asked: bool = False
    whole: bool = True

    @cached_property
    def spoken(self) -> str:
        """The sentence as it would be read aloud: without markup, a row as "column: value; column: value"."""
        if self.kind == "row":
            return _spoken_row(self.lead, self.text)
        sentence = without_markup(self.text)
        return f"{without_markup(self.lead)} {sentence}" if self.lead else sentence

    @cached_property
    def meant(self) -> str:
        """The sentence with the question it answers, if it stands under one."""
        return f"{without_markup(self.topic)} {self.spoken}" if self.asked else self.spoken


def candidates(chunks: Sequence[RetrievedChunk]) -> list[Candidate]:
    """The quotable sentences of each chunk in order; of a sentence that overlapping chunks share, its longest part."""
    found = [candidate for number, chunk in enumerate(chunks) for candidate in _of_chunk(number, chunk)]
    longest_first = sorted(range(len(found)), key=lambda position: (-len(found[position].text), position))
    kept: dict[tuple[str, str], list[tuple[int, int]]] = {}
    chosen = []
    for position in longest_first:
        chunk = chunks[found[position].chunk]
        start, end = (chunk.span[0] + offset for offset in (found[position].start, found[position].end))
        taken = kept.setdefault((chunk.collection, chunk.source_id), [])
        if not any(left <= start and end <= right for left, right in taken):
            taken.append((start, end))
            chosen.append(position)
    return [found[position] for position in sorted(chosen)]


def read_row(header: str, row: str) -> str:
    """A row as one reads it: "Label: value", or with more columns "Label - column: value; column: value"."""
    names, values = _cells(header), _cells(row)
    label, rest = values[0], values[1:]
    if not label or not any(rest):
        return "; ".join(value for value in values if value)
    if len(rest) == 1 or len(names) != len(values):
        return f"{label}: {'; '.join(value for value in rest if value)}"
    named = (f"{name}: {value}" if name else value for name, value in zip(names[1:], rest, strict=True) if value)
    return f"{label} \u2013 {'; '.join(named)}"


def _spoken_row(header: str, row: str) -> str:
    names, values = _cells(header), _cells(row)
    if len(names) != len(values):
        said = "; ".join(value for value in values if value)
        return said if is_row(header) or not header else f"{without_markup(header)}; {said}"
    return "; ".join(f"{name}: {value}" if name else value for name, value in zip(names, values, strict=True) if value)


def _cells(row: str) -> list[str]:
    last = row.strip().splitlines()[-1] if row.strip() else ""
    return [without_markup(cell) for cell in re.split(r"\||\t", last.strip().strip("|"))]


def _of_chunk(number: int, chunk: RetrievedChunk) -> Iterator[Candidate]:
    found = pieces(chunk.text, re.split(r" > |\n", f"{chunk.section or ''} > {chunk.context}"))
    above = _Above.of(chunk)
    for position, piece in enumerate(found):
        if above.takes(found, position):
            continue
        if _says_something(piece):
            yield Candidate(
                chunk=number,
                start=piece.start,
                end=piece.end,
                text=piece.text,
                kind="row" if piece.kind == "row" else "item" if piece.kind == "item" else "prose",
                lead=above.lead(piece),
                topic=above.question or above.heading,
                asked=bool(above.question),
                whole=_is_whole(piece, chunk),
            )


@dataclass
class _Above:
    """What stands over the next piece of a passage: heading, question, table header, the sentence before a list."""

    heading: str = ""
    question: str = ""
    header: str = ""
    opening: str = ""
    stays: bool = True

    @classmethod
    def of(cls, chunk: RetrievedChunk) -> "_Above":
        """What the headings of a passage say about its beginning."""
        last = (chunk.section or "").split(" > ")[-1]
        return cls(question=last if last.endswith("?") else "", header=chunk.context if "|" in chunk.context else "")

    def takes(self, found: Sequence[Piece], position: int) -> bool:
        """Take note of a piece; true if it is nothing but that."""
        piece = found[position]
        following = found[position + 1] if position + 1 < len(found) else None
        if piece.kind == "question":
            self.question, self.stays = piece.text, piece.new_paragraph and bool(following and following.new_paragraph)
        elif piece.kind == "heading":
            self.heading, self.question = piece.text, ""
        elif piece.new_paragraph and not self.stays:
            self.question, self.stays = "", True
        if piece.kind == "row":
            return self._takes_header(found, position)
        if piece.kind != "item":
            self.opening = piece.text if piece.text.endswith(":") else ""
        return piece.kind in ("question", "heading", "rule")

    def lead(self, piece: Piece) -> str:
        """What a row or an item is read with."""
        return self.header if piece.kind == "row" else self.opening if piece.kind == "item" else ""

    def _takes_header(self, found: Sequence[Piece], position: int) -> bool:
        before = found[position - 1].kind if position else ""
        run = [piece.text for piece in takewhile(lambda piece: piece.kind == "row", found[position:])]
        ruled = len(run) == 1 and position + 1 < len(found) and found[position + 1].kind == "rule"
        if before in ("row", "rule") or (not position and self.header):
            return ruled
        if ruled or _names_columns(run):
            self.header = run[0]
            return True
        self.header = self.heading if before == "heading" else ""
        return False


def _names_columns(run: Sequence[str]) -> bool:
    """Whether the first of several rows has as many cells as the next and no figure but years."""
    if len(run) < _FEWEST_ROWS or len(_cells(run[0])) != len(_cells(run[1])):
        return False
    return all(cell and not re.search(r"\d", _YEAR.sub("", cell)) for cell in _cells(run[0]))


def _is_whole(piece: Piece, chunk: RetrievedChunk) -> bool:
    begun = piece.start == 0 and chunk.span[0] > 0 and piece.text[0].islower()
    broken_off = piece.kind == "prose" and piece.end == len(chunk.text) and piece.text[-1].isalnum()
    return not (begun or broken_off)


def _says_something(piece: Piece) -> bool:
    """Scraps answer nothing by themselves."""
    said = ITEM.sub("", piece.text)
    words = len(_WORD.findall(said))
    if piece.kind == "row":
        return words >= _FEWEST_CELL_WORDS
    if piece.kind == "prose" and words <= _SHORTEST_PROSE and not re.search(r"[.!?:;…\d|\"”)]", piece.text):
        return False
    return words >= _FEWEST_WORDS or (piece.kind == "item" and words >= 1)
