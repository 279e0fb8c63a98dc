"""The HTML of answers and sources marks doubtful sentences, and shows text of documents as plain text."""

import re

from attacks.script_payloads import PAYLOADS
from browsing.html_effects import ShownHtml
from elt_llm_api.display.text import TableColumn
from elt_llm_api.serve.ui.markup import (
    CitationChips,
    answer_markdown,
    fill_template,
    find_doubtful,
    html_table,
    partial_markdown,
    text_html,
)
from elt_llm_api.serve.ui.markup import mark_doubtful as mark_doubtful_in
from elt_llm_api.serve.ui.sources import chunk_cards, cited_cards, mark_span
from elt_llm_api.serve.ui.texts import load_texts
from elt_llm_core.results import CheckedSentence, Citation, QueryResult
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from model_servers.scripted_model import chunk
from optional import needs

TEXTS = load_texts("en")
RENDERER = MarkdownIt("gfm-like", {"html": True, "linkify": True})
CITATION = Citation(
    reference="[1]",
    collection="library",
    source_id="rules",
    source_title="Library rules",
    source="rules.md",
    document_hash="0" * 64,
    excerpt="The cited words.",
    span=(11, 27),
    page=3,
    section="Loans",
    relevance_score=0.5,
)
SIGNS = st.sampled_from(
    [*"*_~\\`<>&;#|[]()!$-+.:=^ \n", "**", "~~", "***", "3", "4.", "5", "a", "é", "重", "&amp;", "&#52;"]
)
SIGNED = st.lists(SIGNS, min_size=1, max_size=14).map("".join)
WRITTEN = st.lists(st.sampled_from([*"*_~\\ &;+", "~~", "3", "45", "a", "&#52;"]), max_size=9).map(
    lambda it: f"x {''.join(it)} 7"
)
OUR_BUTTON = {("id", "source-1"), ("type", "button"), ("name", "source"), ("value", "0.1"), ("tabindex", "0")}


def mark_doubtful(answered: QueryResult) -> str:
    return mark_doubtful_in(answered, TEXTS, CitationChips(1, answered.citations, TEXTS))


def sentence(text: str, verdict: str = "unsupported", *reasons: str) -> CheckedSentence:
    return CheckedSentence.model_validate({"text": text, "verdict": verdict, "score": 0.1, "reasons": reasons})


def result(answer: str, *checked: CheckedSentence, **more: object) -> QueryResult:
    return QueryResult.model_validate({"question": "?", "answer": answer, "answered": True, "checked": checked, **more})


def test_a_doubtful_sentence_is_marked_with_a_sign_and_the_reason_for_the_doubt() -> None:
    shown = mark_doubtful(
        result("It is so. [1] It is blue.", sentence("It is blue.", "unsupported", "Nothing says blue."))
    )
    assert shown.startswith("It is so. [1] <mark")
    assert 'class="unsupported"' in shown
    assert "Nothing says blue." in shown
    assert "⚠ It is blue.</mark>" in shown


def test_a_partly_supported_sentence_has_a_different_sign_and_a_supported_sentence_has_no_sign() -> None:
    shown = mark_doubtful(result("A. B.", sentence("A.", "supported"), sentence("B.", "partly")))
    assert shown.startswith("A. <mark")
    assert "◐ B.</mark>" in shown


def test_an_unsupported_list_item_is_marked_and_stays_a_list_item() -> None:
    answer = "So:\n\n* One is red. [1]\n* Two is blue."
    shown = mark_doubtful(result(answer, sentence("* Two is blue.")))
    assert "\n* <mark" in shown


def test_an_unsupported_row_of_a_table_is_marked_in_its_first_cell_and_stays_a_row() -> None:
    table = "| who | days |\n|---|--:|\n| Senior | 14 [1] |\n| Youth | 20 |"
    shown = mark_doubtful(result(table, sentence("| Senior | 14 |", "supported"), sentence("| Youth | 20 |")))
    *unmarked, marked = shown.splitlines()
    assert unmarked == table.splitlines()[:-1]
    assert marked.startswith("| <mark")
    assert marked.endswith("⚠ Youth </mark>| 20 |")


def test_a_doubtful_sentence_is_found_in_the_answer_regardless_of_citation_numbers() -> None:
    [(_, start, end)] = find_doubtful("Rain [1] falls [2]. Snow [1] too.", [sentence("Snow too.")])
    assert (start, end) == (20, 33)


@given(st.text(max_size=200), st.lists(st.text(min_size=1, max_size=40), max_size=4))
def test_offsets_of_doubtful_sentences_are_ordered_and_within_the_answer(answer: str, sentences: list[str]) -> None:
    places = list(find_doubtful(answer, [sentence(text) for text in sentences]))
    ends = [0, *(edge for _, *edges in places for edge in edges), len(answer)]
    assert ends == sorted(ends)


def test_a_refusal_is_shown_as_the_badge_not_found_in_these_documents() -> None:
    assert (
        answer_markdown(result("Not found.", answered=False), TEXTS)
        == '<div class="badge abstained">∅ Not found in these documents.</div>'
    )


def test_an_uncertain_answer_says_that_the_documents_may_not_answer_the_question() -> None:
    assert "? Uncertain: this may not be the answer to the question." in answer_markdown(
        result("Maybe.", outcome="uncertain"), TEXTS
    )


def test_the_number_of_a_citation_is_a_button_that_names_its_source() -> None:
    shown = answer_markdown(result("It is so [1]. Not cited [2].", citations=(CITATION,)), TEXTS, turn=2)
    assert 'name="source" value="2.1" title="Library rules · page 3 · Loans">[1]</button>' in shown
    assert "Not cited [2]." in shown


def test_a_citation_number_within_code_stays_text() -> None:
    for answer in ("Call `x[1]`.", "```\nx[1]\n```", "So:\n\n    x[1]\n"):
        shown = mark_doubtful(result(answer, citations=(CITATION,)))
        assert "<button" not in shown, answer


def test_the_closest_chunks_are_folded_under_a_refusal() -> None:
    shown = answer_markdown(result("Not found.", answered=False, outcome="not found", citations=(CITATION,)), TEXTS)
    assert shown.count("Not found") == 1
    assert "<details" in shown
    assert "The closest chunk" in shown
    assert "<mark" not in shown


def test_a_source_card_shows_the_cited_words_with_the_surrounding_text() -> None:
    context = chunk("Before it. The cited words. After it.", 0.5)
    [card] = cited_cards(result("A. [1]", citations=(CITATION,), chunks=(context,)), TEXTS)
    assert card.quoted == 'Before it. <mark class="cited">The cited words.</mark> After it.'
    assert "page 3" in card.facts
    assert (card.collection, card.document, card.span) == ("library", "rules", (11, 27))


def test_html_payloads_in_a_text_title_or_table_are_shown_as_text() -> None:
    for payload in PAYLOADS:
        cards = fill_template("cards", TEXTS, chunk_cards([chunk(payload, 0.5, title=payload)], TEXTS))
        assert "\n" not in cards, "an empty line would end the HTML"
        for html in (cards, mark_span(payload, 1, 3), html_table([TableColumn(payload)], [[payload]])):
            shown = ShownHtml(html)
            assert set(shown.active) <= {("scope", "col"), *OUR_BUTTON}
            assert not {"img", "a", "script", "iframe", "form", "svg", "style"} & shown.tags


def written(text: str) -> str:
    return CitationChips(1, (), TEXTS).show(text)


@given(SIGNED)
def test_a_quoted_text_is_html_that_has_every_character_of_the_text(text: str) -> None:
    assert ShownHtml(text_html(text).replace("<br>", "\n")).text.split() == text.split()


@given(WRITTEN)
def test_the_numbers_that_a_model_wrote_stay_apart(text: str) -> None:
    needs("linkify_it")
    shown = ShownHtml(RENDERER.render(written(text))).text
    assert re.findall(r"\d+", shown) == re.findall(r"\d+", text)


def test_an_answer_that_quotes_is_shown_as_text_and_has_buttons() -> None:
    answered = result("It is 3*4*5 [1].", citations=(CITATION,), metadata={"model": "extractive"})
    shown = answer_markdown(answered, TEXTS, turn=2)
    assert shown.startswith('<div class="text">It is 3*4*5 <button')


def test_the_numbers_of_a_list_stay_as_a_model_wrote_them() -> None:
    needs("linkify_it")
    answer = "3. a\n5. b\n6. c\n   1. d\n   3. e\n9) f\n\n`x`1. y\n```\n1. z\n5. z\n```\n"
    shown = RENDERER.render(partial_markdown(answer, chips=CitationChips(1, (), TEXTS)))
    assert re.findall(r'<ol(?: start="(\d+)")?>', shown) == ["3", "5", "", "3", "9"]
    assert "<code>1. z\n5. z\n</code>" in shown
    assert "6) <mark" in mark_doubtful(result(answer, sentence("6. c")))


def test_bold_lists_and_code_that_a_model_wrote_stay() -> None:
    answer = "1. **25 points**, *or* 3 %:\n    - `a_b[1]` [1]\n\n```\nx_1 = 3*4*5\n```\n"
    assert written(answer) == answer
