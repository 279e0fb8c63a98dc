"""Answers and sources as the browser is sent them: marked where they are doubtful, and never more than text."""

from elt_llm_api.serve.ui.answers import answer_markdown, doubtful_places, marked
from elt_llm_api.serve.ui.cards import cited_cards, found_cards, marked_text
from elt_llm_api.serve.ui.html_tables import Column, table
from elt_llm_core.results import CheckedSentence, Citation, QueryResult
from hypothesis import given
from hypothesis import strategies as st
from script_payloads import PAYLOADS
from shown_html import ShownHtml
from written_answers import chunk


def sentence(text: str, verdict: str = "unsupported", *reasons: str) -> CheckedSentence:
    return CheckedSentence.model_validate({"text": text, "verdict": verdict, "score": 0.1, "reasons": reasons})


def result(answer: str, *checked: CheckedSentence, **more: object) -> QueryResult:
    return QueryResult.model_validate({"question": "?", "answer": answer, "answered": True, "checked": checked, **more})


def test_a_doubtful_sentence_is_marked_with_a_sign_and_its_reason() -> None:
    shown = marked(result("It is so. [1] It is blue.", sentence("It is blue.", "unsupported", "Nothing says blue.")))
    assert shown.startswith("It is so. [1] <mark")
    assert 'class="unsupported"' in shown
    assert "Nothing says blue." in shown
    assert "⚠ It is blue.</mark>" in shown


def test_one_that_is_borne_out_in_part_has_another_sign_and_a_good_one_none() -> None:
    shown = marked(result("A. B.", sentence("A.", "supported"), sentence("B.", "partly")))
    assert shown.startswith("A. <mark")
    assert "◐ B.</mark>" in shown


def test_the_point_of_a_list_stays_one() -> None:
    answer = "So:\n\n* One is red. [1]\n* Two is blue."
    shown = marked(result(answer, sentence("* Two is blue.")))
    assert "\n* <mark" in shown


def test_numbers_within_a_sentence_do_not_hide_it() -> None:
    [place] = doubtful_places("Rain [1] falls [2]. Snow [1] too.", [sentence("Snow too.")])
    assert (place.start, place.end) == (20, 33)


@given(st.text(max_size=200), st.lists(st.text(min_size=1, max_size=40), max_size=4))
def test_the_places_of_doubtful_sentences_are_in_order_and_within_the_answer(answer: str, said: list[str]) -> None:
    places = list(doubtful_places(answer, [sentence(text) for text in said]))
    ends = [0, *(edge for one in places for edge in (one.start, one.end)), len(answer)]
    assert ends == sorted(ends)


def test_nothing_found_is_said_with_a_sign() -> None:
    assert "∅ Not found in these documents" in answer_markdown(result("Not found.", answered=False))


def test_a_card_shows_the_cited_words_within_those_around_them() -> None:
    context = chunk("Before it. The cited words. After it.", 0.5)
    citation = Citation(
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
    [card] = cited_cards(result("A. [1]", citations=(citation,), contexts=(context,)))
    assert 'Before it. <mark class="cited">The cited words.</mark> After it.' in card.html
    assert "page 3" in card.html
    assert (card.collection, card.document, card.span) == ("library", "rules", (11, 27))


def test_no_payload_in_text_title_or_table_becomes_more_than_text() -> None:
    for payload in PAYLOADS:
        [card] = found_cards([chunk(payload, 0.5, title=payload)])
        assert "\n" not in card.html, "an empty line would end the HTML"
        for html in (card.html, marked_text(payload, 1, 3), table([Column(payload)], [[payload]])):
            shown = ShownHtml(html)
            assert set(shown.active) <= {("scope", "col")}
            assert not {"img", "a", "script", "iframe", "form", "svg", "style"} & shown.tags
