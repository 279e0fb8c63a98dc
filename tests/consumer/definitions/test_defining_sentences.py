"""Sentences that define a term give the term and its meaning."""

import pytest
from elt_llm_consumer.jobs.sections import GlossarySection
from row_jobs.definitions import defined, definitions_in, terms_in

DEFINING = [
    ('"Supplier" means any person who delivers goods.', "Supplier", "any person who delivers goods."),
    ("A lease is defined as a contract under which land is let.", "lease", "a contract under which land is let."),
    ("Net Weight shall mean the weight of the goods alone.", "Net Weight", "the weight of the goods alone."),
    ("Exempt Shop shall have the meaning of a shop that pays no fee.", "Exempt Shop", "a shop that pays no fee."),
    ("Net\nWeight shall\nhave the\nmeaning of\nthe weight\nalone.", "Net Weight", "the weight alone."),
    ("In these Rules, Depot means the place where goods are kept.", "Depot", "the place where goods are kept."),
    ("In this Manual, Playing Area refers to the field and its edge.", "Playing Area", "the field and its edge."),
    ('The term "controller" refers to the body that decides.', "controller", "the body that decides."),
    ("**Ticket Touting** is the sale of a ticket for more than its price.", "Ticket Touting", None),
    ("A Lost Parcel is a parcel which nobody has seen for a week.", "Lost Parcel", None),
    ('"Cup-tied", of a player, means having played for another club.', "Cup-tied", "having played for another club."),
    ("Every shop names a Safety Contact, which means the person who holds the keys.", "Safety Contact", None),
    ('A "Clean" copy of the plan means a copy that nobody has marked.', "Clean", "a copy that nobody has marked."),
    ('To "Lend" goods of the club means any way of giving them away.', "Lend", "any way of giving them away."),
    ('The following have these meanings: I. "Goods" Means the items.', "Goods", "the items."),
    ('"May" indicates that the person has a choice.', "May", "indicates that the person has a choice."),
    ('By "handling charge" is meant the sum added to each order.', "handling charge", "the sum added to each order."),
    ('We define "churn" as the share of customers who leave.', "churn", "the share of customers who leave."),
    ('In these Terms we use "shipment" to mean one or more parcels.', "shipment", "one or more parcels."),
    ('The following definition applies: "Goods" means the items listed.', "Goods", "the items listed."),
    ('1.2 (b) "Site", in relation to an order, means the land named in it; and', "Site", "the land named in it"),
    ("Annual leave is defined as paid time away from work.", "Annual leave", "paid time away from work."),
    ("(1) In this section— “animal” means any creature but a human being.", "animal", None),
    ("A sub-contractor means a person who carries out work for another.", "sub-contractor", None),
    ("*Upstream* is defined as the project from which the code comes.", "Upstream", None),
    ("Unter einem Bescheid versteht man eine Entscheidung der Behörde.", "Bescheid", None),
    ("„Werktag“ bezeichnet jeden Tag von Montag bis Freitag.", "Werktag", "jeden Tag von Montag bis Freitag."),
    ("Im Sinne dieser Ordnung ist Mitglied eine Person, die den Beitrag gezahlt hat.", "Mitglied", None),
    ("Als Nutzer gilt jede Person, die sich angemeldet hat.", "Nutzer", "jede Person, die sich angemeldet hat."),
    ("Als Anlieger gilt, wer an der Straße wohnt.", "Anlieger", "wer an der Straße wohnt."),
    ("**Safety Rules** relate to or control safety.", "Safety Rules", "relate to or control safety."),
    ("Als Halt im Sinne dieser Ordnung gilt, wenn der Zug steht.", "Halt", "wenn der Zug steht."),
    ("Gast im Sinne dieser Ordnung ist, wer eine Karte hat.", "Gast", "wer eine Karte hat."),
    ("Im Folgenden wird die Werke Auenfeld GmbH als „Werk“ bezeichnet.", "Werk", "die Werke Auenfeld GmbH"),
    ("Das Amt der Stadt Auenfeld wird nachfolgend als „Stelle“ bezeichnet.", "Stelle", "Das Amt der Stadt Auenfeld"),
    ("Als Merkmal bezeichnet man eine Eigenschaft von Daten.", "Merkmal", "eine Eigenschaft von Daten."),
    ("Als Zone bezeichnet diese Satzung in dieser Form den Hof.", "Zone", None),
    ("Mit „Stichtag“ ist in dieser Ordnung der 31. Dezember gemeint.", "Stichtag", "der 31. Dezember."),
    ("VOR means a beacon by which pilots find their way.", "VOR", None),
    ("Zu prüfender Wert ist eine Zahl, die im Amt liegt.", "Zu prüfender Wert", None),
    ("Eine Akte ist eine Mappe, in der Blätter zu ordnen sind.", "Akte", None),
    ("Melder ist ein Werkzeug welches gebaut wurde um Fehler schneller zu melden.", "Melder", None),
    ("On entend par « compteur » un appareil de mesure.", "compteur", "un appareil de mesure."),
    ("Par « soir », il faut entendre la fin du jour.", "soir", "la fin du jour."),
    ("Le terme « cour » désigne un lieu clos.", "cour", "un lieu clos."),
    ("A los efectos de estas normas se entiende por socio toda persona que paga.", "socio", "toda persona que paga."),
    ("La direction de l'art (ci-après « la Direction ») paie.", "Direction", "La direction de l'art"),
    ("El consejo de la villa (en adelante, «el Consejo») paga.", "Consejo", "El consejo de la villa"),
    ("Kunden im Sinne des Gesetzes sind Käufer und Mieter.", "Kunden", "Käufer und Mieter."),
    ("Als Kinder gelten Personen bis zum vollendeten 14. Jahr.", "Kinder", "Personen bis zum vollendeten 14. Jahr."),
]


@pytest.mark.parametrize(("text", "term", "meaning"), DEFINING)
def test_the_term_and_its_meaning_are_read_from_a_defining_sentence(text: str, term: str, meaning: str | None) -> None:
    found = defined(text)
    assert [name for name, _ in found] == [term]
    assert meaning is None or found[0][1] == meaning


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Als Pseudonym wird ein Wert bezeichnet, der einen Namen ersetzt.",
            ("Pseudonym", "ein Wert, der einen Namen ersetzt."),
        ),
        (
            "Unter einem „Lauf“ wird die Ausführung eines Programms verstanden.",
            ("Lauf", "die Ausführung eines Programms."),
        ),
        ("Mit „Frist“ ist die Zeit gemeint, die bleibt.", ("Frist", "die Zeit, die bleibt.")),
    ],
)
def test_the_second_part_of_a_german_verb_is_quoted_but_is_not_part_of_the_meaning(
    text: str, expected: tuple[str, str]
) -> None:
    (found,) = definitions_in(text)
    assert (found.term, found.text) == expected
    assert text.removeprefix("Als ").endswith(text[slice(*found.definition_span)])


@pytest.mark.parametrize(
    ("heading", "text", "terms"),
    [
        ("Begriffe", "Hauskunden sind Verbraucher, die Strom im Haushalt nutzen.", ["Hauskunden"]),
        ("Begriffe", "Betreiber sind natürliche oder juristische Personen, die Netze führen.", ["Betreiber"]),
        ("Begriffe", "Hauskunden sind Verbraucher.", []),
        ("Begriffe", "Die Kunden sind Verbraucher, die Strom im Haushalt nutzen.", []),
        ("Definitions", "House customers are consumers who use power at home.", ["House customers"]),
        ("Definitions", "House customers are glad of all who use power at home.", []),
        ("Preise", "Hauskunden sind Verbraucher, die Strom im Haushalt nutzen.", []),
    ],
)
def test_a_plural_without_an_article_is_defined_only_below_a_heading_for_definitions(
    heading: str, text: str, terms: list[str]
) -> None:
    assert terms_in(f"# {heading}\n\n{text}\n") == terms


def test_a_german_definition_whose_verb_has_no_second_part_ends_with_its_sentence() -> None:
    text = "Unter einer Panne versteht man jede Verletzung.\n\nDer Rat tagt.\n\n## 3 Schulung\n\nAlle üben.\n"
    assert defined(f"## 2 Begriffe\n\n{text}") == [("Panne", "jede Verletzung.")]


@pytest.mark.parametrize("verb", ["includes", "excludes", "covers"])
def test_a_term_that_includes_or_excludes_something_keeps_the_verb_in_its_meaning(verb: str) -> None:
    text = f'# Definitions\n\n"Site" {verb} a yard but does not include an office.\n'
    assert defined(text) == [("Site", f"{verb} a yard but does not include an office.")]


def test_each_sentence_that_starts_with_a_quoted_term_in_lower_case_defines_its_term() -> None:
    assert defined("« Donnée » désigne un fait. « relevé » désigne une valeur.") == [
        ("Donnée", "un fait."),
        ("relevé", "une valeur."),
    ]
    assert terms_in('"Site" means the land. "car" means a vehicle.') == ["Site", "car"]


def test_a_heading_above_sentences_that_define_other_terms_is_not_a_term() -> None:
    french = "# Definitions\n\n## A6 Termes (partie française)\n\n« Donnée » désigne un fait. Elle est gardée.\n"
    assert terms_in(french) == ["Donnée"]
    german = "# Definitionen\n\n## A6 Weiteres zu Daten\n\nAls Merkmal bezeichnet man eine Eigenschaft. Sie bleibt.\n"
    assert terms_in(german) == ["Merkmal"]


def test_two_quoted_terms_of_one_defining_sentence_have_the_same_meaning() -> None:
    assert defined("“Holiday” and “leave” mean any day on which no work is done.") == [
        ("Holiday", "any day on which no work is done."),
        ("leave", "any day on which no work is done."),
    ]


def test_alternative_names_and_abbreviations_next_to_a_term_are_read() -> None:
    (found,) = definitions_in('"Site" (also called the "Premises") means the land described below.')
    assert found.aliases == ("Premises",)
    short = definitions_in("Key Measure (KM) means a figure by which success is measured.")
    assert ("Key Measure", "KM") in [(one.term, one.abbreviation) for one in short]


@pytest.mark.parametrize(
    ("text", "refers_to"),
    [
        ("Walkover has the meaning given in Rule A3 of the Handbook, save that no score is kept.", "Rule A3"),
        ('"Affiliate" has the meaning given to it in section 1159 of the Companies Act.', None),
        ('"Depot" has the same meaning as "Store".', "Store"),
        ('"Depot" shall have the meaning assigned to it in clause 4.2(b).', "clause 4.2(b)"),
    ],
)
def test_a_reference_to_a_definition_names_the_rule_that_contains_the_definition(
    text: str, refers_to: str | None
) -> None:
    (found,) = definitions_in(text)
    assert found.pattern == "reference"
    assert found.refers_to == (refers_to or "section 1159 of the Companies Act")


def test_a_list_directly_below_a_definition_is_part_of_the_definition() -> None:
    text = (
        '(a) "Club" means a body of persons; and\n\n(b) "Match" means:\n\n(i) a league match; or\n\n'
        "(ii) a cup match;\n\n"
        '(c) "Team" means the players of a Club.\n\n2 The fee is ten pounds.\n'
    )
    assert defined(text) == [
        ("Club", "a body of persons"),
        ("Match", "(i) a league match; or (ii) a cup match"),
        ("Team", "the players of a Club."),
    ]


def test_the_sentence_after_the_list_of_a_definition_is_part_of_the_definition() -> None:
    text = '"Relative" means:\n(a) a parent; or\n(b) a child,\nbut does not include a cousin.\n\nThe fee is due.\n'
    assert defined(text) == [("Relative", "(a) a parent; or (b) a child, but does not include a cousin.")]


def test_a_definition_across_pages_omits_page_headers_and_footers() -> None:
    text = (
        '"Ground" means the land on which a club plays and\n\nHandbook 2026\nPage 3\n\n\fwhich it holds for a year.'
        " Fees are due.\n\nHandbook 2026\nPage 4\n\n\fMore.\n\nHandbook 2026\nPage 5\n\n\fThe end of it.\n"
    )
    (found,) = definitions_in(text)
    assert found.text == "the land on which a club plays and which it holds for a year."


def test_a_definition_pattern_that_the_settings_omit_finds_no_definitions() -> None:
    text = '"Fee" means a sum that is paid.\n\nThe Yearly General Meeting (YGM) opens.\n'
    assert terms_in(text) == ["Fee", "YGM"]
    assert [one.term for one in definitions_in(text, GlossarySection(patterns=("abbreviation",)))] == ["YGM"]
    assert [one.term for one in definitions_in(text, GlossarySection(skip_terms=("the fees",)))] == ["YGM"]


def test_a_quoted_term_may_mean_to_do_something_belong_to_an_owner_or_have_its_meaning_in_the_list_below() -> None:
    text = "# Definitions\n\n'Make' means to create a thing.\n\n\"Claims\" of a Member means any claim for money.\n\n"
    text += "''Board'' means the elected directors.\n\n"
    text += "1.2 'Free Licence' means\n\n  a) any earlier version, or\n\n  b) this one.\n"
    assert defined(text) == [
        ("Make", "to create a thing."),
        ("Claims", "any claim for money."),
        ("Board", "the elected directors."),
        ("Free Licence", "a) any earlier version, or b) this one."),
    ]
    assert not terms_in("# Fees\n\nThe Club has the means to pay its debts.\n")


def test_several_names_in_quotes_whose_commas_are_inside_the_quotes_or_missing_have_the_same_meaning() -> None:
    text = '# Definitions\n\n"Client" "Buyer," "You" and "Your" refers to any person who buys goods.\n'
    assert terms_in(text) == ["Client", "Buyer", "You", "Your"]


def test_each_of_two_names_in_single_quotes_before_a_verb_has_the_meaning_after_it() -> None:
    assert terms_in("'Keeper' or 'You' means any person who holds a key.") == ["Keeper", "You"]


def test_the_verb_of_a_relative_clause_after_a_term_in_quotes_defines_nothing() -> None:
    assert terms_in('"Valid" derives from a Latin word that means "strong", which is true here.') == []


def test_the_place_to_which_a_definition_refers_may_be_in_bold_after_set_forth() -> None:
    text = "“**Term**” has the meaning set forth in **Section 4.1**, including any renewal.\n"
    assert [(one.term, one.refers_to) for one in definitions_in(text)] == [("Term", "Section 4.1")]
