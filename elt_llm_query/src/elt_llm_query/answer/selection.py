"""Which of the scored sentences make the answer, and in which order they are read."""

import re
from collections.abc import Sequence

from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.sentences import sentence_spans

from elt_llm_query.answer.citations import Quote
from elt_llm_query.answer.sentence_scores import ScoredSentence

_SAME_COSINE = 0.97
_SAME_STEMS = 0.8
_NEAR_BEST = 0.8
_ITEM = re.compile(r"^(?:[-*•\u2013·]|\(?\w{1,3}[.)])\s+")
_MOST_ITEMS = 10
_LONGEST_LIST = 900


def choose(scored: Sequence[ScoredSentence], most: int) -> list[ScoredSentence]:
    """At most `most` sentences, best first: the best, and those nearly as good that say something else."""
    chosen: list[ScoredSentence] = []
    for sentence in scored:
        if len(chosen) == most or (chosen and sentence.score < _NEAR_BEST * chosen[0].score):
            break
        if not any(same(sentence, other) for other in chosen):
            chosen.append(sentence)
    return chosen


def same(left: ScoredSentence, right: ScoredSentence) -> bool:
    """Whether two sentences say the same in nearly the same words; other numbers make them differ."""
    if {stem for stem in left.stems ^ right.stems if any(letter.isdigit() for letter in stem)}:
        return False
    union = len(left.stems | right.stems)
    shared = len(left.stems & right.stems) / union if union else 1.0
    return shared >= _SAME_STEMS or float(left.vector @ right.vector) >= _SAME_COSINE


def reading_order(chosen: Sequence[ScoredSentence], chunks: Sequence[RetrievedChunk]) -> list[ScoredSentence]:
    """The document of the best sentence first, then the next best; within a document as it is written."""

    def document(sentence: ScoredSentence) -> tuple[str, str]:
        chunk = chunks[sentence.candidate.chunk]
        return chunk.collection, chunk.source_id

    ranks: dict[tuple[str, str], int] = {}
    for sentence in chosen:
        ranks.setdefault(document(sentence), len(ranks))
    return sorted(
        chosen,
        key=lambda sentence: (
            ranks[document(sentence)],
            chunks[sentence.candidate.chunk].span[0] + sentence.candidate.start,
        ),
    )


def quotes(chosen: Sequence[ScoredSentence], chunks: Sequence[RetrievedChunk]) -> list[Quote]:
    """The quoted places of sentences, a sentence that opens a short list with its items; none inside another."""
    found = [_with_list(sentence, chunks[sentence.candidate.chunk]) for sentence in chosen]
    return [quote for position, quote in enumerate(found) if not _inside_another(position, found)]


def _with_list(sentence: ScoredSentence, chunk: RetrievedChunk) -> Quote:
    start, end = sentence.candidate.start, sentence.candidate.end
    if not sentence.candidate.text.endswith(":"):
        return Quote(chunk, start, end)
    items = 0
    for item_start, item_end in sentence_spans(chunk.text):
        if item_start < end:
            continue
        text = chunk.text[item_start:item_end]
        if items == _MOST_ITEMS or item_end - start > _LONGEST_LIST or not _ITEM.match(text):
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
