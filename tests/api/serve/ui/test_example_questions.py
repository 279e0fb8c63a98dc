"""Which generated questions are shown as examples."""

from elt_llm_api.serve.ui.ask import natural_questions


def test_headings_that_are_questions_come_first_and_table_rows_are_left_out() -> None:
    generated = ['What is "amount" for Entry?', "What about Loans?", "Who picks the referees?", "What is See [What?"]
    assert natural_questions(generated) == ("Who picks the referees?", "What about Loans?")


def test_a_term_in_small_letters_is_no_example() -> None:
    assert natural_questions(["What is body governed by these Rules?", "What is Proof of age?"]) == (
        "What is Proof of age?",
    )


def test_at_most_four_examples_are_shown_of_which_two_are_headings() -> None:
    generated = [f"Who holds office {number}?" for number in range(9)] + [f"What about Part {it}?" for it in range(9)]
    shown = natural_questions(generated)
    assert len(shown) == 4
    assert sum(one.startswith("Who") for one in shown) == 2


def test_documents_without_plain_questions_give_no_examples() -> None:
    assert natural_questions([]) == ()
