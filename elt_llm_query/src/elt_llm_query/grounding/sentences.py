"""Split chunks into sentences, find the quotable ones, match the question's terms, and embed texts."""

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby, takewhile
from typing import Literal

import numpy as np
from elt_llm_core.index.searchable import Searchable
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.normalise import fold
from elt_llm_core.text.sentences import is_bar_row, sentence_spans
from numpy.typing import NDArray

from elt_llm_query.retrieve.query_variant import stem_weight

TextPieceKind = Literal["prose", "row", "item", "rule", "heading", "question"]

# "2.1 Fees ..... 9" in a table of contents.
_LEADERS = re.compile(r"(?<!\.)(?:(?<!\. )\.(?>(?: ?\.)+)\W{0,9}\d{1,4}|\.{4,})$")
# "2 Fees | 9", a line of a table of contents in the text of a PDF.
_CONTENTS = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,4} [A-Z][^|\d]{2,100}\| \d{1,4}$")
_RULE = re.compile(r"^[\s|:+=~*_-]+$")
_HEADING = re.compile(r"^#{1,6}\s|^[^\n.!?:;|]{1,80}\n[=~^*-]{3,}$")
_UNDERLINED = re.compile(r"\n[=~^*-]{3,}$")
ITEM = re.compile(r"^(?:[-*•\u2013·]|\(?\w{1,3}[.)])\s+")
# "6. Drones", "A3.1 Fees", "Part L: Welfare": the number of a heading.
_LABELLED = re.compile(r"\S*[\d:.)]|\w+ \w{1,3}:")
_LABEL = re.compile(r"^(?:\w+ )?\(?[\w.]{1,8}[.):]?\s+")
_QUESTION = re.compile(r"[?\uff1f][\"'\u201d\u2019»)\]*_]*$")
_OPEN_END = re.compile(r"[.!?:;,…|)\"”»]\W{0,40}$|\d")
_LINK = re.compile(r"!?\[([^\[\]]{0,500})\]\([^()\n]{0,1000}\)")
_MARKS = re.compile(r"\*\*|__|`+|^\s{0,40}#{1,6}\s{1,40}|^\s{0,40}[-*•\u2013·]\s{1,40}", re.MULTILINE)
_AUTOLINK = re.compile(r"<((?:https?://|mailto:)[^<>\s]{1,500})>")
# Template tags, the box of a task ("- [ ] Sign the form"), and HTML within Markdown.
_TAG = re.compile(
    r"\{%[^%\n]{0,200}%\}|(?:(?<=- )|(?<=\* ))\[[ xX]\] "
    r"|(?<![`<])</?(?:(br|div|p|pre)|a|b|em|i|small|span|strong|su[bp]|u)(?: [a-z-]{2,20}=[^<>\n]{0,500})? ?/?>(?!`)"
)
_EMPHASIS = re.compile(r"(?<![\w`])__(?=\S)([^_\n]{1,200})__(?![\w`])")
# The number of a footnote may have a space before it; after "see" or "of", it is the number of a work ("see [6]").
_NOT_AFTER_SEE = "".join(
    rf"(?<!\b{word})" for word in ("see", "See", "of", "in", "In", "by", "to", "and", "from", "with")
)
_SYNTAX = re.compile(
    r"\*{2,3}|(?<=[\w.,;:!?)\"'\u201d])\[\d{1,3}\](?!\()|^\[\d{1,3}\] "
    rf"|(?<=[\w.,;:!?)\"'\u201d]){_NOT_AFTER_SEE} \[\d{{1,3}}\](?=[\s.,;:!?)]|$)"
)
_BAR_IN_SENTENCE = re.compile(r"[^\s|.!?:;] \| [a-z]")
_LINE = re.compile(r"[^\n]*+\n?")
_GAP = re.compile(r"(?<=[^\s.!?:]) {2,}(?=\S)")
_FEWEST_ALIGNED = 3  # lines
_LONGEST_HEADING = 8  # words
_KEPT_FREQUENCIES = 10_000  # stems


@dataclass(frozen=True)
class TextPiece:
    """The part text[start:end] of a chunk. `new_paragraph` means that it follows a blank line or starts the chunk."""

    start: int
    end: int
    text: str
    kind: TextPieceKind
    new_paragraph: bool


def split_pieces(text: str, titles: Collection[str]) -> list[TextPiece]:
    """Split a chunk's text into pieces, in order: sentences, headings, list items and table rows.

    `titles` are the known headings of the document.
    """
    spans = [piece for span in sentence_spans(text) for piece in split_table_rows(text, span)]
    blocks = list(_aligned_blocks(text))
    if blocks:
        starts = [entries[0][0] for entries in blocks]
        ends = [entries[-1][1] for entries in blocks]
        spans = [one for one in spans if bisect_right(starts, one[0]) == bisect_right(ends, one[0])]
        spans = sorted([*spans, *(entry for entries in blocks for entry in entries)])
    known = {_bare_title(title) for title in titles} - {""}
    pieces: list[TextPiece] = []
    for position, (start, end) in enumerate(spans):
        before = text[spans[position - 1][1] : start] if position else "\n\n"
        after = text[end : spans[position + 1][0]] if position + 1 < len(spans) else ""
        following = text[slice(*spans[position + 1])] if position + 1 < len(spans) else ""
        kind = _piece_kind(text[start:end])
        if kind == "row" and _has_bar_in_sentence(text[start:end]):
            previous = text[slice(*spans[position - 1])] if position else ""
            beside = (previous, before), (following, after)
            kind = kind if any(is_table_row(row) and gap.count("\n") < 2 for row, gap in beside) else "prose"
        apart = before.count("\n") > 1
        alone = apart and after.count("\n") > 1
        over_table = "\n" in after and is_table_row(following)
        in_list = bool(pieces and pieces[-1].kind == "item") or bool(ITEM.match(following))
        in_list = in_list and not (alone and _bare_title(text[start:end]) in known)  # "6. Fees", above "1. Ask"
        if kind == "prose" or (kind == "item" and not in_list):
            kind = "heading" if _is_heading(text[start:end], known, alone=alone, over_table=over_table) else kind
        pieces.append(TextPiece(start, end, text[start:end], kind, apart))
    return pieces


def strip_markup(text: str) -> str:
    """Remove Markdown's marks for emphasis, links, headings and lists. Return the text as one line."""
    return " ".join(_MARKS.sub("", _LINK.sub(r"\1", _strip_tags(_UNDERLINED.sub("", text)))).split())


def strip_syntax(text: str) -> str:
    """Remove link and emphasis marks, tags and footnote numbers, but keep line breaks and list marks."""
    without_links = _AUTOLINK.sub(r"\1", _LINK.sub(r"\1", _strip_tags(text)))
    return _SYNTAX.sub("", _EMPHASIS.sub(r"\1", without_links))


def _strip_tags(text: str) -> str:
    return _TAG.sub(lambda tag: " " if tag[1] else "", text)


def is_table_row(text: str) -> bool:
    """Return whether a line is a table row: it starts with a bar, or has a bar or tab between cells.

    A tab between the mark of a list item and its text does not separate cells.
    """
    return is_bar_row(text) or "\t" in ITEM.sub("", text.strip())


def _has_bar_in_sentence(text: str) -> bool:
    """Return whether a line with a bar can be a sentence, such as "Run a | b now.", if no table row is beside it."""
    return text.endswith((".", "!", "?")) and not text.startswith("|") and bool(_BAR_IN_SENTENCE.search(text))


def _aligned_blocks(text: str) -> Iterator[list[tuple[int, int]]]:
    """Yield the spans of the entries of each paragraph whose lines have a column that is aligned with blanks.

    An entry is a line with the lines that continue it: those further to the right without a gap, and those that start
    in its second column.
    """
    apart = groupby(_LINE.finditer(text) if "  " in text else (), lambda line: not line.group().strip())
    for lines in (list(lines) for blank, lines in apart if not blank):
        columns = [_second_column(line.group()) for line in lines]
        common = Counter(column for column in columns if column).most_common(1)
        column, count = common[0] if common else (0, 0)
        continuing = sum(not line.group()[:column].strip() for line in lines) if count > 1 else 0
        if len(lines) < _FEWEST_ALIGNED or count + continuing <= len(lines) / 2:
            continue
        entries: list[tuple[int, int]] = []
        first = column = 0
        for line, second in zip(lines, columns, strict=True):
            indent = len(line.group()) - len(line.group().lstrip())
            start, end = line.start() + indent, line.start() + len(line.group().rstrip())
            if entries and (indent >= column > 0 or (not second and indent > first)):
                entries[-1] = (entries[-1][0], end)
            else:
                entries.append((start, end))
                first, column = indent, second
        yield entries


def _second_column(line: str) -> int:
    """Return where the text after the first gap of a line starts, or 0 if it has no gap. A sentence may end in one."""
    gap = _GAP.search(line)
    return gap.end() if gap else 0


def split_table_rows(text: str, span: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Split a span of a text so that each table row is a span of its own; yield the spans in order."""
    prose = None
    for line in re.finditer(r"[^\n]+", text[span[0] : span[1]]):
        start = span[0] + line.end() - len(line.group().lstrip())
        end = span[0] + line.start() + len(line.group().rstrip())
        if end <= start:
            continue
        if not is_table_row(line.group()):
            prose = (prose[0] if prose else start, end)
            continue
        if prose:
            yield prose
        prose = None
        yield start, end
    if prose:
        yield prose


def _piece_kind(text: str) -> TextPieceKind:
    if _RULE.match(text):
        return "rule"
    if is_table_row(text) and "\n" not in text:
        return "row"
    if _QUESTION.search(text):
        return "question"
    if _HEADING.match(text):
        return "heading"
    return "item" if ITEM.match(text) else "prose"


def _is_heading(text: str, titles: Collection[str], *, alone: bool, over_table: bool) -> bool:
    """Return whether a line is a heading: a known title, or in capitals, or short, separate and without full stop."""
    short = len(text.split()) <= _LONGEST_HEADING
    if _bare_title(text) in titles or (text.isupper() and short):
        return True
    unlabelled = _LABEL.sub("", text, count=1) if _LABELLED.match(text) else text
    return ((alone and short) or over_table) and "\n" not in text and not _OPEN_END.search(unlabelled)


def _bare_title(title: str) -> str:
    return fold(strip_markup(title)).strip(" .:")


CandidateKind = Literal["prose", "row", "item"]

_WORD = re.compile(r"\w+")
_FIGURE = re.compile(r"[^\w|]{0,5}\d[\d.,' ]{0,20}[^\w|]{0,5}|[-\u2212\u2013\u2014]")
_YEAR = re.compile(r"\b(?:19|20)\d\d(?:/\d\d)?\b")
_FEWEST_ROWS = 3  # needed to recognise the first row as a header, in a table without a rule below it
_LONGEST_GROUP = 200  # characters in the lines that name a group of rows
_FEWEST_WORDS, _FEWEST_ROW_WORDS = 4, 2  # in a quotable sentence, and in a quotable table row
_LONGEST_LABEL = 8  # words; so few without punctuation or digits are a label, not a sentence


@dataclass(frozen=True)
class SentenceCandidate:
    """One quotable sentence, chunk.text[start:end].

    `lead` is the header of the table that contains it, or the sentence that introduces its list, such as "Bring:".
    `topic` is the heading or question above the sentence; `under_question` is true if the topic is a question, which
    the sentence then answers. `whole` is false if the chunk starts or ends in the middle of the sentence.
    """

    chunk: int
    start: int
    end: int
    text: str
    kind: CandidateKind
    lead: str
    topic: str = ""
    under_question: bool = False
    whole: bool = True

    @cached_property
    def readable(self) -> str:
        """The sentence without markup. A table row becomes "column: value; column: value".

        A list item comes after the sentence that introduces its list: "Bring: a towel".
        """
        if self.kind == "row":
            return _row_text(self.lead, self.text)
        sentence = strip_markup(self.text)
        return f"{strip_markup(self.lead)} {sentence}" if self.lead else sentence

    @cached_property
    def readable_with_question(self) -> str:
        """The `readable` sentence, preceded by the question above it in the document, if any, as in an FAQ."""
        return f"{strip_markup(self.topic)} {self.readable}" if self.under_question else self.readable


def sentence_candidates(chunks: Sequence[RetrievedChunk]) -> list[SentenceCandidate]:
    """Return the quotable sentences of all chunks, in order. A sentence in two overlapping chunks is returned once."""
    candidates = [candidate for number, chunk in enumerate(chunks) for candidate in _chunk_candidates(number, chunk)]
    kept: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    chosen = []
    for position, candidate in sorted(enumerate(candidates), key=lambda one: -len(one[1].text)):
        chunk = chunks[candidate.chunk]
        start, end = (chunk.span[0] + offset for offset in (candidate.start, candidate.end))
        spans = kept[chunk.collection, chunk.source_id]
        if not any(left <= start and end <= right for left, right in spans):
            spans.append((start, end))
            chosen.append(position)
    return [candidates[position] for position in sorted(chosen)]


def row_as_text(header: str, row: str, years: Collection[str] = ()) -> str:
    """Write a row as "Label: value", or with more columns "Label - column: value; column: value".

    A unit in brackets that heads the first column is written after the label. If some columns are for one of `years`,
    the columns for other years are left out.
    """
    names, values = _cells(header), _cells(row)
    label, rest = values[0], values[1:]
    if not label or not any(rest):
        return "; ".join(filter(None, values))
    if len(names) != len(values):
        return f"{label}: {'; '.join(filter(None, rest))}"
    unit = f" {names[0]}" if names[0].startswith("(") else ""
    if len(rest) == 1:
        return f"{label}{unit}: {rest[0]}"
    asked = columns_of_years(header, years)
    columns = [number for number, name in enumerate(names) if number in asked or not (asked and years_in(name))][1:]
    return f"{label}{unit} \u2013 {_named_values([names[at] for at in columns], [values[at] for at in columns])}"


def years_in(text: str) -> tuple[str, ...]:
    """Return the years that a text names, such as 2025 and 2025/26."""
    return tuple(_YEAR.findall(text))


def columns_of_years(header: str, years: Collection[str]) -> list[int]:
    """Return the indexes of the columns whose header cell contains one of the years."""
    return [number for number, name in enumerate(_cells(header)) if set(_YEAR.findall(name)) & set(years)]


def row_label(row: str) -> str:
    """Return the first cell of a row, without markup."""
    return _cells(row)[0]


def _row_text(header: str, row: str) -> str:
    names, values = _cells(header), _cells(row)
    if len(names) != len(values):
        joined = "; ".join(filter(None, values))
        return joined if is_table_row(header) or not header else f"{strip_markup(header)}; {joined}"
    return _named_values(names, values)


def _named_values(names: Sequence[str], values: Sequence[str]) -> str:
    return "; ".join(f"{name}: {value}" if name else value for name, value in zip(names, values, strict=True) if value)


def _cells(row: str) -> list[str]:
    last = row.strip().splitlines()[-1] if row.strip() else ""
    bare = last.strip()
    # A Markdown row has a bar at both ends; a row from a PDF starts with one only if its first cell is empty.
    bare = bare.strip("|") if bare.endswith("|") or not bare.startswith("| ") else bare
    return [strip_markup(cell) for cell in re.split(r"\||\t", bare)]


def _chunk_candidates(number: int, chunk: RetrievedChunk) -> Iterator[SentenceCandidate]:
    pieces = split_pieces(chunk.text, re.split(r" > |\n", f"{chunk.section or ''} > {chunk.context}"))
    last = (chunk.section or "").split(" > ")[-1]
    above = _PrecedingContext(
        question=last if last.endswith("?") else "", header=chunk.context if "|" in chunk.context else ""
    )
    for position, piece in enumerate(pieces):
        if above.update(pieces, position) or not _has_content(piece):
            continue
        if not above.header and _CONTENTS.match(piece.text):
            continue
        starts_inside = piece.start == 0 and chunk.span[0] > 0 and piece.text[0].islower()
        ends_inside = piece.kind == "prose" and piece.end == len(chunk.text) and piece.text[-1].isalnum()
        yield SentenceCandidate(
            chunk=number,
            start=piece.start,
            end=piece.end,
            text=piece.text,
            kind="row" if piece.kind == "row" else "item" if piece.kind == "item" else "prose",
            lead=above.header if piece.kind == "row" else above.opening if piece.kind == "item" else "",
            topic=above.question or above.heading,
            under_question=bool(above.question),
            whole=not (starts_inside or ends_inside),
        )


@dataclass
class _PrecedingContext:
    """The heading, question, table header and opening of a list ("Bring:") that precede the next piece of a chunk."""

    heading: str = ""
    question: str = ""
    header: str = ""
    opening: str = ""
    stays: bool = True

    def update(self, pieces: Sequence[TextPiece], position: int) -> bool:
        """Read the next piece, and update the context. Return True if the piece is only context, such as a heading."""
        piece = pieces[position]
        following = pieces[position + 1] if position + 1 < len(pieces) else None
        if piece.kind == "question":
            self.question, self.stays = piece.text, piece.new_paragraph and bool(following and following.new_paragraph)
        elif piece.kind == "heading":
            self.heading, self.question = piece.text, ""
        elif piece.new_paragraph and not self.stays:
            self.question, self.stays = "", True
        if piece.kind == "row":
            return self._read_header(pieces, position)
        if piece.kind != "item":
            self.opening = piece.text if piece.text.endswith(":") else ""
        return piece.kind in ("question", "heading", "rule")

    def _read_header(self, pieces: Sequence[TextPiece], position: int) -> bool:
        before = pieces[position - 1].kind if position else ""
        table = takewhile(lambda piece: piece.kind in ("row", "heading") or _names_group(piece), pieces[position:])
        run = [piece.text for piece in table if piece.kind == "row"]
        ruled = len(run) == 1 and position + 1 < len(pieces) and pieces[position + 1].kind == "rule"
        if before in ("row", "rule") or (not position and self.header):
            return ruled
        if ruled or _names_columns(run):
            self.header = run[0]
            return True
        if is_table_row(self.header) and len(_cells(self.header)) == len(_cells(run[0])):
            return ruled  # the heading names a group of rows of the same table
        self.header = self.heading if before == "heading" else ""
        return False


def _names_group(piece: TextPiece) -> bool:
    """Return whether a line between rows names a group of rows, such as "Current assets". Headings may do so too."""
    short = len(piece.text) <= _LONGEST_GROUP and piece.text[-1] not in ".!?"
    return short and piece.kind == "prose" and not piece.new_paragraph


def _names_columns(run: Sequence[str]) -> bool:
    """Return whether the first row of a table is a header. `run` contains the rows of the table, in order."""
    if len(run) < _FEWEST_ROWS or len(_cells(run[0])) != len(_cells(run[1])):
        return False
    first, *others = _cells(run[0])
    # Above rows of figures, the first cell may be empty or name the unit, and the other cells may be dates.
    if all(_FIGURE.fullmatch(cell) for row in run[1:] for cell in _cells(row)[1:] if cell):
        return all(cell and not _FIGURE.fullmatch(_YEAR.sub("", cell)) for cell in others)
    return all(cell and not re.search(r"\d", _YEAR.sub("", cell)) for cell in (first, *others))


def _has_content(piece: TextPiece) -> bool:
    """Return whether a piece contains enough words to answer a question."""
    if _LEADERS.search(piece.text):
        return False
    words = len(_WORD.findall(_LINK.sub(r"\1", _strip_tags(ITEM.sub("", piece.text)))))
    if piece.kind == "row":
        return words >= _FEWEST_ROW_WORDS
    if piece.kind == "prose" and words <= _LONGEST_LABEL and not re.search(r"[.!?:;…\d|\"”)]", piece.text):
        return False
    return words >= _FEWEST_WORDS or (piece.kind == "item" and words >= 1)


_SHORTEST_SHARED_PREFIX = 5  # characters
# Anchored and bounded, so that the time is linear in the length of the text.
_LABELLED_NUMBER = re.compile(r"(?<![^\W\d])([^\W\d]{3,30})[ \u00a0-]?(\d{1,9}(?:\.\d{1,9}){0,5})\b")


@dataclass(frozen=True)
class TermWeights:
    """How much stems weigh: `idf(stem)` grows with rarity, `known(stem)` is true if any document contains the stem."""

    idf: Callable[[str], float]
    known: Callable[[str], bool]

    def total(self, terms: Sequence[str]) -> float:
        """Return the summed weight of the terms; never 0."""
        return sum(self.idf(term) for term in terms) or 1.0

    def coverage(self, terms: Sequence[str], stems: Collection[str], around: Collection[str] = ()) -> float:
        """Return the weighted share, 0 to 1, of the terms of a question in `stems`.

        Terms that are only in `around`, the stems of headings and of the previous sentence, count half.
        """
        covered = sum(self.idf(term) * max(match_term(term, stems), 0.5 * match_term(term, around)) for term in terms)
        return covered / self.total(terms)


def collection_term_weights(generations: Sequence[Searchable]) -> TermWeights:
    """Return BM25 weights (0 or more) of stems: the rarer a stem is in all these collections, the higher."""
    total = sum(generation.size for generation in generations)

    @lru_cache(_KEPT_FREQUENCIES)
    def frequency(stem: str) -> int:
        return sum(generation.frequencies((stem,))[stem] for generation in generations)

    def idf(stem: str) -> float:
        return math.log(1 + (total - frequency(stem) + 0.5) / (frequency(stem) + 0.5))

    return TermWeights(idf, lambda stem: frequency(stem) > 0)


def local_term_weights(stems_of_chunks: Sequence[Collection[str]]) -> TermWeights:
    """Estimate weights for stems from the retrieved chunks alone, if the rest of the collection is not available."""
    size = len(stems_of_chunks)
    counts = Counter(stem for stems in stems_of_chunks for stem in set(stems))
    return TermWeights(lambda stem: stem_weight(size, counts[stem]), lambda stem: stem in counts)


def match_term(term: str, stems: Collection[str]) -> float:
    """Return 1 if `stems` has the term, 0.8 if a stem has a long prefix in common (register, registration), else 0."""
    if term in stems:
        return 1.0
    if len(term) < _SHORTEST_SHARED_PREFIX or any(letter.isdigit() for letter in term):
        return 0.0
    shortest = term[:_SHORTEST_SHARED_PREFIX]
    return 0.8 if any(stem.startswith(shortest) and _same_prefix(term, stem) for stem in stems) else 0.0


def _same_prefix(left: str, right: str) -> bool:
    shorter, longer = sorted((left, right), key=len)
    needed = max(_SHORTEST_SHARED_PREFIX, len(shorter) - 1, (len(longer) + 1) // 2)
    return len(shorter) >= needed and longer[:needed] == shorter[:needed]


def count_rival_numbers(question: str, text: str) -> int:
    """Count the question's labelled numbers ("rule 7") whose label has only other numbers in the text ("rule 8")."""
    there: dict[str, set[str]] = {}
    for label, number in _LABELLED_NUMBER.findall(fold(text)):
        there.setdefault(label, set()).add(number)
    asked = set(_LABELLED_NUMBER.findall(fold(question)))
    return sum(1 for label, number in asked if label in there and number not in there[label])


def truncate_for_embedding(text: str, embedding: EmbeddingModel) -> str:
    """Cut the text at the embedding model's token limit. Tokens are counted only if the text may be too long."""
    limit = embedding.token_limit
    if len(text) <= limit:
        return text
    spans = embedding.token_spans(text)
    return text if len(spans) <= limit else text[: spans[limit - 1][1]]


def embed_truncated(texts: Sequence[str], embedding: EmbeddingModel) -> NDArray[np.float32]:
    """Embed the texts, one row per text, after cutting each at the embedding model's token limit.

    Repeated texts are embedded once.
    """
    short = [truncate_for_embedding(text, embedding) for text in texts]
    distinct = list(dict.fromkeys(short))
    vectors = embedding.embed_texts(distinct)
    rows = {text: row for row, text in enumerate(distinct)}
    return vectors[[rows[text] for text in short]]
