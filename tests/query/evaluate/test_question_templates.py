import pytest
from elt_llm_query.evaluate.generated_questions import (
    cells_of,
    definitions,
    heading_question,
    is_header,
    is_table_rule,
    row_questions,
    templates_for,
)
from hypothesis import given
from hypothesis import strategies as st

ENGLISH, GERMAN = templates_for("en"), templates_for("de")


@pytest.mark.parametrize(
    ("title", "question"),
    [
        ("A3 Definitions", 'What about "Definitions"?'),
        ("3.1 Players", 'What about "Players"?'),
        ("Part B: Government of the Harbour", 'What about "Government of the Harbour"?'),
        ("2. THE PITCH", 'What about "pitch"?'),
        ("How long we keep things", "How long we keep things?"),
        ("Can girls play?", "Can girls play?"),
        ("## Loans", 'What about "Loans"?'),
    ],
)
def test_a_heading_is_turned_into_a_question_without_its_section_number(title: str, question: str) -> None:
    assert heading_question(title, ENGLISH) == question


@pytest.mark.parametrize("title", ["", "3.1", "§ 4", "***", "x" * 500])
def test_no_question_is_generated_from_a_heading_without_words(title: str) -> None:
    assert heading_question(title, ENGLISH) is None


@pytest.mark.parametrize(
    ("sentence", "term"),
    [
        ("The Metro system was the first with antennae.", "Metro system"),
        ('"Seven Years" refers to events in Europe.', "Seven Years"),
        ("A Walkover means the award of a match.", "Walkover"),
        ("B6.1 The General Secretary is the chief executive.", "General Secretary"),
        ("User Datagram Protocol (UDP) is a protocol of datagrams.", "User Datagram Protocol"),
    ],
)
def test_the_question_generated_from_a_definition_asks_what_the_defined_term_is(sentence: str, term: str) -> None:
    ((question, start, end),) = definitions(sentence, ENGLISH)
    assert question == f"What is {term}?"
    assert sentence[start:end] == sentence


@pytest.mark.parametrize(
    "sentence",
    [
        "This is a test.",
        "How is the draw made?",
        "In some cases the heat source is a reactor.",
        "The gorge is quite deep and is the stretch with castles.",
        "It means a lot.",
        "Coal, oil and gas are the fuels.",
        "Nobody comes on Sundays.",
    ],
)
def test_no_question_is_generated_from_a_sentence_without_a_definition(sentence: str) -> None:
    assert list(definitions(sentence, ENGLISH)) == []


def test_generated_questions_use_a_template_of_the_language_or_else_only_words_of_the_text() -> None:
    sentence = "Die Kogge ist ein Schiff der Hanse."
    assert [question for question, _, _ in definitions(sentence, GERMAN)] == ["Was ist Kogge?"]
    assert heading_question("Les navires", templates_for("fr")) == "Les navires?"


def test_a_question_is_generated_for_each_table_cell_from_its_row_key_and_its_column_name() -> None:
    header, cells = cells_of("Grade | Lowest age | Test"), cells_of("Silver | 18 | ")
    assert list(row_questions(header, cells, ENGLISH)) == ['What is "lowest age" for Silver?']


def test_a_markdown_table_row_has_the_same_cells_as_a_plain_row() -> None:
    assert cells_of("| Grade | Lowest age |\n") == cells_of("Grade | Lowest age") == ["Grade", "Lowest age"]
    assert is_table_rule("|---|:---:|\n")
    assert not is_table_rule("| - | 3 |")


@pytest.mark.parametrize("line", ["12 | 14", "one", "Rules | 5", "A | A", "Name | Name"])
def test_a_line_without_column_names_is_not_read_as_a_header(line: str) -> None:
    assert not is_header(cells_of(line))


@given(st.text(max_size=300))
def test_generating_questions_from_any_text_raises_no_error(text: str) -> None:
    heading_question(text, ENGLISH)
    for _, start, end in definitions(text, ENGLISH):
        assert 0 <= start < end <= len(text)
    list(row_questions(cells_of("A column | Another column"), cells_of(text), ENGLISH))
