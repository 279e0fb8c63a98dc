"""The sentences of the retrieved passages that may be quoted as an answer, with their places."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.sentences import sentence_spans

CandidateKind = Literal["prose", "row", "item"]

_RULE = re.compile(r"^[\s|:+=~*_-]+$")
_HEADING = re.compile(r"^#{1,6}\s|^[^\n.!?:;|]{1,80}\n[=~^*-]{3,}$")
_ITEM = re.compile(r"^(?:[-*•\u2013·]|\(?\w{1,3}[.)])\s+")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKS = re.compile(r"\*\*|__|`+|^\s*#{1,6}\s+|^\s*[-*•\u2013·]\s+", re.MULTILINE)
_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 4
_FEWEST_CELL_WORDS = 2
_LONGEST_HEADING = 8


@dataclass(frozen=True)
class Candidate:
    """One quotable sentence: `text` is chunk.text[start:end], `lead` what it is read with (header, list opening).

    `whole` is false if the chunk begins or ends in the middle of it.
    """

    chunk: int
    start: int
    end: int
    text: str
    kind: CandidateKind
    lead: str
    whole: bool = True

    @cached_property
    def spoken(self) -> str:
        """The sentence as it would be read aloud: without markup, a row as "column: value; column: value"."""
        if self.kind == "row":
            return _spoken_row(self.lead, self.text)
        sentence = without_markup(self.text)
        return f"{without_markup(self.lead)} {sentence}" if self.lead else sentence


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


def without_markup(text: str) -> str:
    """Text without Markdown's emphasis, links, heading and list marks, on one line."""
    return " ".join(_MARKS.sub("", _LINK.sub(r"\1", text)).split())


def _spoken_row(header: str, row: str) -> str:
    names, values = _cells(header), _cells(row)
    if len(names) != len(values):
        return "; ".join(value for value in values if value)
    return "; ".join(f"{name}: {value}" if name else value for name, value in zip(names, values, strict=True) if value)


def _cells(row: str) -> list[str]:
    last = row.strip().splitlines()[-1] if row.strip() else ""
    return [without_markup(cell) for cell in re.split(r"\||\t", last.strip().strip("|"))]


def _of_chunk(number: int, chunk: RetrievedChunk) -> Iterator[Candidate]:
    opening = ""
    header = chunk.context if "|" in chunk.context else ""
    spans = [piece for span in sentence_spans(chunk.text) for piece in _rows(chunk.text, span)]
    for position, (start, end) in enumerate(spans):
        text = chunk.text[start:end]
        following = chunk.text[slice(*spans[position + 1])] if position + 1 < len(spans) else ""
        if _is_row(text) and _is_rule(following):
            header = text
            continue
        kind = _kind(text)
        if kind != "item":
            opening = text if text.endswith(":") else ""
        if _says_something(text, kind):
            lead = header if kind == "row" else opening if kind == "item" else ""
            begun = position == 0 and chunk.span[0] > 0 and text[0].islower()
            broken_off = kind == "prose" and end == len(chunk.text) and text[-1].isalnum()
            yield Candidate(number, start, end, text, kind, lead, whole=not (begun or broken_off))


def _rows(text: str, span: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """A span's lines one by one where it is a table, else the span itself."""
    piece = text[span[0] : span[1]]
    if "\n" not in piece or not all(_is_row(line) for line in piece.splitlines()):
        yield span
        return
    for line in re.finditer(r"\S[^\n]*", piece):
        yield span[0] + line.start(), span[0] + line.start() + len(line.group().rstrip())


def _is_row(text: str) -> bool:
    return text.lstrip().startswith("|") or text.count("|") >= 2 or "\t" in text.strip()


def _is_rule(text: str) -> bool:
    return bool(text) and bool(_RULE.match(text))


def _kind(text: str) -> CandidateKind:
    if _is_row(text) and "\n" not in text:
        return "row"
    return "item" if _ITEM.match(text) else "prose"


def _says_something(text: str, kind: CandidateKind) -> bool:
    """Headings, rules and scraps answer nothing by themselves."""
    if _is_rule(text) or _HEADING.match(text):
        return False
    said = _ITEM.sub("", text)
    words = len(_WORD.findall(said))
    if words <= _LONGEST_HEADING and said.isupper():
        return False
    if kind == "prose" and words <= _LONGEST_HEADING and not re.search(r"[.!?:;…\d|\"”)]", text):
        return False
    if kind == "row":
        return words >= _FEWEST_CELL_WORDS
    return words >= _FEWEST_WORDS or (kind == "item" and words >= 1)
