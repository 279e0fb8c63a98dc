"""The required quality of answers to the sample questions with the real embedding model."""

import re
from typing import Any

import pytest
from elt_llm_core.results import UNCERTAIN_TEXT, QueryResult
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.evaluate.answers import measure_answers
from elt_llm_query.evaluate.datasets import read_labelled_questions
from processes.command_line import PROJECT, QUESTIONS, run_process
from processes.demonstration import Demo


def test_the_right_page_is_cited_for_nine_of_ten_answerable_questions(answers: dict[str, Any]) -> None:
    assert answers["right_page_cited"] >= 0.90


def test_at_least_85_percent_of_answerable_questions_are_answered_from_the_right_page(answers: dict[str, Any]) -> None:
    assert answers["answered_from_right_page"] >= 0.85


def test_at_most_one_of_ten_answerable_questions_is_refused(answers: dict[str, Any]) -> None:
    assert answers["wrongly_refused"] <= 0.10


@pytest.mark.parametrize("kind", ["absent-entity", "absent-number"])
def test_a_question_that_the_documents_do_not_answer_never_gets_a_certain_answer(
    kind: str, answers: dict[str, Any]
) -> None:
    assert answers["refused_or_uncertain"][kind] >= 0.85
    assert answers["refused"][kind] >= 0.70


def test_the_report_has_a_refusal_rate_for_every_kind_of_unanswerable_question(answers: dict[str, Any]) -> None:
    kinds = {row["kind"] for row in answers["results"]} - {"answerable"}
    assert set(answers["refused"]) == kinds
    assert len(kinds) == 4


def test_at_most_half_of_the_words_of_a_typical_sample_question_occur_in_its_gold_sentences() -> None:
    questions = read_labelled_questions(QUESTIONS)
    refused = QueryResult(question="", answer="", answered=False)
    report = measure_answers(questions, lambda _: refused, KeywordTokeniser())
    assert 0 < report.overlap <= 0.5


def test_every_claim_of_an_answer_is_cited(answers: dict[str, Any]) -> None:
    for row in answers["results"]:
        assert "[1]" in row["answer"] or not row["answered"], row


def test_the_answers_shown_in_the_readme_are_printed_and_are_not_marked_as_uncertain(demo: Demo) -> None:
    page = (PROJECT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r'^\$ uv run elt-llm ask "([^"]+)" -c demo\n(.*?)^\.\.\.$', page, re.DOTALL | re.MULTILINE)
    assert len(shown) == 2
    for question, lines in shown:
        ended = run_process("ask", question, "-c", "demo", folder=demo.folder)
        assert ended.code == 0, ended.err
        assert lines.strip() in ended.out
        assert UNCERTAIN_TEXT not in ended.out
