"""Split written answers into statements with their citations, number the quotes, and locate them in documents."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from elt_llm_core.results import Citation, RetrievedChunk
from elt_llm_core.text.languages import alternatives, month_names, word_pattern
from elt_llm_core.text.normalise import fold
from elt_llm_core.text.outline import Outline
from elt_llm_core.text.sentences import sentence_spans

from elt_llm_query.grounding.sentences import strip_markup
from elt_llm_query.understanding.patterns import PatternFile

_PATTERNS = PatternFile(__file__)
_MARKS = _PATTERNS.part("marks")
_MARK = re.compile(_MARKS)
_AFTER_END = re.compile(rf"([.!?…][\"'”»)]{{0,2}})((?:{_MARKS}){{1,12}})(?=\s|$)")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s|\*\*[^*]{1,80}\*\*:?\s*$)")
_MONTHS = alternatives(month_names(folded=True))
_LIST_NUMBER = re.compile(_PATTERNS.part("list_number").replace("MONTHS", _MONTHS))
_BARE_REPLY = re.compile(r"(?:yes|no|ja|nein|correct|richtig|\d{1,3}|\w)[.!]*")
_CONTENT = re.compile(r"[^\W_]{2,}|\d")
_JOINTS = word_pattern(r"; |, @between_cited@ ")
_LONGEST = 2000  # characters of a sentence that are compared
_FEWEST_CLAUSE_WORDS = 4  # of a clause that is compared separately
_LONGEST_RANGE = 20  # difference of the numbers in a mark such as [2-4]
_MOST_EMPTY_WORDS = 14  # of a greeting or an introduction


@dataclass(frozen=True)
class AnswerStatement:
    """One sentence at start:end of the written text.

    `claim` is the sentence without citation marks and introductory words; it is empty if the sentence claims nothing.
    `cited` are the numbers in its brackets, in order.
    """

    start: int
    end: int
    text: str
    claim: str
    cited: tuple[int, ...]

    @property
    def clauses(self) -> list[str]:
        """The clauses that are compared with the sources separately. Empty unless there are at least two."""
        parts = [part for part in _JOINTS.split(self.claim) if part]
        return parts if len(parts) > 1 and all(len(part.split()) >= _FEWEST_CLAUSE_WORDS for part in parts) else []


def move_marks_inside(text: str) -> str:
    """Rewrite "end. [1]" as "end [1].", so that citation marks stay with their sentence."""
    return _AFTER_END.sub(
        lambda found: f"{found.group(2) if found.group(2)[0] == ' ' else ' ' + found.group(2)}{found.group(1)}", text
    )


def strip_citation_marks(text: str) -> str:
    """Remove all citation marks, which are numbers in brackets."""
    return _MARK.sub("", text)


def split_statements(text: str) -> list[AnswerStatement]:
    """Split a text into sentences with their citation marks. Each mark must precede the full stop of its sentence."""
    statements = []
    for start, end in sentence_spans(text):
        written = text[start:end]
        cited = tuple(dict.fromkeys(number for mark in _MARK.findall(written) for number in _numbers(mark)))
        bare = strip_citation_marks(written).strip()
        starts_line = not text[:start].rpartition("\n")[2].strip()
        content = _without_start(_LIST_NUMBER, bare) if starts_line else bare
        rest = _without_start(_PATTERNS["opening"], strip_markup(content)[:_LONGEST])
        claim = "" if _claims_nothing(content) or _is_table_head(text, start, end) else rest[:1].upper() + rest[1:]
        statements.append(AnswerStatement(start, end, bare, claim, cited))
    return statements


def _is_table_head(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] is the head of a Markdown table, which is followed by a line such as |---|---|."""
    rule = text[end : end + _LONGEST].lstrip().partition("\n")[0]
    return "|" in text[start:end] and "|" in rule and "-" in rule and set(rule) <= set("|-: \r")


def _without_start(pattern: re.Pattern[str], text: str) -> str:
    """Remove a match of the pattern from the start of the text. Capital letters and diacritics make no difference."""
    folded = fold(text)
    start = pattern.match(folded) if len(folded) == len(text) else None
    return text[start.end() :] if start else text


def _numbers(mark: str) -> list[int]:
    """Return the numbers in a citation mark: [2-4] contains 2, 3 and 4."""
    numbers: list[int] = []
    for part in re.split(r"[,;]", mark.strip(" \t[]")):
        ends = [int(number) for number in re.findall(r"\d+", part)]
        if len(ends) == 2 and 0 < ends[1] - ends[0] <= _LONGEST_RANGE:
            numbers.extend(range(ends[0], ends[1] + 1))
        else:
            numbers.extend(ends)
    return numbers


def _claims_nothing(text: str) -> bool:
    """Return whether the text claims nothing, as a greeting, a heading, a question or a remark on the documents."""
    bare = strip_markup(text)
    if _HEADING.match(text) or bare.endswith((":", "?")) or not _CONTENT.search(bare):
        return True
    folded = fold(bare)
    if _PATTERNS["silent"].search(folded) or _BARE_REPLY.fullmatch(folded):
        return True
    is_short = len(folded.split()) <= _MOST_EMPTY_WORDS and not any(map(str.isdigit, folded))
    return is_short and bool(_PATTERNS["empty"].match(folded) or _PATTERNS["framing"].match(folded))


@dataclass(frozen=True)
class Quote:
    """The quoted words chunk.text[start:end]. `readable` is a version without table syntax, if it differs."""

    chunk: RetrievedChunk
    start: int
    end: int
    readable: str = ""

    @property
    def span(self) -> tuple[int, int]:
        """The position of the words in the document's text."""
        return self.chunk.span[0] + self.start, self.chunk.span[0] + self.end

    @property
    def words(self) -> str:
        """The quoted words, unchanged."""
        return self.chunk.text[self.start : self.end]


def number_quotes(quotes: Sequence[Quote]) -> tuple[list[int], tuple[Citation, ...]]:
    """Number the quotes from 1; equal spans share a number. Return each quote's number, and one citation per number."""
    keys = [(quote.chunk.collection, quote.chunk.source_id, quote.span) for quote in quotes]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys), 1)}
    firsts = dict(zip(reversed(keys), reversed(quotes), strict=True))
    citations = tuple(quote_citation(firsts[key], number) for key, number in numbers.items())
    return [numbers[key] for key in keys], citations


def quote_citation(quote: Quote, number: int) -> Citation:
    """Build the citation of a quote with this number."""
    chunk = quote.chunk
    return Citation(
        reference=f"[{number}]",
        collection=chunk.collection,
        source_id=chunk.source_id,
        source_title=chunk.source_title,
        source=chunk.source,
        document_hash=chunk.document_hash,
        excerpt=quote.words,
        span=quote.span,
        page=chunk.page,
        section=chunk.section,
        relevance_score=min(1.0, max(0.0, chunk.score)),
    )


def add_locations(citations: Sequence[Citation], outlines: Mapping[str, Outline]) -> tuple[Citation, ...]:
    """Set the page and section of each citation to those where its excerpt starts. `outlines` are by source id."""
    return tuple(
        citation.model_copy(
            update={"page": outline.page_at(citation.span[0]), "section": outline.section_at(citation.span[0])}
        )
        if (outline := outlines.get(citation.source_id))
        else citation
        for citation in citations
    )


def cited_chunks(citations: Sequence[Citation], chunks: Sequence[RetrievedChunk]) -> tuple[RetrievedChunk, ...]:
    """Return one chunk for each citation, in order: the chunk that contains most of the cited excerpt."""

    def shared(chunk: RetrievedChunk, cited: Citation) -> int:
        if (chunk.collection, chunk.source_id) != (cited.collection, cited.source_id):
            return 0
        return min(chunk.span[1], cited.span[1]) - max(chunk.span[0], cited.span[0])

    # A quoted list may extend beyond its chunk. If chunks tie, `max` returns the first, which is the best-ranked.
    return tuple(max(chunks, key=lambda chunk: shared(chunk, cited)) for cited in citations)
