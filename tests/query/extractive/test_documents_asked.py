"""A question for documents is answered with the documents, each with its best sentence."""

import pytest
from elt_llm_query.understanding.question import parse_question
from retrieval.chunks import make_answerer, make_chunk


def test_the_answer_to_which_documents_are_about_a_subject_names_each_document_once() -> None:
    loans = make_chunk("Fines are due at the desk. Late fines are twenty cents.", document="loans")
    chunks = [loans, make_chunk("All fines are due in May.", document="fees")]
    lines = make_answerer(abstain=False).answer("Which documents mention fines?", chunks).text.splitlines()
    assert sorted(line.partition(":")[0] for line in lines) == ["- Fees", "- Loans"]


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Which documents mention fines?", True),
        ("In which files is the fee explained?", True),
        ("Welche Dokumente erwähnen die Gebühr?", True),
        ("Which documents do I need to bring?", False),
        ("Which pages must I sign?", False),
    ],
)
def test_a_question_about_papers_that_people_must_bring_asks_for_a_list_and_not_for_document_names(
    question: str, asked: bool
) -> None:
    assert parse_question(question).asks_documents == asked
    assert parse_question(question).wants_list != asked
