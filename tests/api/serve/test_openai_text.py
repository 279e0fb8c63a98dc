"""What OpenAI's clients are told of an answer, made from results without a server."""

from collections.abc import Mapping
from typing import Any

import pytest
from elt_llm_api.serve.actions.chat_requests import conversation, not_used, refuse_unsupported
from elt_llm_api.serve.actions.completions import annotations, footnotes, rest_of, usage_of, without_footnotes
from elt_llm_api.serve.routes.openai_shapes import ChatMessage, TextPart
from elt_llm_core.errors import UsageError
from elt_llm_core.results import Citation, QueryResult, Trace, TraceStage
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
def test_an_answer_that_comes_back_is_without_the_footnotes_it_went_with(text: str, numbers: list[int]) -> None:
    listed = footnotes([cited(f"[{number}]") for number in numbers])
    assert without_footnotes(text + listed) == (text if listed else without_footnotes(text))


@given(some.lists(some.sampled_from(["[1]", "[2]", "so", " ", "."]), max_size=30))
def test_every_annotation_stands_where_the_text_names_it(parts: list[str]) -> None:
    text = "".join(parts)
    for one in annotations(text, [cited("[1]"), cited("[2]")]):
        place = one["url_citation"]
        assert text[place["start_index"] : place["end_index"]] in {place["reference"], ""}


def test_a_source_that_the_text_does_not_name_stands_at_its_end() -> None:
    [one] = annotations("It is so.", [cited("[7]")])
    assert (one["url_citation"]["start_index"], one["url_citation"]["end_index"]) == (9, 9)


def test_a_footnote_names_title_section_page_and_file_and_links_to_nothing() -> None:
    listed = footnotes([cited("[1]"), cited("[1]"), cited("[2]", "![x](https://evil.example)", None)])
    assert listed.count("\n[") == 2
    assert "[1] Handbook, Grounds, page 3 (handbook" in listed
    assert "](https" not in listed


def test_a_stream_that_told_the_answer_has_nothing_to_add() -> None:
    assert rest_of("It needs 80 points [1].", result("It needs 80 points. [2]")) == ""


def test_a_stream_that_told_nothing_tells_the_answer() -> None:
    assert rest_of(" ", result("Not found.")) == "Not found."


def test_a_stream_that_told_something_else_is_put_right() -> None:
    assert rest_of("It needs 90 points.", result("It needs 80 points.")).endswith("It needs 80 points.")


def test_tokens_are_those_of_all_calls() -> None:
    calls = [{"counted": 100, "written": 7}, {"counted": 50, "written": 5}]
    stages = (TraceStage(name="answer", took_ms=1, details={"context": {"calls": calls}}),)
    used = usage_of(result("So.", tokens_used=162, trace=Trace(stages=stages)))
    assert (used.prompt_tokens, used.completion_tokens) == (150, 12)


def test_messages_become_a_question_with_what_was_said_before() -> None:
    question, said = conversation(
        [
            ChatMessage(role="user", content="What does it cost?"),
            ChatMessage(role="assistant", content="40 euros [1].\n\nSources:\n[1] Fees (fees.md)"),
            ChatMessage(role="user", content=[TextPart(text="and"), TextPart(text="for seniors?")]),
        ],
        ignore_system=False,
    )
    assert question == "and\nfor seniors?"
    assert [(one.question, one.answer) for one in said] == [("What does it cost?", "40 euros [1].")]


def test_a_message_that_is_too_long_is_refused() -> None:
    with pytest.raises(UsageError, match="20,000"):
        conversation([ChatMessage(role="user", content="x" * 20_001)], ignore_system=False)


@pytest.mark.parametrize("given", [{"n": 1}, {"tools": []}, {"stop": None}, {"response_format": {"type": "text"}}])
def test_a_parameter_that_asks_for_nothing_is_taken(given: Mapping[str, Any]) -> None:
    refuse_unsupported(given)
    assert not_used(given) == []


def test_what_changes_nothing_is_named() -> None:
    [told] = not_used({"temperature": 0.5, "max_tokens": 9, "user": "me", "seed": None})
    assert told.endswith("max_tokens, temperature.")
