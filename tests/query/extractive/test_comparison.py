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
def test_both_things_that_a_question_compares_are_quoted(question: str) -> None:
    answer = make_answerer(abstain=False).answer(question, [make_chunk(TEXT)])
    assert {citation.excerpt for citation in answer.citations} == {ADULTS, CHILDREN}


def test_a_comparison_with_something_absent_is_answered_as_any_question() -> None:
    answer = make_answerer(abstain=False).answer(
        "What is the difference between adults and llamas?", [make_chunk(TEXT)]
    )
    assert "Adults" in answer.text
