"""Which generated questions are shown as examples."""

import pytest
from elt_llm_api.serve.ui.ask import natural_questions
from elt_llm_query.evaluate.generated_questions import DEFINITION, HEADING, ROW, GeneratedQuestion, templates_for


def shown(*questions: tuple[str, str], language: str = "en") -> tuple[str, ...]:
    generated = [GeneratedQuestion(text, kind, ()) for kind, text in questions]
    return natural_questions(generated, templates_for(language))


def test_example_questions_made_from_question_headings_come_first_and_table_rows_are_not_used() -> None:
    about, asked = (HEADING, 'What about "Loans"?'), (HEADING, "Who picks the referees?")
    assert shown((ROW, "Amount for Entry?"), about, asked) == ("Who picks the referees?", 'What about "Loans"?')


@pytest.mark.parametrize("text", ["What is body governed by these Rules?", "What is See [What?", 'What about "duty"?'])
def test_a_subject_with_markup_or_in_lower_case_is_not_used_for_an_example_question(text: str) -> None:
    assert shown((DEFINITION, text), (DEFINITION, "What is Proof of age?")) == ("What is Proof of age?",)


def test_german_questions_made_from_templates_are_not_mistaken_for_question_headings() -> None:
    about, asked = (HEADING, 'Was ist mit "Urlaub"?'), (HEADING, "Wer entscheidet?")
    assert shown(about, (DEFINITION, "Was ist wichtig?"), asked, language="de") == (
        "Wer entscheidet?",
        'Was ist mit "Urlaub"?',
    )


def test_at_most_four_example_questions_are_shown_of_which_at_most_two_come_from_headings() -> None:
    asked = [(HEADING, f"Who holds office {number}?") for number in range(9)]
    found = shown(*asked, *((HEADING, f'What about "Part {number}"?') for number in range(9)))
    assert len(found) == 4
    assert sum(one.startswith("Who") for one in found) == 2


def test_no_example_questions_are_made_if_the_documents_yield_no_plain_questions() -> None:
    assert shown() == ()
