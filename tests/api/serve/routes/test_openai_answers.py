"""Conversion of results to OpenAI's response formats, without a server."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from browsing.html_effects import ShownHtml
from elt_llm_api.serve.actions.openai import (
    ChatMessage,
    ContentPart,
    NotSupported,
    citation_annotations,
    footnote_list,
    ignored_names,
    parse_conversation,
    reject_unsupported_parameters,
    remaining_text,
    reply_to_task,
    strip_footnotes,
    texts_to_embed,
    usage_counts,
)
from elt_llm_core.errors import UsageError
from elt_llm_core.results import UNCERTAIN_TEXT, Citation, QueryResult, Trace, TraceStage
from hypothesis import given
from hypothesis import strategies as some
from markdown_it import MarkdownIt
from optional import needs


def cited(reference: str, title: str = "Handbook", page: int | None = 3, source: str = "handbook.pdf") -> Citation:
    return Citation(
        reference=reference,
        collection="samples",
        source_id="a" * 32,
        source_title=title,
        source=source,
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


def test_the_warning_about_uncertainty_is_stripped_from_an_answer_that_a_client_sends_back() -> None:
    assert strip_footnotes(f"So. [1]\n\n{UNCERTAIN_TEXT}{footnote_list([cited('[1]')])}") == "So. [1]"


@given(some.lists(some.sampled_from(["[1]", "[2]", "so", " ", "."]), max_size=30))
def test_every_annotation_has_the_character_offsets_of_its_citation_mark(parts: list[str]) -> None:
    text = "".join(parts)
    for one in citation_annotations(text, [cited("[1]"), cited("[2]")]):
        place = one["url_citation"]
        assert text[place["start_index"] : place["end_index"]] in {place["reference"], ""}


def test_a_citation_without_a_mark_in_the_answer_is_annotated_at_the_end_of_the_answer() -> None:
    [one] = citation_annotations("It is so.", [cited("[7]")])
    assert (one["url_citation"]["start_index"], one["url_citation"]["end_index"]) == (9, 9)


def test_a_footnote_names_title_section_page_and_file_without_a_link() -> None:
    listed = footnote_list([cited("[1]"), cited("[1]"), cited("[2]", "![x](https://evil.example)", None)])
    assert listed.count("\n[") == 2
    assert "[1] Handbook, Grounds, page 3 (handbook" in listed
    assert "](https" not in listed


@pytest.mark.parametrize("name", ["handbook.pdf", "notes.md", "src/main.py", "Bericht.Übersicht", "www.fees.pdf"])
def test_a_file_name_in_a_footnote_can_be_copied_unchanged(name: str) -> None:
    assert name in footnote_list([cited("[1]", source=name), cited("[1]", source=name)])


@pytest.mark.parametrize("name", ["notes.md", "evil.com", "a`b.md", "[x](https:", "<img src=x>.md", "a|b.io", "\\`.md"])
@pytest.mark.parametrize("title", ["Handbook", "`Hand` book", "A ` b", "evil.md"])
def test_no_file_name_in_a_footnote_becomes_a_link_or_html(name: str, title: str) -> None:
    needs("linkify_it")
    listed = footnote_list([cited("[1]", title, source=name), cited("[2]", source="evil.md")])
    shown = ShownHtml(MarkdownIt("gfm-like", {"html": True, "linkify": True}).render(listed))
    assert (shown.active, shown.tags - {"p", "code"}) == ([], set())


def test_a_stream_whose_text_equals_the_final_answer_is_not_corrected() -> None:
    assert remaining_text("It needs 80 points [1].", result("It needs 80 points. [2]")) == ""


def test_a_stream_without_text_ends_with_the_final_answer() -> None:
    assert remaining_text(" ", result("Not found.")) == "Not found."


def test_a_stream_whose_text_differs_from_the_final_answer_ends_with_the_final_answer() -> None:
    assert remaining_text("It needs 90 points.", result("It needs 80 points.")).endswith("It needs 80 points.")


def test_the_usage_field_counts_the_tokens_of_all_model_calls() -> None:
    calls = [{"counted": 100, "written": 7}, {"counted": 50, "written": 5}]
    stages = (TraceStage(name="answer", took_ms=1, details={"context": {"calls": calls}}),)
    used = usage_counts(result("So.", tokens_used=162, trace=Trace(stages=stages)))
    assert (used.prompt_tokens, used.completion_tokens) == (150, 12)


def test_chat_messages_are_converted_to_a_question_with_the_previous_turns() -> None:
    question, turns = parse_conversation(
        [
            ChatMessage(role="user", content="What does it cost?"),
            ChatMessage(role="assistant", content="40 euros [1].\n\nSources:\n[1] Fees (fees.md)"),
            ChatMessage(role="user", content=[ContentPart(text="and"), ContentPart(text="for seniors?")]),
        ],
        refuse_system=True,
    )
    assert question == "and\nfor seniors?"
    assert [(one.question, one.answer) for one in turns] == [("What does it cost?", "40 euros [1].")]


def test_a_chat_message_that_is_too_long_is_refused() -> None:
    with pytest.raises(UsageError, match="20,000"):
        parse_conversation([ChatMessage(role="user", content="x" * 20_001)], refuse_system=True)


@pytest.mark.parametrize("given", [{"n": 1}, {"tools": []}, {"stop": None}, {"response_format": {"type": "text"}}])
def test_unsupported_request_parameters_are_accepted_if_their_values_are_empty(given: Mapping[str, Any]) -> None:
    reject_unsupported_parameters(given)
    assert ignored_names(given, []) == []


def test_the_note_names_ignored_parameters_and_message_roles_that_are_not_read() -> None:
    given = {"temperature": 0.5, "max_tokens": 9, "user": "me", "seed": None, "stop": ["."]}
    messages = [ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content="Why?")]
    assert ignored_names(given, messages) == ["max_tokens", "stop", "system", "temperature"]


OPEN_WEBUI_CHAT = (
    "### Chat History:\n<chat_history>\nUSER: How long may a book be borrowed?\nASSISTANT: A week.\n</chat_history>"
)


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        (
            "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n"
            + OPEN_WEBUI_CHAT,
            '{"title": "How long may a book be borrowed?"}',
        ),
        (
            "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history.\n" + OPEN_WEBUI_CHAT,
            '{"tags": ["General"]}',
        ),
        (
            "### Task:\nSuggest 3-5 relevant follow-up questions or prompts.\n" + OPEN_WEBUI_CHAT,
            '{"follow_ups": []}',
        ),
        (
            "Please generate a concise, 40-character title for the conversation.\n\nUser: Who may borrow?\nAI: All.",
            "Who may borrow?",
        ),
    ],
    ids=["open-webui title", "open-webui tags", "open-webui follow-ups", "LibreChat title"],
)
def test_requests_of_chat_clients_for_titles_tags_or_follow_ups_are_recognised_and_answered(
    prompt: str, reply: str
) -> None:
    assert reply_to_task(prompt) == reply


@given(some.text(max_size=200))
def test_the_title_generated_for_any_chat_is_valid_json(question: str) -> None:
    reply = reply_to_task(f"### Task:\nGenerate a title.\nUSER: {question}")
    assert reply is not None
    assert list(json.loads(reply)) == ["title"]


@pytest.mark.parametrize("question", ["What is the title of the handbook?", "Which tasks has the chair?"])
def test_a_question_is_not_mistaken_for_a_chat_clients_request_to_generate_a_title(question: str) -> None:
    assert reply_to_task(question) is None


def test_a_message_with_a_picture_is_refused_and_the_error_names_its_type() -> None:
    with pytest.raises(NotSupported, match="type 'image_url', but only text is read"):
        parse_conversation([ChatMessage(role="user", content=[ContentPart(type="image_url")])])


@pytest.mark.parametrize("given", ["A gate.", ["A gate."], [32, 18618, 13], [[32, 18618, 13]]])
def test_texts_and_their_openai_token_ids_are_read_as_the_same_text(given: Any) -> None:
    assert texts_to_embed(given) == ["A gate."]


@pytest.mark.parametrize("given", [[1, 2, 999_999], [[1, 2], [-1]]])
def test_token_ids_of_another_vocabulary_are_refused_and_the_hint_names_the_langchain_option(given: Any) -> None:
    with pytest.raises(NotSupported, match="token numbers") as refused:
        texts_to_embed(given)
    assert "check_embedding_ctx_length=False" in refused.value.hint


@pytest.mark.parametrize("form", ["{context}{question}", "{context}<user_query>\n{question}\n</user_query>"])
def test_the_question_is_found_in_a_prompt_with_texts_of_attached_files(form: str) -> None:
    context = (
        "### Task:\nRespond to the user query using the provided context.\n<context>\n</context> x\n</context>\n\n"
    )
    asked = ChatMessage(
        role="user", content=form.format(context=context + "y " * 20_000 + "</context>", question="Why?")
    )
    assert parse_conversation([asked]) == ("Why?", ())
    assert ignored_names({}, [asked]) == ["context"]
