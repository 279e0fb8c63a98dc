"""Tests of expanded, merged and deduplicated chunks, and of the limits on their number."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from elt_llm_core.store.records import StoredNode
from elt_llm_core.text.outline import Outline, Section
from elt_llm_core.text.sentences import sentence_spans
from elt_llm_query.retrieve.fusion import SearchCandidate
from elt_llm_query.shape.context import (
    LONGEST_SENTENCE,
    CandidateChunk,
    ExpandedSpan,
    Span,
    merge_siblings,
    merge_touching,
    read_span,
    widen_span,
)
from elt_llm_query.shape.selection import cap_per_source, near_duplicates, similarities
from elt_llm_query.shape.shaper import indexes_beyond_budget
from hypothesis import given
from hypothesis import strategies as st

TEXT = "The mast is tall. The keel is of oak.\n\nThe sail is white. The crew is small. The cook is old."
PLACE = ("ship", "d")


def make_chunk(
    number: int, span: Span, text: str = TEXT, document: str = "d", parent: Span | None = None
) -> CandidateChunk:
    start, end = span
    metadata = {"parent_start": parent[0], "parent_end": parent[1]} if parent else {}
    node = StoredNode(
        f"n{number}", document, "s.md", "S", "0" * 64, text[start:end], "", start, end, None, None, number, metadata
    )
    return CandidateChunk(SearchCandidate(node.node_id, "ship", score=1 / (1 + number)), node)


def span_of(words: str) -> Span:
    start = TEXT.index(words)
    return start, start + len(words)


def spans_of(spans: Sequence[Span]) -> list[ExpandedSpan]:
    return [ExpandedSpan(make_chunk(number, span), span) for number, span in enumerate(spans)]


@st.composite
def spans(draw: st.DrawFn) -> Span:
    start = draw(st.integers(0, len(TEXT) - 1))
    return start, draw(st.integers(start + 1, len(TEXT)))


def test_a_chunk_is_widened_by_whole_sentences_on_both_sides() -> None:
    start, end = widen_span(TEXT, span_of("The sail is white."), 1)
    assert TEXT[start:end] == "The keel is of oak.\n\nThe sail is white. The crew is small."
    assert widen_span(TEXT, span_of("The mast is tall."), 9) == (0, len(TEXT))
    assert widen_span(TEXT, span_of("The sail is white."), 0) == span_of("The sail is white.")


def test_a_chunk_is_widened_with_text_without_sentence_ends_only_up_to_a_limit() -> None:
    text = f"{'word ' * 1000}. The sail is white. {'word ' * 1000}."
    span = (text.index("The sail"), text.index("white.") + len("white."))
    assert widen_span(text, span, 1)[1] == span[1]
    start, end = widen_span(text, span, 3)
    assert span[0] - start <= 3 * LONGEST_SENTENCE
    assert end - span[1] <= 3 * LONGEST_SENTENCE


@given(spans(), st.integers(0, 4))
def test_a_widened_span_contains_the_given_span_and_ends_at_sentence_ends(span: Span, sentences: int) -> None:
    start, end = widen_span(TEXT, span, sentences)
    assert start <= span[0] < span[1] <= end
    assert start in {span[0], *(first for first, _ in sentence_spans(TEXT))}
    assert end in {span[1], *(last for _, last in sentence_spans(TEXT))}


def test_chunks_with_only_white_space_between_them_are_merged() -> None:
    keel, sail, cook = (span_of(words) for words in ("The keel is of oak.", "The sail is white.", "The cook is old."))
    merged = merge_touching(spans_of([cook, sail, keel]), {PLACE: TEXT})
    assert [one.span for one in merged] == [cook, (keel[0], sail[1])]
    assert [node.node_id for node in merged[1].chunk.matches] == ["n2", "n1"]
    assert merged[1].chunk.node.node_id == "n1"


def test_chunks_of_different_documents_are_never_merged() -> None:
    spans = [ExpandedSpan(make_chunk(0, (0, 9)), (0, 9)), ExpandedSpan(make_chunk(1, (5, 12), document="e"), (5, 12))]
    assert merge_touching(spans, {PLACE: TEXT, ("ship", "e"): TEXT}) == spans


@given(st.lists(spans(), max_size=8))
def test_merged_chunks_match_their_spans_and_are_disjoint_and_cover_every_chunk(
    found: list[Span],
) -> None:
    merged = merge_touching(spans_of(found), {PLACE: TEXT})
    read = [read_span(one, TEXT, None) for one in merged]
    assert all(one.node.text == TEXT[one.node.start : one.node.end] for one in read)
    matched = [node for one in read for node in (one.matches or (one.node,))]
    assert sorted((node.start, node.end) for node in matched) == sorted(found)
    ordered = sorted((one.node.start, one.node.end) for one in read)
    assert all(TEXT[before[1] : after[0]].strip() for before, after in pairwise(ordered))
    scores = [one.candidate.score for one in read]
    assert scores == sorted(scores, reverse=True)


def test_a_wider_chunk_has_the_page_and_section_of_its_first_word() -> None:
    outline = Outline(pages=(0, 40), sections=[Section(0, 1, "Hull"), Section(40, 1, "Rig")])
    span = span_of("The sail is white.")
    wider = read_span(ExpandedSpan(make_chunk(0, span), (0, span[1])), TEXT, outline)
    assert (wider.node.page, wider.node.section, wider.node.text) == (1, "Hull", TEXT[: span[1]])
    assert wider.to_chunk().metadata["matches"] == [{"node_id": "n0", "span": list(span)}]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=10))
def test_each_parent_section_is_read_once_and_keeps_all_its_child_chunks(children: list[tuple[int, bool]]) -> None:
    found = [
        make_chunk(number, (parent * 20, parent * 20 + 5), parent=(parent * 20, parent * 20 + 20) if has else None)
        for number, (parent, has) in enumerate(children)
    ]
    merged = merge_siblings(found)
    alone = [number for number, (_, has) in enumerate(children) if not has]
    assert len(merged) == len({parent for parent, has in children if has}) + len(alone)
    kept = {node.node_id for one in merged for node in (one.matches or (one.node,))}
    assert kept == {one.node.node_id for one in found}
    ranks = [int(one.node.node_id[1:]) for one in merged]
    assert ranks == sorted(ranks)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), max_size=12), st.integers(1, 3))
def test_no_document_has_more_chunks_than_max_per_source(found: list[tuple[str, int]], most: int) -> None:
    chunks = [make_chunk(number, (0, 5), document=document) for number, (document, _) in enumerate(found)]
    kept, beyond = cap_per_source(chunks, most)
    documents = [one.node.document_id for one in kept]
    assert all(documents.count(document) <= most for document in documents)
    assert all(documents.count(one.node.document_id) == most for one in beyond)
    assert sorted([*kept, *beyond], key=chunks.index) == chunks


@given(st.lists(st.lists(st.floats(-1, 1), min_size=3, max_size=3), max_size=8))
def test_near_duplicate_chunks_are_dropped_and_each_is_similar_to_a_kept_chunk(vectors: list[list[float]]) -> None:
    rows = [np.array([*row, 1.0], np.float32) / np.linalg.norm([*row, 1.0]) for row in vectors]
    cosines = similarities([row.astype(np.float32) for row in rows], [b"m"] * len(rows))
    doubles = near_duplicates(cosines, 0.95)
    kept = [index for index in range(len(rows)) if index not in doubles]
    assert all(cosines[one, other] <= 0.95 for one in kept for other in kept if one != other)
    assert all(other in kept and other < index and cosines[index, other] > 0.95 for index, other in doubles.items())


@given(st.lists(st.tuples(st.integers(1, 50), st.floats(0, 1)), max_size=12), st.integers(1, 200))
def test_chunks_with_the_lowest_scores_are_dropped_to_meet_the_token_budget(
    found: list[tuple[int, float]], budget: int
) -> None:
    tokens, scores = [one for one, _ in found], [score for _, score in found]
    beyond = indexes_beyond_budget(tokens, scores, budget)
    kept = [index for index in range(len(found)) if index not in beyond]
    total = sum(tokens[index] for index in kept)
    assert total <= budget or len(kept) == 1
    assert all(scores[index] <= scores[other] for index in beyond for other in kept)
    assert not beyond or total + tokens[beyond[-1]] > budget
