"""Results converted to OpenAI's shapes, without a server."""

from collections.abc import Mapping
from typing import Any

import pytest
from elt_llm_api.serve.actions.openai import (
    ChatMessage,
    TextPart,
    citation_annotations,
    footnote_list,
    ignored_parameters_note,
    parse_conversation,
    reject_unsupported_parameters,
    remaining_text,
    strip_footnotes,
    usage_counts,
)
from elt_llm_core.errors import UsageError
from elt_llm_core.results import UNCERTAIN_TEXT, Citation, QueryResult, Trace, TraceStage
from hypothesis import given
from hypothesis import strategies as some


def cited(reference: str, title: str = "Handbook", page: int | None = 3) -> Citation:
    return Citation(
        reference=reference,
        collection="samples",
        source_id="a" * 32,
        source_title=title,
        source="handbook.pdf",
        document_hash="h",
        excerpt="80 points",
        span=(10, 19),
        page=page,
        section="Grounds",
        relevance_score=1.0,
    )


def result(answer: str, **more: Any) -> QueryResult:
    return QueryResult(question="Why?", answer=answer, answered=True, **more)


@given(some.text(max_size=200), some.lists(some.integers(1, 40), max_size=6, unique=True))
def test_footnotes_are_stripped_from_an_answer_that_a_client_sends_back(text: str, numbers: list[int]) -> None:
    listed = footnote_list([cited(f"[{number}]") for number in numbers])
    assert strip_footnotes(text + listed) == (text if listed else strip_footnotes(text))


def test_the_warning_of_an_uncertain_answer_is_stripped_from_an_answer_that_a_client_sends_back() -> None:
    assert strip_footnotes(f"So. [1]\n\n{UNCERTAIN_TEXT}{footnote_list([cited('[1]')])}") == "So. [1]"


@given(some.lists(some.sampled_from(["[1]", "[2]", "so", " ", "."]), max_size=30))
def test_every_annotation_has_the_offsets_of_its_reference(parts: list[str]) -> None:
    text = "".join(parts)
    for one in citation_annotations(text, [cited("[1]"), cited("[2]")]):
        place = one["url_citation"]
        assert text[place["start_index"] : place["end_index"]] in {place["reference"], ""}


def test_a_source_without_a_mention_is_annotated_at_the_end() -> None:
    [one] = citation_annotations("It is so.", [cited("[7]")])
    assert (one["url_citation"]["start_index"], one["url_citation"]["end_index"]) == (9, 9)


def test_a_footnote_names_title_section_page_and_file_without_a_link() -> None:
    listed = footnote_list([cited("[1]"), cited("[1]"), cited("[2]", "![x](https://evil.example)", None)])
    assert listed.count("\n[") == 2
    assert "[1] Handbook, Grounds, page 3 (handbook" in listed
    assert "](https" not in listed


def test_a_stream_with_the_final_answer_needs_no_correction() -> None:
    assert remaining_text("It needs 80 points [1].", result("It needs 80 points. [2]")) == ""


def test_a_stream_without_text_ends_with_the_answer() -> None:
    assert remaining_text(" ", result("Not found.")) == "Not found."


def test_a_stream_with_another_text_ends_with_the_checked_answer() -> None:
    assert remaining_text("It needs 90 points.", result("It needs 80 points.")).endswith("It needs 80 points.")


def test_usage_counts_the_tokens_of_all_calls() -> None:
    calls = [{"counted": 100, "written": 7}, {"counted": 50, "written": 5}]
    stages = (TraceStage(name="answer", took_ms=1, details={"context": {"calls": calls}}),)
    used = usage_counts(result("So.", tokens_used=162, trace=Trace(stages=stages)))
    assert (used.prompt_tokens, used.completion_tokens) == (150, 12)


def test_messages_become_a_question_with_previous_turns() -> None:
    question, turns = parse_conversation(
        [
            ChatMessage(role="user", content="What does it cost?"),
            ChatMessage(role="assistant", content="40 euros [1].\n\nSources:\n[1] Fees (fees.md)"),
            ChatMessage(role="user", content=[TextPart(text="and"), TextPart(text="for seniors?")]),
        ],
        ignore_system=False,
    )
    assert question == "and\nfor seniors?"
    assert [(one.question, one.answer) for one in turns] == [("What does it cost?", "40 euros [1].")]


def test_a_too_long_message_is_refused() -> None:
    with pytest.raises(UsageError, match="20,000"):
        parse_conversation([ChatMessage(role="user", content="x" * 20_001)], ignore_system=False)


@pytest.mark.parametrize("given", [{"n": 1}, {"tools": []}, {"stop": None}, {"response_format": {"type": "text"}}])
def test_unsupported_parameters_with_empty_values_are_accepted(given: Mapping[str, Any]) -> None:
    reject_unsupported_parameters(given)
    assert ignored_parameters_note(given) == []


def test_ignored_parameters_are_named_in_the_note() -> None:
    [reported] = ignored_parameters_note({"temperature": 0.5, "max_tokens": 9, "user": "me", "seed": None})
    assert reported.endswith("max_tokens, temperature.")
