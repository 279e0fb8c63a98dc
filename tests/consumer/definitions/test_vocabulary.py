"""Defining wordings of statutes, standards and contracts are found; similar sentences define nothing."""

import pytest
from row_jobs.definitions import defined, definitions_in, terms_in

NAMED = [
    ("References to the Harbour Office are to the office kept under article 9.", "Harbour Office"),
    ("A reference to working days is a reference to days on which the shop is open.", "working days"),
    ('By "reconciliation" we understand the comparison of two lists.', "reconciliation"),
    ('When we say "valuables", we mean watches, furs and pictures.', "valuables"),
    ("The term once-only dose covers any dose that is given a single time.", "once-only dose"),
    ("'Shall' indicates a duty.", "Shall"),
    ("Self-administration refers to the taking of medicines by patients.", "Self-administration"),
    ("A discharge letter is a letter by which the ward tells the family doctor.", "discharge letter"),
    ("Working solution refers to a solution that has been thinned.", "Working solution"),
    ("Overdue Item means a licence that has not been handed back.", "Overdue Item"),
    ("For the purposes of article 7 a person is a resident if he has a house.", "resident"),
    ("A plot on which nothing is grown for a season is called a fallow plot.", "fallow plot"),
    ("Graves in which more than one person lies are called family graves.", "family graves"),
    ("A client that has shown its key is said to be authenticated.", "authenticated"),
    ('A purchase of less than 5,000 pounds is a "low value purchase".', "low value purchase"),
    ("A result is an outlier if it fails the test in annex B.", "outlier"),
    ("We call a data set *orphaned* when its owner has left.", "orphaned"),
    ("The list of all marks, known as the transcript, is issued once.", "transcript"),
    ("Work handed in within five days ('late work') loses ten marks.", "late work"),
    ("The owner of the cable (the Cable Owner) pays for it.", "Cable Owner"),
    ("The site controller, abbreviated to SC, tells the group.", "SC"),
    ('"Relevant officer": the officer named in the plan for the purchase.', "Relevant officer"),
    ('Standstill period: see "Award pause".', "Standstill period"),
    ("ROCOF: rate of change of frequency.", "ROCOF"),
    ('"Livestock" shall include hens, rabbits and bees.', "Livestock"),
    ("Mit „Prüfer“ ist die Person gemeint, die das Thema stellt.", "Prüfer"),
    ("Als „passiv“ werden Mitglieder bezeichnet, die nicht spielen.", "passiv"),
    ("Der Begriff „Reparatur“ umfasst das Streichen der Wände.", "Reparatur"),
    ("Eine Anzeige ist eine Mitteilung, in der ein Mangel beschrieben wird.", "Anzeige"),
    ("Unter Kleinarbeiten verstehen die Parteien Arbeiten, die wenig kosten.", "Kleinarbeiten"),
]
OTHERS = """
References to clauses are to clauses of this Agreement.|References to the masculine include the feminine.
The driver refers to the list of sites.|Please refer to the page that lists them.|The policy also covers keys.
The office is known as the Barn.|It is called each morning.|The meeting is called by the clerk.
A train is late when it is late.|A student is tired if the timetable is full.|The client is said to be slow.
We call a meeting when checks fail.|The owner of the cable (the largest one) pays.|A tenant who has gone (a pity) pays.
Reference data is a valuable asset which can inform users.|Common sense is a virtue that helps.
Value for money is a phrase that everybody uses.|A conflict exists between the two teams.|Every loan counts.
The following terms are used to describe the importance of each statement.|Paying late means a loss of points.
The owner: one person, not a team.|Sheet: 40 pence|"Stop": he ran.|The report (a long one) is kept.
Das Haus steht für alle offen.|Datenschutz ist eine Aufgabe, die alle angeht.|Als Wart wird Herr Maier gewählt.
"""


@pytest.mark.parametrize(("text", "term"), NAMED)
def test_the_term_is_read_from_every_form_of_defining_sentence(text: str, term: str) -> None:
    assert terms_in(text) == [term]


@pytest.mark.parametrize("text", [one for line in OTHERS.strip().split("\n") for one in line.split("|")])
def test_no_term_is_read_from_a_sentence_that_only_resembles_a_definition(text: str) -> None:
    assert terms_in(text) == []


def test_a_number_on_a_separate_line_introduces_a_term_of_a_vocabulary() -> None:
    text = (
        "# Terms and definitions\n\n3.1\n\nsling\n\nsling assembly\n\nrope with fittings, by which a load is hung\n\n"
        "Note 1 to entry: It may be a chain.\n\n3.2\n\ndead weight\n\nmass of the equipment itself\n"
    )
    assert defined(text) == [
        ("sling", "rope with fittings, by which a load is hung"),
        ("dead weight", "mass of the equipment itself"),
    ]
    assert definitions_in(text)[0].aliases == ("sling assembly",)


def test_glossary_entries_without_a_sign_after_the_term_are_read_only_under_a_heading_of_definitions() -> None:
    entries = "Bidder A firm that has sent in a tender.\n\nFramework An agreement with several firms.\n"
    small = "Blocking point the point beyond which no train runs.\n\nPossession the taking of a line out of use.\n"
    assert terms_in(f"# Definitions\n\n{entries}") == ["Bidder", "Framework"]
    assert terms_in(f"# Definitions\n\n{small}") == ["Blocking point", "Possession"]
    assert terms_in(f"# Rules\n\n{entries}\n{small}") == []
    assert (
        terms_in("# Definitions\n\nMembers pay the fee that is set.\n\nThe rules are kept.\n\nAll obey them.\n") == []
    )


def test_columns_aligned_by_spaces_under_a_heading_of_definitions_are_read_as_glossary_entries() -> None:
    entries = "    Berth      a place at which one\n               vessel may lie\n    Lock  a gate\n"
    text = f"# Words used in this Order\n\n{entries}"
    assert defined(text) == [("Berth", "a place at which one vessel may lie"), ("Lock", "a gate")]
    assert terms_in("# Timetable\n\nAudit     in May, by a firm\nReview    in July, by the board\n") == []


def test_in_a_text_without_headings_a_line_that_looks_like_a_heading_can_introduce_definitions() -> None:
    assert terms_in("Definitions\n\nFee: the sum that is paid.\n\nDuties\n\nChair: leads the board.\n") == ["Fee"]


def test_abbreviations_and_alternative_names_of_a_glossary_entry_are_read() -> None:
    short, _, other = definitions_in(
        "# Glossary\n\nService Record (SR): a list of repairs.\n\nChecked table (also: gold table) - a right one.\n"
    )
    assert (short.term, short.abbreviation) == ("Service Record", "SR")
    assert (other.term, other.aliases) == ("Checked table", ("gold table",))


def test_a_table_without_headers_under_a_heading_of_definitions_may_have_meanings_in_any_wording() -> None:
    rows = "Excess | The first part of any claim\nUnoccupied | Not lived in for more than sixty days\n"
    assert terms_in(f"# Words with special meanings\n\n{rows}") == ["Excess", "Unoccupied"]
    assert terms_in("# Definitions\n\nEntry | 12 pounds for each club\n") == []
