"""Names of organisations by their form, and capitalised words that are none."""

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
        ("restaurants such as Joe's Diner, Alpha & Beta and Gamma.", ["Joe's Diner", "Alpha & Beta", "Gamma"]),
        ("The tool was acquired by Initech, which sold it.", ["Initech"]),
        ("a company called Initech and a man called Peter", ["Initech"]),
        ("She was president of the Harvest League in 1930.", ["Harvest League"]),
        ("a deal with the charity Oakleaf and the airline Blue Heron", ["Oakleaf", "Blue Heron"]),
        ("Initech (founded 1990) is a Finnish company based in Oulu.", ["Initech"]),
        ("Yesterday Initech employees and Globex's board met.", ["Initech", "Globex"]),
        ("It was told by Initech CEO Jane Roe.", ["Initech"]),
        ("According to the ABCD and the WXY, it rained. The QRS announced it.", ["ABCD", "WXY", "QRS"]),
        ("HM Land Registry and DG CONNECT replied.", ["HM Land Registry", "DG CONNECT"]),
        ("AGM | Annual Meeting\nAC | Audit Committee", ["AC", "Audit Committee"]),
        (
            "the UK's National Grain Authority and Iran's Ministry of Fish",
            ["National Grain Authority", "Ministry of Fish"],
        ),
        ("ISO 9001, Regulation (EU) 2016/679, Microsoft Windows; Microsoft and ISO", ["Microsoft", "ISO"]),
        ("H1.1 Every Member Club pays. J3 The Appeal Board", ["Appeal Board"]),
        ("She is with Arizona State University, Tempe.", ["Arizona State University, Tempe"]),
        (
            "It was then passed on, as everybody had hoped, to the Northern\nGrounds Committee.",
            ["Northern Grounds Committee"],
        ),
        ("Division: Northern\nGrounds Committee", ["Grounds Committee"]),
    ],
)
def test_a_name_is_known_by_its_form(text: str, names: list[str]) -> None:
    assert organisations_in(text, "en") == names


def test_an_acronym_in_brackets_is_a_name_and_so_is_one_of_the_initials() -> None:
    text = "The Information Commissioner's Office (ICO) and the Open Grain Authority met. The OGA agreed."
    assert organisations_in(text, "en") == ["Information Commissioner's Office", "ICO", "Open Grain Authority", "OGA"]


def test_a_name_is_told_once_where_it_comes_first() -> None:
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
            "Das Bundesamt für Kälte in der Technik (BKT), das Amtsgericht Hamburg und die Softwarefirma Initech",
            ["Bundesamt für Kälte in der Technik", "BKT", "Amtsgericht Hamburg", "Initech"],
        ),
        ("de", "vom schottischen Parlament oder Mitglied des schottischen Parlaments", ["schottischen Parlament"]),
        (
            "fr",
            "l'Agence nationale de la sécurité des systèmes (ANSS) et le ministère de l'Intérieur",
            ["Agence nationale de la sécurité des systèmes", "ANSS", "ministère de l'Intérieur"],
        ),
        ("de", "Das Ergebnis der Gesellschaft und ihrer Kommission war eine Partei.", []),
        (
            "fr",
            "La Commission européenne et le Ministère de la Santé",
            ["Commission européenne", "Ministère de la Santé"],
        ),
        (
            "lt",
            "UAB \u201eGeri darbai\u201c ir Vilniaus universitetas",
            ["UAB \u201eGeri darbai\u201c", "Vilniaus universitetas"],
        ),
        ("en", "Švietimo, mokslo ir sporto ministerija", ["Švietimo, mokslo ir sporto ministerija"]),
    ],
)
def test_other_languages_have_their_forms(language: str, text: str, names: list[str]) -> None:
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
def test_common_words_and_places_are_no_names(text: str) -> None:
    assert organisations_in(text, "en") == []


PIECES = st.sampled_from(["A", "a", "Board", " ", "of", "the", "Ltd", "(AB)", "&", "'s", ",", ".", "\n", "|"])


@given(st.lists(PIECES, max_size=80).map("".join), st.sampled_from(["en", "de", "fr"]))
def test_every_name_stands_in_the_text(text: str, language: str) -> None:
    found = organisations_in(text, language)
    assert len(found) == len(set(found))
    flat = " ".join(text.split())
    assert all(name in flat for name in found)
