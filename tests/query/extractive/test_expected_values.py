"""A sentence is checked for the kind of value that the question asks for, such as a number."""

import pytest
from elt_llm_query.extractive.sentence_scores import expected_value_score, strip_numbering
from elt_llm_query.understanding.question import parse_question


@pytest.mark.parametrize(
    ("question", "sentence", "held"),
    [
        ("How many books may I borrow?", "Readers may borrow twelve books.", True),
        ("How many books may I borrow?", "Rule 12 says what readers may borrow.", False),
        ("How many books may I borrow?", "**12.3** Readers may borrow books.", False),
        ("How heavy is the globe?", "The globe was given in 1974.", False),
        ("How heavy is the globe?", "The globe weighs 40 kg.", True),
        ("What is the telephone number of the desk?", "The desk opens at 9.30.", False),
        ("What is the telephone number of the desk?", "Call the desk on 0123 456 789.", True),
        ("In which year was the hall built?", "The hall was built in 1874.", True),
        ("In which year was the hall built in 1874 sold?", "The hall was built in 1874.", False),
        ("How much does a card cost?", "A card costs £5.", True),
        ("How much does a card cost?", "A card is blue.", False),
        ("How long does a loan last?", "A loan lasts a fortnight, a year or three weeks.", True),
        ("How long does a loan last?", "A loan lasts.", False),
        ("Who approves a loan?", "The head librarian approves it.", True),
        ("What share of readers is late?", "Two thirds of the readers are late.", True),
        ("What cut does the house take?", "One twentieth goes to the house.", True),
        ("What percentage of readers is late?", "Half of them are late.", True),
        ("What share of readers is late?", "The third reader is late.", False),
        ("What is the telephone number of the desk?", "The desk opened on 2020-12-16.", False),
        ("How many days may I keep a book?", "Keep it once the form is signed.", False),
        ("How often is the hall swept?", "The hall is swept once a week.", True),
        ("How many hours of annual leave do I get?", "The annual leave is granted.", False),
        ("How much does a card cost above £5?", "A card above £5 is blue.", False),
        ("What waiting time applies to a new book?", "Newly bought books are shelved in the hall.", False),
        ("What waiting time applies to a new book?", "A new book is lent after three days.", True),
        ("What is the maximum size in megabytes of a scan?", "A scan has at most 300 pages.", False),
        ("What is the maximum size in megabytes of a scan?", "A scan has at most 20 MB.", True),
        ("How early must I book?", "The desk is open every day.", False),
        ("How early must I book?", "Book two weeks ahead.", True),
        ("How often must I book?", "The desk is open every day.", True),
        ("What's an ILL?", "Books of other houses come by inter-library loan (ILL).", True),
        ("What's an ILL?", "Some of the loans (ILL) cost nothing.", False),
        ("Wie viele Bücher gibt es?", "Es gibt zwölf Bücher.", True),
        ("What time does the hall open?", "The hall is open from 24 May.", False),
        ("À quelle heure ferme la salle ?", "La salle est fermée le 24 mai.", False),
        ("À quelle heure ferme la salle ?", "La salle ferme à 18 h 30.", True),
        ("When is the hall open?", "You may book the hall.", False),
        ("When is the hall open?", "The hall is open from May.", True),
        ("What time does the hall open?", "The hall opens on Mondays at 0950.", True),
        ("Quand ferme la salle ?", "La salle ferme le 24 mars.", True),
        ("¿Cuándo abre la sala?", "La sala abre el 3 de mayo.", True),
        ("¿Quién firma?", "Firma la persona mayor.", True),
        ("Qu'est-ce qu'un usager ?", "On entend par « usager » toute personne inscrite.", True),
        ("Was sind Werktage?", "Als Werktage gelten alle Kalendertage.", True),
        ("¿Qué es un socio?", "El socio paga la cuota.", False),
    ],
)
def test_a_value_of_the_kind_that_the_question_expects_is_recognised(question: str, sentence: str, held: bool) -> None:
    assert (expected_value_score(parse_question(question), sentence) >= 0.7) is held


def test_a_deadline_after_an_event_answers_when_but_not_on_which_day() -> None:
    deadline = "Collect the book in the week after the notice."
    assert expected_value_score(parse_question("By when must I collect a book?"), deadline) == 1.0
    assert expected_value_score(parse_question("On which weekday is the hall swept?"), deadline) < 0.7


def test_rule_numbers_and_codes_are_not_taken_for_the_number_that_a_question_asks_for() -> None:
    assert "14" not in strip_numbering("(a) Rule 14.2 and U-14 teams")
