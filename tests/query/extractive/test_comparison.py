"""A question that compares two things is answered with a sentence about each."""

import pytest
from retrieval.chunks import make_answerer, make_chunk

ADULTS = "Adults may keep a book for three weeks."
CHILDREN = "Children may keep a book for five weeks."
TEXT = f"{ADULTS} The hall is old. Books on loan to adults are listed for a week.\n\n{CHILDREN} Maps are in the hall."


@pytest.mark.parametrize(
    "question",
    [
        "How long may adults keep a book compared with children?",
        "How long may children keep a book rather than adults?",
        "Adults or children: who may keep a book longer?",
        "What is the difference between adults and children when they keep a book?",
    ],
)
def test_the_answer_to_a_comparison_quotes_sentences_about_both_compared_subjects(question: str) -> None:
    answer = make_answerer(abstain=False).answer(question, [make_chunk(TEXT)])
    assert {citation.excerpt for citation in answer.citations} == {ADULTS, CHILDREN}


def test_a_comparison_with_a_subject_that_is_not_in_the_documents_is_answered_like_any_other_question() -> None:
    answer = make_answerer(abstain=False).answer(
        "What is the difference between adults and llamas?", [make_chunk(TEXT)]
    )
    assert "Adults" in answer.text
