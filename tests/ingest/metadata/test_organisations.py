"""Organisations are found by the form of their names ("Ministry of Health"); other capitalised words are not names."""

import pytest
from elt_llm_ingest.metadata.organisations import organisations_in
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("It was sold to Acme Widgets, Inc. and Foo Bar Ltd.", ["Acme Widgets, Inc.", "Foo Bar Ltd"]),
        ("ASML Holding N.V. and Turnverein Berlin e.V.", ["ASML Holding N.V.", "Turnverein Berlin e.V."]),
        ("The Bank of England, Barclays and Lloyds", ["Bank of England"]),
        ("the European Court of Human Rights decided", ["European Court of Human Rights"]),
        (
            "Department for Environment, Food and Rural Affairs; Department of Health and Social Care",
            ["Department for Environment, Food and Rural Affairs", "Department of Health and Social Care"],
        ),
        ("Members of the Grounds Committee and the Audit Committee Chair", ["Grounds Committee", "Audit Committee"]),
        ("The Youth and Schools Committee's report", ["Youth and Schools Committee"]),
        ("AGM | Annual Meeting\nAC | Audit Committee", ["AC", "Audit Committee"]),
        ("ISO 9001, Regulation (EU) 2016/679, Microsoft Windows; Microsoft and ISO", ["Microsoft", "ISO"]),
        ("H1.1 Every Member Club pays. J3 The Appeal Board", ["Appeal Board"]),
        (
            "It was then passed on, as everybody had hoped, to the Northern\nGrounds Committee.",
            ["Northern Grounds Committee"],
        ),
        ("Division: Northern\nGrounds Committee", ["Grounds Committee"]),
    ],
)
def test_organisation_names_are_found_by_words_such_as_committee_or_ltd(text: str, names: list[str]) -> None:
    assert organisations_in(text, "en") == names


def test_an_acronym_is_found_if_a_text_introduces_it_or_a_verb_follows() -> None:
    text = "The Information Commissioner's Office (ICO) met the OGA (Open Grain Authority). The QRS announced it."
    assert organisations_in(text, "en") == [
        *("Information Commissioner's Office", "ICO", "OGA", "Open Grain Authority", "QRS")
    ]


def test_each_organisation_name_is_returned_once_in_the_order_of_first_mention() -> None:
    text = "The Audit Committee met the Safeguarding Board. THE Audit Committee's chair agreed."
    assert organisations_in(text, "en") == ["Audit Committee", "Safeguarding Board"]


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        (
            "de",
            "Die Technische Universität und das Bundesministerium für Arbeit",
            ["Technische Universität", "Bundesministerium für Arbeit"],
        ),
        (
            "de",
            "Das Bundesamt für Kälte (BFK) und die Fraunhofer-Gesellschaft",
            ["Bundesamt für Kälte", "BFK", "Fraunhofer-Gesellschaft"],
        ),
        ("de", "Das Ergebnis der Gesellschaft und ihrer Kommission war eine Partei.", []),
        (
            "fr",
            "le Ministère de la Santé (MS) et la Banque de France",
            ["Ministère de la Santé", "MS", "Banque de France"],
        ),
        ("lt", "UAB \u201eGeri darbai\u201c ir vilnius", ["UAB \u201eGeri darbai\u201c"]),
    ],
)
def test_organisation_names_are_found_in_languages_other_than_english(
    language: str, text: str, names: list[str]
) -> None:
    assert organisations_in(text, language) == names


@pytest.mark.parametrize(
    "text",
    [
        *("The Committee met. The Board decided.", "Each Member Club pays.", "a Local Authority", "the Soviet Union"),
        *("The Committee Room is closed.", "a Bank Holiday", "the Kestrel Bank Sports Hall", "Annual General Meeting"),
        *("Chair\nCommittee", "1 Board Composition", "Comma-Separated Values (CSV)", "the Treaty of Paris"),
        *("a Domain Name Service (DNS)", "IT employees", "the Russian Federation", "House of Cards", "API rules"),
        *("After he left his brother's company Peter sang.", "published by Oak tree fans", "Player Records are kept."),
        *("the Council of the Association", "Board of Directors", "the West Bank", "", "no capitals here", "A B C D"),
    ],
)
def test_common_words_and_places_are_not_read_as_organisation_names(text: str) -> None:
    assert organisations_in(text, "en") == []


PIECES = st.sampled_from(["A", "a", "Board", " ", "of", "the", "Ltd", "(AB)", "&", "'s", ",", ".", "\n", "|"])


@given(st.lists(PIECES, max_size=80).map("".join), st.sampled_from(["en", "de", "fr"]))
def test_every_returned_organisation_name_occurs_in_the_text(text: str, language: str) -> None:
    found = organisations_in(text, language)
    assert len(found) == len(set(found))
    flat = " ".join(text.split())
    assert all(name in flat for name in found)
