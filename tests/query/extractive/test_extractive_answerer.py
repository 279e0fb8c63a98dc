"""The quotes of the extractive answerer, their order, and that every quote is the document's own words."""

import re

import pytest
from elt_llm_core.text.outline import Outline
from elt_llm_query.extractive.answerer import Answer
from hypothesis import given
from hypothesis import strategies as st
from retrieval.chunks import make_answerer, make_chunk

LIBRARY = (
    "The library opens at nine. Readers may borrow up to twelve books at once. "
    "A reader who loses a book pays 25 euros. The head librarian approves longer loans. "
    "Loans last three weeks and may be extended twice."
)
WORDS = st.sampled_from(["the", "library", "opens", "twelve", "books", "readers", "pay", "on", "Monday", "7", "why"])
SENTENCE = st.lists(WORDS, min_size=1, max_size=9).map(lambda words: " ".join(words).capitalize() + ".")
SENTENCES = st.lists(SENTENCE, min_size=1, max_size=8)


def test_a_question_for_a_number_is_answered_by_the_sentence_with_that_number() -> None:
    answer = make_answerer(abstain=False).answer(
        "How many books may readers borrow?", [make_chunk(LIBRARY)], max_sentences=1
    )
    assert answer.text == "Readers may borrow up to twelve books at once. [1]"


def test_the_only_sentence_with_the_expected_figure_is_compared_even_if_many_come_before_it() -> None:
    text = " ".join(f"How the {word} books are lent is told elsewhere." for word in "abcdefghijklmnopqrstuvwxyz")
    answer = make_answerer(abstain=False).answer("How many books are lent?", [make_chunk(f"{text} Take 12 at most.")])
    compared = answer.reasoning["sentences"]
    assert isinstance(compared, list)
    assert (len(text) + 1, len(text) + 17) in [sentence["span"] for sentence in compared]


def test_a_question_for_an_amount_prefers_money_to_other_figures() -> None:
    answer = make_answerer(abstain=False).answer(
        "How much does a reader pay for a lost book?", [make_chunk(LIBRARY)], max_sentences=1
    )
    assert answer.text == "A reader who loses a book pays 25 euros. [1]"


BERTHS = "A berth for boats up to 9 metres costs 433 euro. Boats above 9 metres pay 655 euro per berth."
MEMBERS = "Members under 18 pay 12 euro a year. Those aged 18 or over pay 30 euro a year."
LOANS = "Loans under 500 euro need no guarantor. Loans over 500 euro need a guarantor. Loans under 500 euro are short."
PLACES = "Ein Platz für Boote unter 9 Meter kostet 433 Euro. Boote über 9 Meter zahlen für den Platz 655 Euro."


@pytest.mark.parametrize(
    ("question", "text", "quoted", "left_out"),
    [
        ("How much does a berth for boats above 9 metres cost?", BERTHS, "655", "433"),
        ("How much does a berth for boats of at most 9 metres cost?", BERTHS, "433", "655"),
        ("How much do members over 18 pay a year?", MEMBERS, "30", "12"),
        ("What do loans under 500 euro need?", LOANS, "no guarantor", "over"),
        ("Wie viel kostet ein Platz für Boote über 9 Meter?", PLACES, "655", "433"),
        ("How much does a berth for boats above 9 metres cost?", BERTHS.partition(". Boats")[0] + ".", "433", "655"),
        ("How much is a berth above 9 metres?", "A berth is 4 euro up to 9 metres, 6 above 9 metres.", "4 euro", "Not"),
    ],
)
def test_a_sentence_about_amounts_beyond_the_asked_limit_gives_way_to_one_with_that_limit(
    question: str, text: str, quoted: str, left_out: str
) -> None:
    answer = make_answerer(abstain=False).answer(question, [make_chunk(text)])
    assert quoted in answer.text
    assert left_out not in answer.text


def test_a_question_for_a_person_is_answered_by_the_sentence_with_a_role_such_as_head_librarian() -> None:
    answer = make_answerer(abstain=False).answer("Who approves longer loans?", [make_chunk(LIBRARY)], max_sentences=1)
    assert answer.text == "The head librarian approves longer loans. [1]"


@pytest.mark.parametrize(
    ("question", "unnamed", "named"),
    [
        ("What is the name of the chair?", "The chair leads the board.", "The chair is Ada Brook."),
        (
            "Who is the Chief Executive?",
            "The Chief Executive reports to the Board of Directors.",
            "Ada Brook, Chief Executive, reports to the Board.",
        ),
        (
            "Who is the Chief Executive?",
            "The Chief Executive reports to the Board of Directors.",
            "The Chief Executive is the oldest librarian.",
        ),
        ("Wie heißt der Vorsitzende?", "Der Vorsitzende leitet die Sitzungen.", "Der Vorsitzende ist Osterkamp."),
        ("Wie heißt der Vorsitzende?", "Jeder Vorsitzende leitet Sitzungen.", "Der Vorsitzende Frau Dr. Osterkamp."),
        (
            "Wie heißt der Vorsitzende?",
            "Er ist Vorsitzender.",
            "| Amt | Person |\n|---|---|\n| Vorsitzender | Osterkamp |",
        ),
    ],
)
def test_a_question_for_the_name_of_a_person_is_not_answered_with_certainty_by_a_sentence_without_a_name(
    question: str, unnamed: str, named: str
) -> None:
    answers = [make_answerer(abstain=True).answer(question, [make_chunk(text)]) for text in (unnamed, named)]
    assert answers[0].outcome != "answered"
    assert answers[0].confidence < answers[1].confidence


def test_a_name_that_most_chunks_have_is_not_taken_for_the_name_of_a_person() -> None:
    texts = [f"The treasurer of the Otterclub opens door {number} of the Otterclub." for number in range(4)]
    chunks = [make_chunk(text, start=100 * number) for number, text in enumerate(texts)]
    named = [make_chunk("The treasurer of the Otterclub, Ada Brook, opens every door.", start=900), *chunks[1:]]
    answers = [make_answerer(abstain=True).answer("Who is the treasurer?", found) for found in (chunks, named)]
    assert answers[0].outcome != "answered"
    assert answers[0].confidence < answers[1].confidence


def test_a_question_for_a_duration_is_answered_by_a_sentence_with_a_period_of_time() -> None:
    answer = make_answerer(abstain=False).answer("How long do loans last?", [make_chunk(LIBRARY)], max_sentences=1)
    assert answer.text == "Loans last three weeks and may be extended twice. [1]"


def test_a_rule_about_another_group_of_people_does_not_answer_a_question_about_the_named_group() -> None:
    text = "Matches of Under-16 teams last 80 minutes. Matches of Under-14 teams last 70 minutes."
    answer = make_answerer(abstain=False).answer(
        "How long do matches of Under-14 teams last?", [make_chunk(text)], max_sentences=1
    )
    assert "70 minutes" in answer.text


def test_a_question_for_a_definition_is_answered_by_the_defining_sentence() -> None:
    text = "Every folio is numbered by hand. A folio is a sheet folded once. The folio lies in the vault."
    answer = make_answerer(abstain=False).answer("What is a folio?", [make_chunk(text)], max_sentences=1)
    assert answer.text == "A folio is a sheet folded once. [1]"


def test_a_table_row_is_read_with_its_header_but_cited_without_the_header() -> None:
    table = "| Item | Fee |\n|---|---|\n| Late return | 2 euros |\n| Lost card | 5 euros |"
    answer = make_answerer(abstain=False).answer(
        "What is the fee for a lost card?", [make_chunk(table)], max_sentences=1
    )
    assert answer.citations[0].excerpt == "| Lost card | 5 euros |"


FRIDGES = "| Fridge | Holds |\n|---|---|\n| Fridge A | drinks |\n| Fridge B | fish |\n| Fridge C | salad |\n"


def test_only_the_table_row_that_the_question_names_is_quoted() -> None:
    answer = make_answerer(abstain=False).answer("What does Fridge B hold?", [make_chunk(FRIDGES)])
    assert [citation.excerpt for citation in answer.citations] == ["| Fridge B | fish |"]


def test_a_month_in_full_names_the_table_row_of_its_abbreviation() -> None:
    gifts = "| Month | Gifts |\n|---|---|\n| Sep | 31 books |\n| Oct | 52 books |\n| Nov | 40 books |\n"
    answer = make_answerer(abstain=False).answer("How many gifts came in October?", [make_chunk(gifts)])
    assert [citation.excerpt for citation in answer.citations] == ["| Oct | 52 books |"]


def test_both_table_rows_that_a_question_names_are_quoted() -> None:
    answer = make_answerer(abstain=False).answer("What do fridge A and fridge C hold?", [make_chunk(FRIDGES)])
    assert [citation.excerpt for citation in answer.citations] == ["| Fridge A | drinks |", "| Fridge C | salad |"]


OFFICES = "| City | Staff | Phone |\n|---|---|---|\n| Berlin | 12 | 030 555 |\n| Paris | 7 | 01 555 |\n"
FEES = "The late fee of Berlin is 45 euro. The notice period in Paris is three months."


def test_a_table_row_and_a_sentence_answer_the_two_parts_of_a_question() -> None:
    text = (
        "| Room | Deposit |\n|---|---|\n| R1 | 60 pounds |\n| R2 | 90 pounds |\n\n"
        "The period of notice for a room is one month."
    )
    question = "What is the deposit for room R2, and what is the period of notice for a room?"
    answer = make_answerer(abstain=False).answer(question, [make_chunk(text)])
    assert "R2: 90 pounds" in answer.text
    assert "one month" in answer.text
    both = make_answerer(abstain=False).answer("What is the deposit for rooms R1 and R2?", [make_chunk(text)])
    assert "R1: 60 pounds" in both.text
    assert "R2: 90 pounds" in both.text


def test_a_table_row_that_only_names_the_place_of_the_question_is_not_quoted_instead_of_the_sentence_that_answers() -> (
    None
):
    chunks = [make_chunk(OFFICES, "offices.csv"), make_chunk(FEES, "rules.md")]
    answer = make_answerer(abstain=False).answer("How much is the late fee of Berlin?", chunks)
    assert answer.citations[0].excerpt == "The late fee of Berlin is 45 euro."
    assert not any("030 555" in citation.excerpt for citation in answer.citations)
    staff = make_answerer(abstain=False).answer("How many staff does Berlin have?", chunks)
    assert [citation.excerpt for citation in staff.citations] == ["| Berlin | 12 | 030 555 |"]


def test_a_table_row_with_the_asked_value_is_quoted_instead_of_a_sentence_without_a_value() -> None:
    table = "| Item | Amount |\n|---|---|\n| Late fee | 45 euro |\n"
    pointer = "The late fee of Berlin is listed in the table below."
    chunks = [make_chunk(pointer, "rules.md"), make_chunk(table, "fees.csv")]
    for question in ("How high is the late fee in Berlin?", "How much is the late fee in Berlin?"):
        answer = make_answerer(abstain=False).answer(question, chunks)
        assert [citation.excerpt for citation in answer.citations] == ["| Late fee | 45 euro |"]


PUMPS = (
    "| Model | Rate | Price | Power |\n|---|---|---|---|\n| P-60 | 12 l/min | 249 EUR | 300 W |\n"
    "| P-80 | 19 l/min | 349 EUR | 550 W |\n| P-90 | 24 l/min | 419 EUR | 700 W |\n"
)
ROOMS = "| Room | Seats | Floor |\n|---|---|---|\n| Aurora | 12 | 3 |\n| Borealis | 30 | 1 |\n| Castor | 8 | 3 |\n"


@pytest.mark.parametrize(
    ("table", "question", "labels"),
    [
        (PUMPS, "Which model delivers 19 l/min?", ["P-80"]),
        (PUMPS, "Welches Modell leistet 700 W?", ["P-90"]),
        (ROOMS, "Which room has 30 seats?", ["Borealis"]),
        (ROOMS, "Which rooms are on floor 3?", ["Aurora", "Castor"]),
        (PUMPS, "Which model delivers 9 l/min?", ["P-60", "P-80", "P-90"]),
    ],
)
def test_only_the_table_rows_with_the_value_that_the_question_names_are_quoted(
    table: str, question: str, labels: list[str]
) -> None:
    answer = make_answerer(abstain=False).answer(question, [make_chunk(table)])
    assert [citation.excerpt.split(" | ")[0].strip("| ") for citation in answer.citations] == labels


HOBEL = "| Artikel | Gewicht | Preis pro Tag |\n|---|---|---|\n| Hobel | 2 kg | 9 EUR |\n| Leiter | 5 kg | 12 EUR |\n"
SUGAR = "| Ingredient | Amount |\n|---|---|\n| Sugar | 200 g |\n| Flour | 500 g |\n"


@pytest.mark.parametrize(
    ("table", "question", "lacks_words"),
    [
        (PUMPS, "How much does the P-80 cost?", False),
        (PUMPS, "What are the costs of the P-80?", False),
        (HOBEL, "Was kostet Hobel?", False),
        (HOBEL, "How much does Hobel cost?", False),
        (SUGAR.replace("200 g", "2 EUR"), "How much does sugar cost?", False),
        (SUGAR, "How much does sugar cost?", True),
        (PUMPS, "How much does it cost to clean the P-80?", True),
        (PUMPS, "How much do pumps cost?", True),
        (PUMPS.replace("Price", "Price list"), "How much does the P-80 cost?", True),
    ],
)
def test_the_column_of_prices_in_the_named_row_states_what_a_thing_costs(
    table: str, question: str, lacks_words: bool
) -> None:
    answer = make_answerer(abstain=False).answer(question, [make_chunk(table)])
    evidence = answer.reasoning["evidence"]
    assert isinstance(evidence, dict)
    assert (evidence["residue_distance"] > 0) == (evidence["unknown"] > 0) == lacks_words


def test_all_table_rows_may_be_quoted_if_the_question_names_no_row() -> None:
    answer = make_answerer(abstain=False).answer("What does a fridge hold?", [make_chunk(FRIDGES)])
    assert len(answer.citations) == 3


@pytest.mark.parametrize(
    ("question", "column", "outcomes"),
    [
        ("What is the cheapest ticket?", "Price", {"uncertain"}),
        ("What is the cheapest ticket?", "Cheapest price", {"answered"}),
        ("What is the cheapest Student ticket?", "Price", {"answered", "uncertain"}),
        ("Which ticket is there?", "Price", {"answered"}),
    ],
)
def test_an_answer_is_uncertain_if_the_question_asks_for_the_least_of_the_values_in_several_table_rows(
    question: str, column: str, outcomes: set[str]
) -> None:
    heading = "# Cheapest ticket\n\n"
    table = f"{heading}| Ticket | {column} |\n|---|---|\n| Standard ticket | 24 EUR |\n| Student ticket | 12 EUR |\n"
    answer = make_answerer(abstain=True).answer(question, [make_chunk(table)])
    assert answer.outcome in outcomes
    assert any("not compared" in note for note in answer.notes) == (outcomes == {"uncertain"})


def test_a_heading_or_table_header_alone_is_never_an_answer() -> None:
    text = (
        "# Opening hours of the library\n\n| Opening hours | Library |\n|---|---|\n\nThe library opens at nine o'clock."
    )
    answer = make_answerer(abstain=False).answer("What are the opening hours of the library?", [make_chunk(text)])
    assert [citation.excerpt for citation in answer.citations] == ["The library opens at nine o'clock."]


@pytest.mark.parametrize("line", ["- Opening hours\n- Price list", "17 Opening hours of the library | 131"])
def test_a_line_with_only_words_of_the_question_and_a_line_of_a_table_of_contents_are_never_an_answer(
    line: str,
) -> None:
    text = f"{line}\n\nIt opens at nine o'clock."
    answer = make_answerer(abstain=False).answer("What are the opening hours of the library?", [make_chunk(text)])
    assert not any("pening hours" in citation.excerpt for citation in answer.citations)


def test_a_quoted_list_includes_the_sentence_that_introduces_the_list() -> None:
    text = "Readers must bring the following:\n\n- a passport\n- a photograph\n- two stamps\n\nThe hall is heated."
    answer = make_answerer(abstain=False).answer("What must readers bring?", [make_chunk(text)], max_sentences=1)
    assert answer.citations[0].excerpt.endswith("- two stamps")
    assert answer.text.count("\n") >= 3


def test_the_same_sentence_in_two_documents_is_quoted_once() -> None:
    chunks = [make_chunk("Loans last three weeks."), make_chunk("Loans last three weeks.", document="faq", score=0.9)]
    answer = make_answerer(abstain=False).answer("How long do loans last?", chunks)
    assert len(answer.citations) == 1


def test_quoted_sentences_are_in_the_order_of_the_document() -> None:
    text = "Fines for late books are low. The hall is old and cold. Fines for late books are 20 cents a day."
    answer = make_answerer(abstain=False).answer("What are the fines for late books?", [make_chunk(text)])
    spans = [citation.span for citation in answer.citations]
    assert spans == sorted(spans)


def test_answering_a_question_twice_gives_byte_identical_answers() -> None:
    chunks = [make_chunk(LIBRARY), make_chunk(LIBRARY, document="copy", score=0.8)]
    first, second = (make_answerer(abstain=True).answer("How long do loans last?", chunks) for _ in "ab")
    assert first == second


def test_a_question_for_which_no_chunks_are_found_is_refused_without_an_error() -> None:
    answer = make_answerer(abstain=False).answer("How long do loans last?", [])
    assert not answer.answered
    assert answer.text == "Not found in these documents."


def test_a_question_about_another_subject_is_refused_with_the_closest_chunks() -> None:
    answer = make_answerer(abstain=True).answer(
        "Which vaccine does the Zanzibar Institute recommend for camels?", [make_chunk(LIBRARY)]
    )
    assert not answer.answered
    assert answer.text.startswith("Not found in these documents. The closest chunks are [1]")
    assert answer.citations


def test_a_refusal_is_written_in_the_language_of_the_question() -> None:
    answer = make_answerer(abstain=True).answer(
        "Welchen Impfstoff empfiehlt das Institut für Kamele?", [make_chunk(LIBRARY)]
    )
    assert answer.text.startswith("In diesen Dokumenten nicht gefunden.")


def test_a_question_that_uses_the_words_of_a_chunk_is_answered() -> None:
    answer = make_answerer(abstain=True).answer("How many books may readers borrow at once?", [make_chunk(LIBRARY)])
    assert answer.answered
    assert "twelve books" in answer.text


def test_a_sentence_above_the_token_limit_of_the_model_is_scored_by_its_start() -> None:
    text = "Loans last three weeks " + "and so on " * 300 + "until the end."
    answer = make_answerer(abstain=False).answer("How long do loans last?", [make_chunk(text)])
    assert answer.citations[0].excerpt == text


@given(before=SENTENCES, after=SENTENCES, start=st.integers(0, 500), asked=st.lists(WORDS, min_size=1, max_size=7))
def test_every_cited_excerpt_is_the_document_text_at_its_span(
    before: list[str], after: list[str], start: int, asked: list[str]
) -> None:
    text = "x" * start + " ".join(before) + "\n\n" + " ".join(after)
    middle = start + len(" ".join(before)) // 2
    chunks = [make_chunk(text[start:], start=start), make_chunk(text[middle:], start=middle, score=0.7)]
    answer = make_answerer(abstain=False).answer(" ".join(asked) + "?", chunks)
    _check(answer, text)


def _check(answer: Answer, text: str) -> None:
    assert all(text[slice(*citation.span)] == citation.excerpt for citation in answer.citations)
    if answer.answered:
        references = re.findall(r"\[(\d+)\]", answer.text)
        assert references == [str(number) for number in range(1, len(answer.citations) + 1)]
        assert len(answer.citations) <= 3
    assert 0.0 <= answer.confidence <= 1.0


def test_a_sentence_that_two_overlapping_chunks_share_is_quoted_completely() -> None:
    text = "The hall is cold. Loans last three weeks in summer and four in winter. Cards are blue."
    end = text.index(" in summer")
    start = text.index("three weeks")
    chunks = [make_chunk(text[:end]), make_chunk(text[start:], start=start), make_chunk(text, score=0.5)]
    answer = make_answerer(abstain=False).answer("How long do loans last?", chunks, max_sentences=1)
    assert answer.citations[0].excerpt == "Loans last three weeks in summer and four in winter."


def test_if_citations_are_switched_off_the_answer_has_no_citation_marks() -> None:
    answer = make_answerer(abstain=False, cite=False).answer("How long do loans last?", [make_chunk(LIBRARY)])
    assert "[" not in answer.text
    assert answer.citations
    refused = make_answerer(abstain=True, cite=False).answer("Which vaccine do camels need?", [make_chunk(LIBRARY)])
    assert refused.text == "Not found in these documents."


def test_an_answer_starts_with_the_sentences_of_the_best_paragraph() -> None:
    text = "Fines are paid at the desk.\n\nThe hall is old.\n\nFines for late books are 20 cents a day."
    answer = make_answerer(abstain=False).answer("What are the fines for late books a day?", [make_chunk(text)])
    assert answer.text.startswith("Fines for late books are 20 cents a day.")


def test_a_sentence_with_a_low_score_is_not_added_to_a_clear_answer() -> None:
    answer = make_answerer(abstain=False).answer("How many books may readers borrow at once?", [make_chunk(LIBRARY)])
    assert answer.text == "Readers may borrow up to twelve books at once. [1]"


def test_a_question_with_two_parts_is_answered_with_sentences_for_both_parts() -> None:
    text = "Adults may keep a book for three weeks. The hall is old.\n\nChildren may keep a book for five weeks."
    answer = make_answerer(abstain=False).answer(
        "How long may adults keep a book, and how long may children?", [make_chunk(text)]
    )
    assert "three weeks" in answer.text
    assert "five weeks" in answer.text


FOOTAGE = "How long must door footage be kept?"


@pytest.mark.parametrize(
    ("question", "others"),
    [
        (FOOTAGE, "At the north gate, door footage must be kept by the guards on duty for 90 days."),
        ("Within what time must door footage be kept?", "Door footage must be kept for 2 years."),
    ],
)
def test_sentences_that_give_another_value_for_the_same_are_quoted_with_a_note(question: str, others: str) -> None:
    chunks = [make_chunk("Door footage must be kept for 31 days."), make_chunk(others, document="gates")]
    answer = make_answerer(abstain=False).answer(question, chunks, max_sentences=1)
    assert answer.text == f"Door footage must be kept for 31 days. [1] {others} [2]"
    assert answer.notes == ("The quoted sentences give different values.",)


@pytest.mark.parametrize(
    "other",
    [
        "Door footage must be kept for one month, which means 31 days.",
        "Door logs must be kept for 90 days.",
        "Door footage must be kept in 12 boxes.",
        "The footage of 90 days must be kept apart from the gate.",
    ],
)
def test_a_sentence_about_something_else_or_with_the_same_value_is_no_other_value(other: str) -> None:
    chunks = [make_chunk("Door footage must be kept for 31 days."), make_chunk(other, document="gates")]
    answer = make_answerer(abstain=False).answer(FOOTAGE, chunks, max_sentences=1)
    assert (answer.text, answer.notes) == ("Door footage must be kept for 31 days. [1]", ())


@pytest.mark.parametrize(
    ("amendment", "amends"),
    [
        ("12.1 In paragraph 6.4, the words “eight years” are replaced by “ten years”.", True),
        ("12.1 Section 6.4 is repealed.", True),
        ("12.1 In Absatz 6.4 werden die Wörter „eight years“ durch „ten years“ ersetzt.", True),
        ("12.1 In paragraph 6.41, the words “eight years” are replaced by “ten years”.", False),
        ("12.1 In section 6.4 of the Archives Act, the words “eight years” are replaced by “ten years”.", False),
        ("12.1 Records under paragraph 6.4 are deleted.", False),
    ],
)
def test_the_sentence_that_amends_a_quoted_paragraph_by_its_number_is_quoted_with_a_note(
    amendment: str, *, amends: bool
) -> None:
    paragraph = "6.4 Maps are on paper. The case file must be kept for eight years."
    document = f"{paragraph}\n\n# Changes\n\n12 Lists are kept.\n\n{amendment} They are old."
    answerer = make_answerer(abstain=False)
    answerer.read_document = lambda _: (document, Outline())
    answer = answerer.answer("How long must the case file be kept?", [make_chunk(paragraph)], max_sentences=1)
    added = f" {amendment} [2]" if amends else ""
    assert answer.text == f"The case file must be kept for eight years. [1]{added}"
    assert bool(answer.notes) == amends


def test_a_sentence_that_two_chunks_cut_and_that_is_quoted_whole_is_quoted_once() -> None:
    text = "Loans of maps and atlases to readers of the library last three weeks, and loans of maps end in May."
    cut = text.index(", and loans") + 2
    answerer = make_answerer(abstain=False)
    answerer.read_document = lambda _: (text, Outline())
    answer = answerer.answer(
        "How long do loans of maps last, and when do they end?",
        [make_chunk(text[:cut]), make_chunk(text[cut:], start=cut)],
    )
    assert answer.text == f"{text} [1]"


def test_the_row_whose_range_contains_the_number_of_the_question_is_quoted_alone() -> None:
    rows = "| Loss | Found | To be told |\n|---|---|---|\n| small | Up to 10 books missing | Keeper |\n"
    rows += "| middle | 11 to 500 books missing | Treasurer |\n| large | 501 to 900 books missing | Mayor |"
    answer = make_answerer(abstain=False).answer("Who must be told if 200 books are missing?", [make_chunk(rows)])
    assert answer.text == "middle \u2013 Found: 11 to 500 books missing; To be told: Treasurer [1]"
    assert isinstance(evidence := answer.reasoning["evidence"], dict)
    assert evidence["numbers_apart"] == 0.0


def test_a_year_above_the_name_of_a_group_is_that_of_its_rows_and_brackets_may_be_left_out() -> None:
    rows = "(in millions) | 2024 | 2023\nLoans\nBooks (and maps) lent | 7 | 5\nMaps found | 9 | 8\nLost | 1 | 2"
    answer = make_answerer(abstain=False).answer("How many books were lent in 2023?", [make_chunk(rows)])
    assert answer.text == "Books (and maps) lent (in millions) \u2013 2023: 5 [1]"


def test_the_evidence_for_an_answer_is_that_of_the_quoted_row() -> None:
    rows = "(in millions) | 2024 | 2023\nBooks lent | 7 | 5\nMaps lent | 9 | 8\nMaps lost | 1 | 2"
    other = make_chunk("Books and books lent were counted in 2023 by 4 readers of books.", "b")
    answer = make_answerer(abstain=False).answer("How many books lent in 2023?", [make_chunk(rows), other])
    assert answer.text == "Books lent (in millions) \u2013 2023: 5 [1]"
    assert answer.reasoning["evidence"]["residue_distance"] == 0.0  # type: ignore[index]
