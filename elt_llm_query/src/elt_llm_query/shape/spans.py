"""From the span that was matched to the span that is read: parents, neighbouring sentences, what touches."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from elt_llm_core.outline import Outline
from elt_llm_core.text.sentences import sentence_spans

from elt_llm_query.shape.parents import Span, joined
from elt_llm_query.shape.passages import Passage

# A sentence that is longer is not taken: text without an end of a sentence would otherwise be read on and on.
LONGEST_SENTENCE = 600


@dataclass(frozen=True)
class Reading:
    """A passage and the span of its document that is to be read for it."""

    passage: Passage
    span: Span


def widen(text: str, span: Span, sentences: int) -> Span:
    """The span with up to so many sentences of `text` before it and after it, each wholly."""
    start, end = span
    reach = LONGEST_SENTENCE * sentences
    low, high = max(0, start - reach), min(len(text), end + reach)
    before = sentence_spans(text[low:start])
    after = sentence_spans(text[end:high])
    # What the reach cuts through is no whole sentence.
    before = before[1:] if low > 0 else before
    after = after[:-1] if high < len(text) else after
    if sentences and before:
        start = low + before[-sentences:][0][0]
    if sentences and after:
        end = span[1] + after[:sentences][-1][1]
    return start, end


def merge_touching(readings: Sequence[Reading], texts: Mapping[tuple[str, str], str]) -> list[Reading]:
    """Readings of one document that overlap, or have only white space between them, as one in the best one's place."""
    by_document: dict[tuple[str, str], list[int]] = defaultdict(list)
    for rank, reading in enumerate(readings):
        by_document[reading.passage.document].append(rank)
    merged: dict[int, Reading] = {}
    for document, ranks in by_document.items():
        for group in _touching(readings, ranks, texts.get(document, "")):
            merged[min(group)] = _as_one([readings[rank] for rank in sorted(group)])
    return [merged[rank] for rank in sorted(merged)]


def _touching(readings: Sequence[Reading], ranks: Sequence[int], text: str) -> list[list[int]]:
    groups: list[list[int]] = []
    reached = 0
    for rank in sorted(ranks, key=lambda rank: readings[rank].span):
        start, end = readings[rank].span
        if groups and (start <= reached or text[reached:start].isspace()):
            groups[-1].append(rank)
        else:
            groups.append([rank])
        reached = max(reached, end) if len(groups[-1]) > 1 else end
    return groups


def _as_one(readings: Sequence[Reading]) -> Reading:
    """One reading over all these, which are in ranked order."""
    passage = readings[0].passage
    for other in readings[1:]:
        passage = joined(passage, other.passage)
    return Reading(passage, (min(one.span[0] for one in readings), max(one.span[1] for one in readings)))


def read_span(reading: Reading, text: str, outline: Outline | None) -> Passage:
    """The passage with the text of its span, which begins on the page and in the section that the outline says."""
    passage, (start, end) = reading.passage, reading.span
    node = passage.node
    if (node.start, node.end) == (start, end):
        return passage if len(passage.matches) > 1 else replace(passage, matches=())
    wider = replace(
        node,
        start=start,
        end=end,
        text=text[start:end],
        page=outline.page_at(start) if outline else node.page,
        section=outline.section_at(start) if outline else node.section,
    )
    return replace(passage, node=wider, matches=passage.matches or (node,))
