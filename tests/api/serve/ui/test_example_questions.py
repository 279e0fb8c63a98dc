"""Which generated questions are shown as examples."""

import pytest
from elt_llm_api.serve.ui.ask import natural_questions
from elt_llm_query.evaluate.generated_questions import DEFINITION, HEADING, ROW, GeneratedQuestion, templates_for


def shown(*questions: tuple[str, str], language: str = "en") -> tuple[str, ...]:
    generated = [GeneratedQuestion(text, kind, ()) for kind, text in questions]
    return natural_questions(generated, templates_for(language))


def test_headings_that_are_questions_come_first_and_table_rows_are_left_out() -> None:
    about, asked = (HEADING, "What about Loans?"), (HEADING, "Who picks the referees?")
    assert shown((ROW, "Amount for Entry?"), about, asked) == ("Who picks the referees?", "What about Loans?")


@pytest.mark.parametrize("text", ["What is body governed by these Rules?", "What is See [What?", "What about duty?"])
def test_a_subject_with_markup_or_in_small_letters_is_no_example(text: str) -> None:
    assert shown((DEFINITION, text), (DEFINITION, "What is Proof of age?")) == ("What is Proof of age?",)


def test_german_questions_from_templates_are_not_taken_for_headings_that_are_questions() -> None:
    about, asked = (HEADING, "Was ist mit Urlaub?"), (HEADING, "Wer entscheidet?")
    assert shown(about, (DEFINITION, "Was ist wichtig?"), asked, language="de") == (
        "Wer entscheidet?",
        "Was ist mit Urlaub?",
    )


def test_at_most_four_examples_are_shown_of_which_two_are_headings() -> None:
    asked = [(HEADING, f"Who holds office {number}?") for number in range(9)]
    found = shown(*asked, *((HEADING, f"What about Part {number}?") for number in range(9)))
    assert len(found) == 4
    assert sum(one.startswith("Who") for one in found) == 2


def test_documents_without_plain_questions_give_no_examples() -> None:
    assert shown() == ()
