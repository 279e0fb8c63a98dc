"""Judging answers by the cited file and page, and refusals by the kind of question."""

import pytest
from elt_llm_core.results import Citation, QueryResult
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.evaluate.answers import AnswerReport, measure_answers
from elt_llm_query.evaluate.datasets import GoldPlace, LabelledQuestion


def asked(identity: str, *pages: int, kind: str = "answerable") -> LabelledQuestion:
    """A question of two words, of which only `mast` is in its gold sentence."""
    gold = tuple(GoldPlace("ship.pdf", page, "The mast is twelve metres tall.") for page in pages)
    return LabelledQuestion(identity, f"mast {identity}", kind, gold)


def answered(question: str, *places: tuple[str, int], refused: bool = False) -> QueryResult:
    citations = tuple(
        Citation(
            reference=f"[{number}]",
            collection="ship",
            source_id="1",
            source_title="Ship",
            source=source,
            document_hash="0",
            excerpt="mast",
            span=(0, 4),
            page=page,
            section=None,
            relevance_score=0.5,
        )
        for number, (source, page) in enumerate(places, 1)
    )
    return QueryResult(question=question, answer="mast", answered=not refused, citations=citations, confidence=0.5)


def measured(*pairs: tuple[LabelledQuestion, QueryResult]) -> AnswerReport:
    results = {question.question: result for question, result in pairs}
    return measure_answers([question for question, _ in pairs], results.__getitem__, KeywordTokeniser())


def test_the_folder_of_a_cited_file_does_not_matter_for_the_comparison_with_the_gold_page() -> None:
    report = measured((asked("anchor", 3), answered("a", ("manuals/ship.pdf", 3))))
    assert (report.right_page_cited, report.answered_from_every_page, report.wrongly_refused) == (1.0, 1.0, 0.0)


@pytest.mark.parametrize("place", [("ship.pdf", 4), ("boat.pdf", 3)])
def test_a_citation_of_another_page_or_file_does_not_count_as_right(place: tuple[str, int]) -> None:
    assert measured((asked("anchor", 3), answered("a", place))).right_page_cited == 0.0


def test_a_citation_of_one_of_two_gold_pages_counts_as_right_page_but_not_as_every_page() -> None:
    report = measured((asked("anchor", 3, 9), answered("a", ("ship.pdf", 9))))
    assert (report.answered_from_right_page, report.answered_from_every_page) == (1.0, 0.0)


def test_the_right_page_in_a_refusal_counts_as_cited_but_not_as_answered() -> None:
    report = measured((asked("anchor", 3), answered("a", ("ship.pdf", 3), refused=True)))
    assert (report.right_page_cited, report.answered_from_right_page, report.wrongly_refused) == (1.0, 0.0, 1.0)


def test_a_citation_without_a_mark_in_an_answer_with_marks_does_not_count() -> None:
    result = answered("a", ("ship.pdf", 4), ("ship.pdf", 3)).model_copy(update={"answer": "The mast is tall. [1]"})
    assert measured((asked("anchor", 3), result)).right_page_cited == 0.0


def test_refusals_are_counted_by_kind_of_question() -> None:
    report = measured(
        (asked("one", kind="absent-entity"), answered("a", refused=True)),
        (asked("two", kind="absent-entity"), answered("b", ("ship.pdf", 1))),
        (asked("three", kind="false-premise"), answered("c", refused=True)),
        (asked("four", 1), answered("d", ("ship.pdf", 1))),
    )
    assert report.refused == {"absent-entity": 0.5, "false-premise": 1.0}
    assert (report.answerable, report.right_page_cited) == (1, 1.0)


def test_the_word_overlap_of_a_question_is_the_share_of_its_words_that_are_in_its_gold_sentences() -> None:
    report = measured((asked("zeppelin", 3), answered("a")), (asked("void", kind="absent-entity"), answered("b")))
    assert report.overlap == 0.5


def test_an_evaluation_report_without_questions_is_empty() -> None:
    report = measured()
    assert report.to_json() == {
        "questions": 0,
        "answerable": 0,
        "right_page_cited": 0.0,
        "answered_from_right_page": 0.0,
        "answered_from_every_page": 0.0,
        "uncertain": 0.0,
        "wrongly_refused": 0.0,
        "refused": {},
        "refused_or_uncertain": {},
        "median_overlap": 0.0,
        "results": [],
    }


def test_the_evaluation_report_has_the_result_of_each_question() -> None:
    (row,) = measured((asked("anchor", 3, 9), answered("a", ("ship.pdf", 9)))).to_json()["results"]
    assert (row["id"], row["gold_places"], row["cited"], row["answered"]) == ("anchor", 2, 1, True)
