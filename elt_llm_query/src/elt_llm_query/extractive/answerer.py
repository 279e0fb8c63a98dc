"""The answer request, the answer, and the extractive answerer, which quotes sentences of the chunks."""

import re
import time
from collections.abc import Callable, Container, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace

import numpy as np
from elt_llm_core.errors import ModelTimeout
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.results import AnswerOutcome, CheckedSentence, Citation, RetrievedChunk
from elt_llm_core.text.languages import load_language
from elt_llm_core.text.normalise import fold
from elt_llm_core.text.sentences import sentence_spans
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.extractive.confidence import (
    ACROSS_LANGUAGES,
    SHIPPED_THRESHOLDS,
    SHIPPED_WEIGHTS,
    ConfidenceWeights,
    OutcomeThresholds,
    certainty_of,
    confidence_of,
)
from elt_llm_query.extractive.conflicts import AMENDED, OTHER_VALUE, find_amendments, find_other_values
from elt_llm_query.extractive.evidence import AnswerEvidence, gather_evidence, numbers_in_ranges
from elt_llm_query.extractive.lists import (
    DocumentReader,
    FoundList,
    best_list,
    is_aligned,
    opens_list,
    with_announced,
    with_definition,
)
from elt_llm_query.extractive.sentence_scores import ScoredSentence, ScoringContext, has_new_figure, score_sentences
from elt_llm_query.extractive.yes_no import deciding_sentence, drop_other_limits, is_bare_reply, opening_word
from elt_llm_query.grounding.citations import Quote, number_quotes
from elt_llm_query.grounding.claims import ContradictionFinder
from elt_llm_query.grounding.sentences import (
    SentenceCandidate,
    TermWeights,
    columns_of_years,
    local_term_weights,
    row_as_text,
    row_label,
    sentence_candidates,
    strip_markup,
    strip_syntax,
    truncate_for_embedding,
    years_in,
)
from elt_llm_query.understanding.patterns import PatternFile
from elt_llm_query.understanding.question import ParsedQuestion, asked_language, parse_question, shown_language

_SAME_COSINE = 0.97  # cosine from which two sentences state the same
_SAME_STEMS = 0.8  # share of common stems from which two sentences state the same
_NEAR_BEST = 0.1  # a further sentence may score this much below the best, which scores 0.6 to 1.4
_NEARER_AS_THIRD = 0.02  # is subtracted from _NEAR_BEST for a third sentence
_NEAR_BEST_ELSEWHERE = 0.15  # replaces both for a sentence from another document than the best sentence's
_FIRST_CHUNKS = 2  # chunks by rank; if the best sentence is in a later one, others seldom add to it
_NEAR_BEST_LATER = 0.04  # a further sentence may then score at most this much below the best
_FARTHEST_CHUNK = 2  # ranks between the chunks of the best and of a further sentence of the same document
_NEAR_BEST_OF_DOCUMENT = 0.42  # the same, for the best sentence of a document, and across languages
_NEARER_BY_COVERAGE = 0.3  # times the coverage of the best sentence, is subtracted from _NEAR_BEST_OF_DOCUMENT
_NEAR_BEST_OF_TWO = 0.65  # share of the best score for a further sentence, if the question is twofold
_VERY_NEAR_BEST = 0.9  # share of the best score for a sentence that counts as evidence
_VERY_NEAR_BEST_OF_TWO = 0.78  # the same share, if the question is twofold
_NEAR_DECIDING = 0.15  # a sentence that decides a yes-or-no question may score this much below the best
_MOST_COMPARED_TERMS = 4  # words of each of two compared things: those nearest to "versus"
_FARTHEST_COMPARED = 0.4  # a sentence about one of two compared things may score this much below the best
_COST_OF_OTHER = 0.1  # of the score, for a sentence that names both compared things
_READ_CHUNKS = 8  # chunks that are quoted from
_CLOSEST = 3  # sentences that a refusal cites
_LONGEST_OPENING = 40  # words of the sentence that is shown above an item of its list
_LONGEST_SENTENCE = 1000  # characters before a chunk in which its first sentence may start
_LEAST_LIST = 0.3  # score of a list that is quoted
_LIST_BEHIND = 0.18  # a quoted list may score this much below the cosine of the best sentence
_VALUES = {"any", "name", "number", "money", "percentage"}
_NOTHING_TO_QUOTE = "No chunk contains a sentence that can be quoted."
_BRACKETED = re.compile(r"\([^()]{0,80}\)")
_PATTERNS = PatternFile(__file__)
Stems = Callable[[str], Sequence[str]]
Scored = Sequence[ScoredSentence]
_LINE = re.compile(r"\n\s*\n|\n(?=\s{0,40}(?:[-*•\u2013·]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,4})[.)])\s)")
Turns = Sequence[tuple[str, str]]
"""Earlier questions as they were understood, each with its answer, oldest first."""


@dataclass(frozen=True)
class AnswerRequest:
    """A question with its chunks, best first, filters and earlier turns. `cancelled` is polled while a model writes.

    `style` is how a model should write, in the words of the caller.
    """

    question: str
    chunks: Sequence[RetrievedChunk]
    where: Sequence[str] = ()
    history: tuple[tuple[str, str], ...] = ()
    cancelled: Callable[[], bool] | None = None
    style: str = ""


@dataclass(frozen=True)
class Answer:
    """An answer with its citations. A refusal is an answer with the outcome `not found`.

    `confidence` is the chance, 0 to 1, that the chunks hold the answer, and `certainty` the chance that the best
    sentence answers the question; if that is low, a quoted answer is uncertain. `reasoning` is for the trace: the score
    of each candidate sentence, best first, and the evidence for or against answering. The fields from `steps` to
    `whole` are set only if a language model wrote the answer: the reasoning steps, the answers from single collections,
    the verdict on each sentence, the number of tokens used, and whether the answer is complete.
    """

    text: str
    citations: tuple[Citation, ...]
    outcome: AnswerOutcome
    confidence: float
    reasoning: dict[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
    checked: tuple[CheckedSentence, ...] = ()
    tokens_used: int = 0
    whole: bool = True
    certainty: float = 1.0

    @property
    def answered(self) -> bool:
        """Whether this is an answer, certain or not, rather than a refusal."""
        return self.outcome != "not found"


def with_time_limit(seconds: float, writer: str, cancelled: Callable[[], bool] | None) -> Callable[[], bool]:
    """Return a function that calls `cancelled`, or raises ModelTimeout, naming the `writer`, if `seconds` have passed.

    The `writer` is the model; all its calls for one answer share this time limit.
    """
    until = time.monotonic() + seconds

    def is_cancelled() -> bool:
        if time.monotonic() > until:
            raise ModelTimeout(
                f"{writer} was still writing after {seconds:g} seconds",
                hint="Raise llm.answer_timeout, choose a smaller model, or a strategy that asks it less often",
            )
        return cancelled is not None and cancelled()

    return is_cancelled


def choose_sentences(
    scored: Scored,
    most: int,
    others: Container[int] = (),
    *,
    twofold: bool = False,
    definition: bool = False,
    across: bool = False,
) -> list[ScoredSentence]:
    """Return at most `most` sentences: the best one, and others that are nearly as good and have other content.

    If a `definition` is asked for and the best sentence gives it, nothing is added. A list item is added only to
    the sentence that introduces its list ("Bring:") or to another item. Sentences of the chunks `others`, from other
    documents than the best sentence, may score lower, because they may add something else. Within a document, a further
    sentence must come from a chunk whose rank is near that of the best sentence's chunk. Set `twofold` for a question
    about two things, where the sentence about the second may score lower. Set `across` if question and sentences are in
    different languages. Decisions 3, 43, 55 and 58 in docs/decisions measure these limits.
    """
    if not scored:
        return []
    best = scored[0]
    if twofold:
        return _distinct_sentences(scored, most, _NEAR_BEST_OF_TWO * best.score)
    if definition and best.support >= 1.0:
        return [best]
    opening = best.candidate.lead or best.candidate.text
    widest = _NEAR_BEST_OF_DOCUMENT - _NEARER_BY_COVERAGE * best.coverage
    chosen = [best]
    for one in scored[1:]:
        elsewhere = one.candidate.chunk in others
        margin = _NEAR_BEST_ELSEWHERE if elsewhere else _NEAR_BEST - _NEARER_AS_THIRD * (len(chosen) - 1)
        if best.candidate.chunk >= _FIRST_CHUNKS:
            margin = min(margin, _NEAR_BEST_LATER)
        far = not elsewhere and abs(one.candidate.chunk - best.candidate.chunk) > _FARTHEST_CHUNK
        near = one.score >= best.score - widest if across else not far and one.score >= best.score - margin
        belongs = one.candidate.kind != "item" or one.candidate.lead in ("", opening)
        if near and belongs and not any(is_same_statement(one, other) for other in chosen):
            chosen.append(one)
    return chosen[:most]


def best_of_each_document(scored: Scored, chunks: Sequence[RetrievedChunk]) -> list[ScoredSentence]:
    """Return the best sentence of each document, best first, unless it scores much lower than the best of all."""
    floor = scored[0].score - _NEAR_BEST_OF_DOCUMENT + _NEARER_BY_COVERAGE * scored[0].coverage
    best: dict[tuple[str, str], ScoredSentence] = {}
    for one in scored:
        chunk = chunks[one.candidate.chunk]
        if one.score >= floor:
            best.setdefault((chunk.collection, chunk.source_id), one)
    return list(best.values())


def compared_sentences(context: ScoringContext, scored: Scored) -> list[ScoredSentence]:
    """Return the best sentence for each of two things that the question compares; nothing if either has none."""
    found = _PATTERNS["compared"].search(fold(context.question.text))
    if not found or not scored:
        return []
    near = [one for one in scored if one.score >= scored[0].score - _FARTHEST_COMPARED]
    ordered = [context.tokeniser.stems(f"{one.candidate.readable} {one.candidate.topic}") for one in near]
    left, right = (context.tokeniser.stems(side) for side in found.groups() if side)
    first, second = set(left[-_MOST_COMPARED_TERMS:]), set(right[:_MOST_COMPARED_TERMS])
    known = set[str]().union(*ordered)

    def rarest(own: set[str], other: set[str]) -> str:
        return max((own - other) & known or own & known, key=lambda term: (context.weights.idf(term), term), default="")

    keys = rarest(first, second), rarest(second, first)
    best = [_best_about(near, ordered, own, other) for own, other in (keys, keys[::-1])]
    return [one for one in best if one] if all(best) and keys[0] != keys[1] else []


def _best_about(
    near: Sequence[ScoredSentence], ordered: Sequence[Sequence[str]], own: str, other: str
) -> ScoredSentence | None:
    """Return the best sentence about one of two compared things, or None.

    `own` is the stem that identifies this thing, and `other` that of the other thing. A sentence that names the other
    thing too must name it second, and gets a lower score. `ordered` has the stems of each sentence in order.
    """
    about = [
        (one.score - (_COST_OF_OTHER if other in one.stems else 0.0), one)
        for one, stems in zip(near, ordered, strict=True)
        if own in stems and (other not in stems or stems.index(own) < stems.index(other))
    ]
    return max(about, key=lambda entry: entry[0])[1] if about else None


def drop_other_rows(question: ParsedQuestion, scored: Scored) -> list[ScoredSentence]:
    """If the question names the first cell of some rows of a table, remove the other rows of this table.

    If one named cell contains another ("Total assets" and "Total"), only the longer one counts as named.
    """
    named = _named_labels(question, scored)

    def is_named(sentence: ScoredSentence) -> bool:
        return fold(row_label(sentence.candidate.text)) in named

    tables = {_table_of(one) for one in scored if one.candidate.kind == "row" and is_named(one)}
    return [one for one in scored if _table_of(one) not in tables or is_named(one)]


def _named_labels(question: ParsedQuestion, scored: Scored) -> set[str]:
    """Return the folded first cells of rows that the question names ("Oct" for October), except within a longer one."""
    text = fold(question.text)
    for name, *short in load_language(question.language).months:
        text = " ".join((text, *map(fold, short))) if re.search(rf"\b{fold(name)}\b", text) else text
    labels = {fold(row_label(one.candidate.text)) for one in scored if one.candidate.kind == "row"}
    named = {label for label in labels if label and re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text)}
    return named - {label for label in named for other in named if label != other and label in other}


def drop_rows_of_other_values(question: ParsedQuestion, scored: Scored) -> Scored:
    """If the question names a value in some rows of a table, remove the other rows of this table."""
    text = fold(question.text)
    tables = {_table_of(one) for one in scored if _has_asked_value(text, one.candidate)}
    if not tables or _PATTERNS["bound"].search(text):
        return scored
    return [one for one in scored if _table_of(one) not in tables or _has_asked_value(text, one.candidate)]


def _has_asked_value(question: str, row: SentenceCandidate) -> bool:
    """Return whether a folded question has a value of the row, such as "19 l/min" or, with its column, "30 seats".

    A number within a range is such a value too: "200 persons", "11 to 500 persons".
    """
    for cell in row.readable.split("; ")[1:] if row.kind == "row" and row.lead else ():
        if numbers_in_ranges(question, fold(cell)):
            return True
        column, _, value = (re.escape(part) for part in fold(cell).partition(": "))
        if not value.strip("0123456789.,\\"):
            column = rf"{column.removesuffix('s')}\w{{0,2}}"
            value = rf"(?:{column} {value}|{value} {column})"
        found = re.search(rf"(?<![\w.,/-]){value}(?!\w|[.,:/ -]\d)", question)
        if found and any(map(str.isdigit, found.group())):
            return True
    return False


def find_asked_row(
    question: ParsedQuestion, scored: Scored, chunks: Sequence[RetrievedChunk], stems: Stems
) -> ScoredSentence | None:
    """Return the table row with the value that the question asks for, or None.

    The question must contain all words of the row's label, and the table must have a column for every year in the
    question. What is in brackets in a label ("provided by (used in)") may be missing. Of several such rows, that with
    the most words of the question in its label, its column heads and the headings above it wins.
    No row is returned if another sentence has a higher score, no less support, a figure (if the question expects one)
    and more words of the question than the row with its headings: "Berlin | 12" does not answer how high the late fee
    of Berlin is.
    """
    if question.expects not in _VALUES or question.kind == "yes_no":
        return None
    years, asked = years_in(question.text), set(stems(question.text))

    def shared_words(one: ScoredSentence) -> int:
        chunk, candidate = chunks[one.candidate.chunk], one.candidate
        above = f"{chunk.context} {chunk.section or ''} {candidate.topic} {candidate.lead}"
        return len(asked & set(stems(f"{above} {candidate.text}")))

    found: list[tuple[int, int, float, ScoredSentence]] = []
    for one in scored:
        label = set(stems(_BRACKETED.sub(" ", row_label(one.candidate.text)))) if one.candidate.kind == "row" else set()
        has_figures = any(map(str.isdigit, one.candidate.text.partition("|")[2]))
        has_years = all(columns_of_years(one.candidate.lead, [year]) for year in years)
        if label and label <= asked and has_figures and has_years:
            found.append((shared_words(one), len(label), one.score, one))
    if not found:
        return None
    row = max(found, key=lambda entry: entry[:3])[3]
    better = [one for one in scored if one.candidate.kind != "row" and one.score > row.score]
    better = [one for one in better if one.support >= row.support]
    if question.expects_figure:
        better = [one for one in better if has_new_figure(question, one.candidate.text)]
    most = shared_words(row)
    return None if any(shared_words(one) > most for one in better) else row


def _table_of(sentence: ScoredSentence) -> tuple[str, str]:
    """Return a key that is equal for all rows of one table: the kind of the sentence ("row") and the header row."""
    return sentence.candidate.kind, sentence.candidate.lead


def decisive_sentences(scored: Scored, most: int, *, twofold: bool = False) -> list[ScoredSentence]:
    """Return the best sentences, at most `most`, best first, as the evidence for deciding whether to answer.

    All score nearly as high as the best; less is enough if the question asks about two things (`twofold`). The answer
    may quote further sentences for the reader. They are no evidence: words that the best sentences lack might occur in
    them.
    """
    enough = _VERY_NEAR_BEST_OF_TWO if twofold else _VERY_NEAR_BEST
    return _distinct_sentences(scored, most, enough * scored[0].score) if scored else []


def _distinct_sentences(scored: Scored, most: int, least: float) -> list[ScoredSentence]:
    """Return the best sentence and those with at least the score `least`, without repetitions."""
    chosen: list[ScoredSentence] = []
    for sentence in scored:
        if len(chosen) == most or (chosen and sentence.score < least):
            break
        if not any(is_same_statement(sentence, other) for other in chosen):
            chosen.append(sentence)
    return chosen


def is_same_statement(left: ScoredSentence, right: ScoredSentence) -> bool:
    """Return whether two sentences state the same in nearly the same words and with the same numbers."""
    if any(letter.isdigit() for stem in left.own_stems ^ right.own_stems for letter in stem):
        return False
    union = len(left.own_stems | right.own_stems)
    shared = len(left.own_stems & right.own_stems) / union if union else 1.0
    return shared >= _SAME_STEMS or float(left.vector @ right.vector) >= _SAME_COSINE


def reading_order(chosen: Sequence[ScoredSentence], chunks: Sequence[RetrievedChunk]) -> list[ScoredSentence]:
    """Sort the sentences by paragraph, and within a paragraph by position. The best sentence's paragraph is first."""
    paragraphs: list[list[ScoredSentence]] = []
    for sentence in chosen:
        own = next((others for others in paragraphs if _same_paragraph(others[0], sentence, chunks)), None)
        if own is None:
            paragraphs.append([sentence])
        else:
            own.append(sentence)
    return [sentence for own in paragraphs for sentence in sorted(own, key=lambda one: _span_of(one, chunks)[2])]


def _same_paragraph(left: ScoredSentence, right: ScoredSentence, chunks: Sequence[RetrievedChunk]) -> bool:
    *document, start, end = _span_of(left, chunks)
    *other, other_start, other_end = _span_of(right, chunks)
    if document != other:
        return False
    first, last = min(end, other_end), max(start, other_start)
    between = (
        chunk.text[first - chunk.span[0] : last - chunk.span[0]]
        for chunk in chunks
        if [chunk.collection, chunk.source_id] == document and chunk.span[0] <= first and last <= chunk.span[1]
    )
    return any("\n\n" not in text for text in between)


def _span_of(sentence: ScoredSentence, chunks: Sequence[RetrievedChunk]) -> tuple[str, str, int, int]:
    chunk, candidate = chunks[sentence.candidate.chunk], sentence.candidate
    return chunk.collection, chunk.source_id, chunk.span[0] + candidate.start, chunk.span[0] + candidate.end


def quoted_spans(chosen: Sequence[ScoredSentence], chunks: Sequence[RetrievedChunk]) -> list[Quote]:
    """Quote the sentences. No quote lies entirely within another."""
    quotes = [_quote_of(sentence, chunks[sentence.candidate.chunk]) for sentence in chosen]
    return [quote for position, quote in enumerate(quotes) if not _inside_another(position, quotes)]


def _quote_of(sentence: ScoredSentence, chunk: RetrievedChunk, years: Sequence[str] = ()) -> Quote:
    candidate = sentence.candidate
    start, end = candidate.start, candidate.end
    if candidate.kind == "row":
        return Quote(chunk, start, end, row_as_text(candidate.lead, candidate.text, years))
    if is_bare_reply(candidate):  # "Yes, up to Under 16" is an answer only beside its question
        return Quote(chunk, start, end, f"{strip_markup(candidate.topic)} {strip_markup(candidate.text)}")
    return Quote(chunk, start, end)


def with_openings(quotes: Sequence[Quote], chosen: Scored, chunks: Sequence[RetrievedChunk]) -> list[Quote]:
    """Show list items below the sentence that introduces their list ("Bring:"), once for items in a row.

    An item by itself is shown without the "and" or "or" at its end. Long sentences are not added, nor is one that is
    quoted anyway.
    """
    leads = {_quote_of(one, chunks[one.candidate.chunk]).span: one.candidate.lead for one in chosen}
    shown: list[Quote] = []
    above = ""
    for quote in quotes:
        lead = "" if quote.readable else leads.get(quote.span, "")
        readable = quote.readable
        if lead not in ("", above) and len(lead.split()) <= _LONGEST_OPENING:
            lines = (" ".join(line.split()) for line in (lead, _PATTERNS["joint"].sub("", quote.words)))
            readable = "" if any(lead in other.words for other in quotes) else strip_syntax("\n".join(lines))
        shown.append(replace(quote, readable=readable))
        above = lead
    return shown


def _evidence_for_list(evidence: AnswerEvidence, asked_list: FoundList | None) -> AnswerEvidence:
    """Leave out denials in the best sentences if a list is quoted instead of them."""
    if asked_list is None:
        return evidence
    nearest = max(evidence.cosine, asked_list.score)
    return replace(evidence, cosine=nearest, denied=0.0, denied_beside=0.0, contradicted=0.0)


def _with_title(quote: Quote) -> Quote:
    """Return the quote as a list item that starts with the title of its document."""
    words = " ".join((quote.readable or strip_syntax(quote.words)).split())
    return replace(quote, readable=f"- {quote.chunk.source_title}: {words}")


def _inside_another(position: int, quotes: Sequence[Quote]) -> bool:
    quote = quotes[position]
    return any(
        _contains(other, quote) and (other.span != quote.span or number < position)
        for number, other in enumerate(quotes)
        if number != position
    )


def _contains(outer: Quote, inner: Quote) -> bool:
    same_document = (outer.chunk.collection, outer.chunk.source_id) == (inner.chunk.collection, inner.chunk.source_id)
    return same_document and outer.span[0] <= inner.span[0] and inner.span[1] <= outer.span[1]


@dataclass
class ExtractiveAnswerer:
    """Answers questions with quoted sentences. Each quote ends with its reference unless `cite` is false.

    `terms` are the term weights of the collection; by default they are estimated from the chunks. `weights` set how
    much each kind of evidence counts for or against answering, and `thresholds` turn the confidence into an outcome.
    With `read_document`, a question that asks for steps or for several things is answered with a whole list, even if
    the list extends beyond the chunk.
    """

    embedding: EmbeddingModel
    tokeniser: KeywordTokeniser
    _: KW_ONLY
    terms: TermWeights | None = None
    weights: ConfidenceWeights = SHIPPED_WEIGHTS
    thresholds: OutcomeThresholds = SHIPPED_THRESHOLDS
    cite: bool = True
    read_document: DocumentReader | None = None

    def __post_init__(self) -> None:
        self.contraries = ContradictionFinder(self.tokeniser)

    def answer(self, question: str, chunks: Sequence[RetrievedChunk], *, max_sentences: int = 3) -> Answer:
        """Quote at most `max_sentences` from the best chunks, or refuse."""
        parsed = parse_question(question, self.tokeniser)
        read = list(chunks[:_READ_CHUNKS])
        candidates = sentence_candidates(read)
        if not candidates:
            return replace(self._refuse(parsed, read, [], 0.0, {}), notes=(_NOTHING_TO_QUOTE,))
        texts = [truncate_for_embedding(text, self.embedding) for text in (parsed.text, *parsed.parts)]
        vectors = np.stack([self.embedding.embed_question(text) for text in texts])
        terms = self.term_weights(read)
        context = ScoringContext(parsed, vectors, self.embedding, self.tokeniser, terms, self.contraries)
        scored = drop_other_limits(context, drop_other_rows(parsed, score_sentences(context, read, candidates)))
        rows = drop_rows_of_other_values(parsed, scored)
        asked_row = self._asked_row(parsed, rows, read)
        decisive = [asked_row] if asked_row else decisive_sentences(scored, max_sentences, twofold=parsed.twofold)
        asked_list = self._list_for(context, read, scored[0])
        evidence = _evidence_for_list(gather_evidence(context, read, scored, decisive), asked_list)
        across = self._is_across(parsed, read[decisive[0].candidate.chunk])
        confidence = confidence_of(evidence, ACROSS_LANGUAGES if across else self.weights)
        reasoning = _reasoning(parsed, read, scored, evidence)
        outcome = self.thresholds.outcome(confidence)
        if outcome == "not found":
            return self._refuse(parsed, read, scored, confidence, reasoning)
        certainty = 1.0 if asked_list else certainty_of(evidence, scored)
        if asked_list:
            quotes, opening = [asked_list.quote()], ""
        elif asked_row:
            quotes, opening = [_quote_of(asked_row, read[asked_row.candidate.chunk], years_in(parsed.text))], ""
        else:
            quotes, opening = self._quote_sentences(
                context, read, rows, max_sentences, certain=self.thresholds.outcome(confidence, certainty) == "answered"
            )
        quotes, conflicts = self._with_conflicts(context, read, [] if asked_list else scored, quotes)
        numbers, citations = number_quotes(quotes)
        answer = Answer(opening + self._write(quotes, numbers), citations, outcome, confidence, reasoning, conflicts)
        return self._marked(answer, certainty, _doubt_about_rows(parsed, [] if asked_list else scored))

    def _marked(self, answer: Answer, certainty: float, doubt: str) -> Answer:
        """Return the answer with its certainty, as uncertain if this is low or there is another reason for `doubt`."""
        outcome = self.thresholds.outcome(answer.confidence, 0.0 if doubt else certainty)
        notes = answer.notes if outcome == answer.outcome else (doubt or _doubt_note(certainty), *answer.notes)
        reasoning = {**answer.reasoning, "certainty": certainty}
        return replace(answer, outcome=outcome, certainty=certainty, reasoning=reasoning, notes=notes)

    def _asked_row(
        self, question: ParsedQuestion, scored: Scored, chunks: Sequence[RetrievedChunk]
    ) -> ScoredSentence | None:
        """Return the row that answers alone. It answers only one part of a question, and one of two named things."""
        if len(question.parts) > 1 or len(_named_labels(question, scored)) > 1:
            return None
        return find_asked_row(question, scored, chunks, self.tokeniser.stems)

    def _quote_sentences(
        self, context: ScoringContext, chunks: Sequence[RetrievedChunk], scored: Scored, most: int, *, certain: bool
    ) -> tuple[list[Quote], str]:
        """Return the quotes, and "Yes. " or "No. " if one of the best sentences decides a yes-or-no question."""
        question = context.question
        if question.asks_documents:
            named = best_of_each_document(scored, chunks)
            return [_with_title(_quote_of(one, chunks[one.candidate.chunk])) for one in named], ""
        near = [one for one in scored if one.score >= scored[0].score - _NEAR_DECIDING]
        decided = deciding_sentence(context, near, chunks) if certain else None
        if decided:
            chosen, opening = [decided[0]], f"{opening_word(question.text, question.language, decided[1])}. "
        else:
            chosen, opening = compared_sentences(context, scored), ""
            first = chunks[scored[0].candidate.chunk]
            others = [number for number, chunk in enumerate(chunks) if chunk.source != first.source]
            definition, across = question.expects == "definition", self._is_across(question, first)
            chosen = chosen or choose_sentences(
                scored, most, others, twofold=question.twofold, definition=definition, across=across
            )
        quotes = [self._completed(quote) for quote in quoted_spans(reading_order(chosen, chunks), chunks)]
        return with_openings(quotes, chosen, chunks), opening

    def _with_conflicts(
        self, context: ScoringContext, chunks: Sequence[RetrievedChunk], scored: Scored, quotes: list[Quote]
    ) -> tuple[list[Quote], tuple[str, ...]]:
        """Add quotes of the sentences that conflict with the given ones. Return all quotes, and notes on conflicts."""
        differing = find_other_values(context, quotes, scored)
        amending = list(find_amendments(quotes, self.read_document)) if self.read_document else []
        added = [self._completed(quote) for quote in quoted_spans(differing, chunks)] + amending
        every = [*quotes, *added]
        kept = [quote for position, quote in enumerate(every) if not _inside_another(position, every)]
        return kept, tuple(note for note, found in ((OTHER_VALUE, differing), (AMENDED, amending)) if found)

    def _refuse(
        self,
        question: ParsedQuestion,
        chunks: Sequence[RetrievedChunk],
        scored: Scored,
        confidence: float,
        reasoning: dict[str, object],
    ) -> Answer:
        """Return a refusal that cites the best sentences of the closest chunks."""
        closest: dict[int, ScoredSentence] = {}  # the best sentence of each chunk
        for sentence in scored:
            closest.setdefault(sentence.candidate.chunk, sentence)
        _, citations = number_quotes(quoted_spans(list(closest.values())[:_CLOSEST], chunks))
        text = refusal_text(asked_language(question.text, question.language), citations if self.cite else ())
        return Answer(text, citations, "not found", confidence, reasoning)

    def _list_for(
        self, context: ScoringContext, chunks: Sequence[RetrievedChunk], best: ScoredSentence
    ) -> FoundList | None:
        """Return the list that the question asks for, if the best sentence is its item or is hardly more similar."""
        if self.read_document is None or not context.question.wants_list:
            return None
        found = best_list(context, chunks, self.read_document)
        if found is None or found.score < _LEAST_LIST:
            return None
        [best_quote] = quoted_spans([best], chunks)
        is_its_item = found.announced and best.candidate.kind == "item" and _contains(found.quote(), best_quote)
        return found if is_its_item or found.score >= best.cosine - _LIST_BEHIND else None

    def _completed(self, quote: Quote) -> Quote:
        """Extend the quote to the start of its sentence, and by a list, block or definition that starts in it."""
        quote = self._with_start(quote)
        if quote.readable:
            return quote
        if is_aligned(quote.words):
            return replace(quote, readable=strip_syntax(quote.words))
        after = quote.chunk.text[quote.end :]
        if self.read_document:
            text, outline = self.read_document(quote.chunk)
            end = quote.span[1]
            stop = next((section.start for section in outline.sections if section.start >= end), None)
            after = text[end:stop]
        return with_announced(quote, after) if opens_list(quote.words, after) else with_definition(quote, after)

    def _with_start(self, quote: Quote) -> Quote:
        """If the chunk starts in the middle of the quoted sentence, extend the quote to the start of the sentence."""
        first = quote.span[0]
        if self.read_document is None or quote.start or not first or not quote.words[:1].islower():
            return quote
        text, _ = self.read_document(quote.chunk)
        paragraph = text.rfind("\n\n", 0, first) + 2 if "\n\n" in text[:first] else 0
        floor = first - _LONGEST_SENTENCE
        begin = text.find(" ", floor, first) + 1 if floor > paragraph else paragraph
        spans = (span for span in sentence_spans(text[begin : quote.span[1]]) if span[0] <= first - begin < span[1])
        start = begin + next(spans, (first - begin, 0))[0]
        if start == begin > paragraph and (clause := text.rfind("; ", begin, first)) > 0:
            start = clause + 2  # the sentence is too long to quote whole
        chunk, end = quote.chunk, quote.span[1]
        widened = chunk.model_copy(update={"text": text[start:end], "span": (start, end)})
        return Quote(widened, 0, end - start, quote.readable)

    def _is_across(self, question: ParsedQuestion, chunk: RetrievedChunk) -> bool:
        """Return whether the chunk is in another language and the embedding model is multilingual."""
        asked = shown_language(question.text)
        known = {"", chunk.metadata.get("language", self.tokeniser.language)}
        return self.embedding.multilingual and asked not in known

    def _write(self, quotes: Sequence[Quote], numbers: Sequence[int]) -> str:
        """Join the quotes. Lists and blocks keep their lines, wrapped lines are joined, and rows are readable text."""
        texts = []
        for quote, number in zip(quotes, numbers, strict=True):
            lines = quote.readable.splitlines() or _LINE.split(strip_syntax(quote.words))
            lines = [" ".join(line.split()) for line in lines]
            texts.append("\n".join(filter(None, lines)) + (f" [{number}]" if self.cite else ""))
        # A row of a table does not end as a sentence does.
        in_lines = any("\n" in text for text in texts) or (len(texts) > 1 and any(quote.readable for quote in quotes))
        return ("\n" if in_lines else " ").join(texts)

    def term_weights(self, chunks: Sequence[RetrievedChunk]) -> TermWeights:
        """Return the term weights of the collection, or weights estimated from the chunks."""
        stems = (self.tokeniser.stems(f"{chunk.context} {chunk.text}") for chunk in chunks)
        return self.terms or local_term_weights(list(stems))


def refusal_text(language: str, closest: Sequence[Citation]) -> str:
    """State that the documents do not hold the answer, and which chunks come closest.

    The text is in English if no refusal text is known in `language`.
    """
    refusal, pointer = load_language(language).words("refusal") or load_language("en").words("refusal")
    references = ", ".join(citation.reference for citation in closest)
    return f"{refusal} {pointer.format(references)}" if closest else refusal


def _doubt_about_rows(question: ParsedQuestion, scored: Scored) -> str:
    """Return a note if the best of the `scored` is one of several rows and the question needs a comparison of them."""
    rows = [one for one in scored if one.candidate.kind == "row" and _table_of(one) == _table_of(scored[0])]
    extreme = _PATTERNS["extreme"].search(fold(question.text))
    if len(rows) < 2 or not extreme or extreme.group() in fold(rows[0].candidate.lead):  # a column "Lowest price"
        return ""
    return "The rows of the table are not compared: another may have the least or the greatest value."


def _doubt_note(certainty: float) -> str:
    return f"The chance that the best sentence answers the question is only {certainty:.0%}."


def _reasoning(
    question: ParsedQuestion, chunks: Sequence[RetrievedChunk], scored: Scored, evidence: AnswerEvidence
) -> dict[str, object]:
    return {
        "kind": question.kind,
        "expects": question.expects,
        "evidence": evidence.as_dict(),
        "sentences": [
            {
                "node_id": chunks[sentence.candidate.chunk].node_id,
                "span": (sentence.candidate.start, sentence.candidate.end),
                "score": round(sentence.score, 4),
                "cosine": round(sentence.cosine, 4),
                "coverage": round(sentence.coverage, 4),
                "around": round(sentence.around, 4),
                "chunk": round(sentence.chunk_score, 4),
                "support": sentence.support,
                "rivals": sentence.rivals,
            }
            for sentence in scored
        ],
    }
