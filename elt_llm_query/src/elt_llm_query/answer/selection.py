"""Which of the scored sentences make the answer, and in which order they are read."""

from collections.abc import Sequence

from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.sentences import sentence_spans

from elt_llm_query.answer.candidates import read_row
from elt_llm_query.answer.citations import Quote
from elt_llm_query.answer.pieces import ITEM
from elt_llm_query.answer.sentence_scores import ScoredSentence

_SAME_COSINE = 0.97
_SAME_STEMS = 0.8
_NEAR_BEST = 0.42  # of a score; the best sentences have 0.6 to 1.3
_NEARER_BY_COVERAGE = 0.3
_NEAR_BEST_OF_TWO = 0.65
_VERY_NEAR_BEST = 0.86
_VERY_NEAR_BEST_OF_TWO = 0.78
_MOST_ITEMS = 10
_LONGEST_LIST = 900


def choose(scored: Sequence[ScoredSentence], most: int, *, twofold: bool = False) -> list[ScoredSentence]:
    """At most `most` sentences, best first: the best, and those nearly as good that say something else.

    A question for two things is `twofold`: the sentence with the second may be less near to the whole question.
    """
    return _unlike(scored, most, _least(scored[0], twofold=twofold)) if scored else []


def weighty(scored: Sequence[ScoredSentence], most: int, *, twofold: bool = False) -> list[ScoredSentence]:
    """Those sentences, at most `most`, best first, that decide whether there is an answer at all.

    What else is quoted helps the reader; as evidence it would hide what the best sentences lack.
    """
    enough = _VERY_NEAR_BEST_OF_TWO if twofold else _VERY_NEAR_BEST
    return _unlike(scored, most, enough * scored[0].score) if scored else []


def _unlike(scored: Sequence[ScoredSentence], most: int, least: float) -> list[ScoredSentence]:
    """The best, and those with that score or more, none of which says the same as another."""
    chosen: list[ScoredSentence] = []
    for sentence in scored:
        if len(chosen) == most or (chosen and sentence.score < least):
            break
        if not any(same(sentence, other) for other in chosen):
            chosen.append(sentence)
    return chosen


def _least(best: ScoredSentence, *, twofold: bool) -> float:
    """The score from which a further sentence is quoted: the nearer to the best, the more of the question that covers.

    Chosen by what it costs in answers and saves in sentences, see docs/decisions/0003-abstention.md.
    """
    if twofold:
        return _NEAR_BEST_OF_TWO * best.score
    return best.score - _NEAR_BEST + _NEARER_BY_COVERAGE * best.coverage


def same(left: ScoredSentence, right: ScoredSentence) -> bool:
    """Whether two sentences say the same in nearly the same words; other numbers make them differ."""
    if {stem for stem in left.own_stems ^ right.own_stems if any(letter.isdigit() for letter in stem)}:
        return False
    union = len(left.own_stems | right.own_stems)
    shared = len(left.own_stems & right.own_stems) / union if union else 1.0
    return shared >= _SAME_STEMS or float(left.vector @ right.vector) >= _SAME_COSINE


def reading_order(chosen: Sequence[ScoredSentence], chunks: Sequence[RetrievedChunk]) -> list[ScoredSentence]:
    """The paragraph of the best sentence first, then that of the next best; within a paragraph as it is written."""
    paragraphs: list[list[ScoredSentence]] = []
    for sentence in chosen:
        own = next((others for others in paragraphs if _same_paragraph(others[0], sentence, chunks)), None)
        if own is None:
            paragraphs.append([sentence])
        else:
            own.append(sentence)
    return [sentence for own in paragraphs for sentence in sorted(own, key=lambda one: _place(one, chunks)[2])]


def _same_paragraph(left: ScoredSentence, right: ScoredSentence, chunks: Sequence[RetrievedChunk]) -> bool:
    *document, start, end = _place(left, chunks)
    *other, other_start, other_end = _place(right, chunks)
    if document != other:
        return False
    first, last = min(end, other_end), max(start, other_start)
    between = (
        chunk.text[first - chunk.span[0] : last - chunk.span[0]]
        for chunk in chunks
        if [chunk.collection, chunk.source_id] == document and chunk.span[0] <= first and last <= chunk.span[1]
    )
    return any("\n\n" not in text for text in between)


def _place(sentence: ScoredSentence, chunks: Sequence[RetrievedChunk]) -> tuple[str, str, int, int]:
    chunk, candidate = chunks[sentence.candidate.chunk], sentence.candidate
    return chunk.collection, chunk.source_id, chunk.span[0] + candidate.start, chunk.span[0] + candidate.end


def quotes(chosen: Sequence[ScoredSentence], chunks: Sequence[RetrievedChunk]) -> list[Quote]:
    """The quoted places of sentences, a sentence that opens a short list with its items; none inside another."""
    found = [_quoted(sentence, chunks[sentence.candidate.chunk]) for sentence in chosen]
    return [quote for position, quote in enumerate(found) if not _inside_another(position, found)]


def _quoted(sentence: ScoredSentence, chunk: RetrievedChunk) -> Quote:
    start, end = sentence.candidate.start, sentence.candidate.end
    if sentence.candidate.kind == "row":
        return Quote(chunk, start, end, read_row(sentence.candidate.lead, sentence.candidate.text))
    if not sentence.candidate.text.endswith(":"):
        return Quote(chunk, start, end)
    items = 0
    for item_start, item_end in sentence_spans(chunk.text):
        if item_start < end:
            continue
        text = chunk.text[item_start:item_end]
        if items == _MOST_ITEMS or item_end - start > _LONGEST_LIST or not ITEM.match(text):
            break
        end, items = item_end, items + 1
    return Quote(chunk, start, end)


def _inside_another(position: int, found: Sequence[Quote]) -> bool:
    quote = found[position]
    return any(
        other.chunk.collection == quote.chunk.collection
        and other.chunk.source_id == quote.chunk.source_id
        and other.span[0] <= quote.span[0]
        and quote.span[1] <= other.span[1]
        and (other.span != quote.span or number < position)
        for number, other in enumerate(found)
        if number != position
    )
