"""Abbreviations are found with their long forms, and terms in brackets with their meanings."""

import pytest
from elt_llm_consumer.definitions.abbreviations import is_short_form, long_form
from hypothesis import given
from hypothesis import strategies as st
from row_jobs.definitions import defined, definitions_in, terms_in


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        ("The Yearly General Meeting (YGM) opens at six.", "YGM", "Yearly General Meeting"),
        ("The API (application programming interface) is open.", "API", "application programming interface"),
        ("Cameras are Closed-Circuit Television (CCTV) here.", "CCTV", "Closed-Circuit Television"),
        ("Secure Sockets Layer (SSL) is old.", "SSL", "Secure Sockets Layer"),
        ("See the [Code of Good Practice](https://example.org/code) (CoGP).", "CoGP", "Code of Good Practice"),
        ("Mail transport agents (MTAs) send it.", "MTAs", "Mail transport agents"),
        ('The Institute of Measuring Things ("IMT") agrees.', "IMT", "Institute of Measuring Things"),
        ("SLA stands for service level agreement and was made in June.", "SLA", "service level agreement"),
    ],
)
def test_an_abbreviation_is_found_with_its_long_form(text: str, short: str, long: str) -> None:
    (found,) = definitions_in(text)
    assert (found.term, found.text, found.pattern, found.abbreviation) == (short, long, "abbreviation", short)


@pytest.mark.parametrize("text", ["He (PDF) went.", "The form (A4) is here.", "It is in the office (London).", "(ABC)"])
def test_letters_without_a_matching_long_form_are_not_an_abbreviation(text: str) -> None:
    assert definitions_in(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'The person who inspects the books (the "Auditor") must report.',
            ("Auditor", "The person who inspects the books"),
        ),
        ('When you buy from the shop you deal with the Association (the "Seller").', ("Seller", "the Association")),
        (
            "A vehicle that weighs more than two tonnes (a “heavy vehicle”) needs a permit.",
            ("heavy vehicle", "A vehicle that weighs more than two tonnes"),
        ),
    ],
)
def test_a_term_in_brackets_is_defined_by_the_words_before_the_bracket(text: str, expected: tuple[str, str]) -> None:
    assert defined(text) == [expected]


@pytest.mark.parametrize(
    ("text", "term", "meaning"),
    [
        (
            "The Company keeps the permission of the regulator to take water from a source (the “Licence”) in a safe.",
            "Licence",
            "the permission of the regulator to take water from a source",
        ),
        (
            "The Company asks for permission from a customer to collect payments (the “Direct Debit Mandate”) first.",
            "Direct Debit Mandate",
            "permission from a customer to collect payments",
        ),
        (
            "The permission of the regulator to take water from a source (the “Licence”) is kept.",
            "Licence",
            "The permission of the regulator to take water from a source",
        ),
    ],
)
def test_a_term_in_brackets_means_the_whole_noun_phrase_with_its_infinitive(text: str, term: str, meaning: str) -> None:
    (found,) = definitions_in(text)
    assert (found.term, found.text, found.unsure) == (term, meaning, True)


@pytest.mark.parametrize(
    ("text", "meaning", "unsure"),
    [
        ("The Board has the right to appoint an officer (the “Observer”).", "an officer", False),
        ("The Board issues an order to appoint a clerk of works (the “Clerk”).", "a clerk of works", False),
        ("Goods are sent to the officer (the “Registrar”).", "the officer", False),
        ("The Club keeps letters from a guest of the house (the “Notice”).", "a guest of the house", True),
        ("You may lock the hall or a part of the Works (a “Locked Place”) at night.", "a part of the Works", True),
        (
            "The agreement with the Council to lease the park (the “Park”) ends in May.",
            "The agreement with the Council to lease the park",
            True,
        ),
        (
            "The clerk sent a letter to a member of the Board (the “Chair”).",
            "The clerk sent a letter to a member of the Board",
            True,
        ),
        ("The clerk sent the report (the “Report”).", "The clerk sent the report", True),
        ("Der Rat erhebt für jede Reise ein Entgelt (nachfolgend „Maut“).", None, True),
        ("Das Amt, das die Reise prüft (nachfolgend „Stelle“), haftet.", "Das Amt, das die Reise prüft", False),
        (
            "1. „Angaben“ alle Dinge, die einen Menschen (im Folgenden „Person“) betreffen.",
            "Dinge, die einen Menschen",
            False,
        ),
        ("The person appointed by the Board (the “Clerk”) is paid.", "The person appointed by the Board", False),
        ("The Club elects a person who keeps the books (the “Clerk”).", "a person who keeps the books", False),
        (
            "The person in charge of a room (the “Person in Charge”) is paid.",
            "The person in charge of a room",
            False,
        ),
    ],
)
def test_a_meaning_in_brackets_is_unsure_if_a_noun_before_it_may_belong_to_it(
    text: str, meaning: str | None, unsure: bool
) -> None:
    (found,) = definitions_in(text)
    assert (found.text, found.unsure) == (meaning or found.text, unsure)


@pytest.mark.parametrize(
    ("text", "further"),
    [
        ('Acme Ltd, a company registered in Leeds ("Acme" or the "Supplier"), delivers the goods.', "Supplier"),
        ('Die Acme GmbH, eine Gesellschaft aus Köln ("Acme" oder der "Lieferant"), liefert die Waren.', "Lieferant"),
    ],
)
def test_a_second_name_in_the_same_brackets_is_another_name_of_the_term(text: str, further: str) -> None:
    (found,) = definitions_in(text)
    assert (found.term, found.aliases) == ("Acme", (further,))


def test_a_quotation_in_brackets_is_not_a_term() -> None:
    assert terms_in('The word is short ("yes") and the tool ("tool -x") too.') == []


@given(st.lists(st.from_regex(r"[A-Z][a-z]{2,8}", fullmatch=True), min_size=2, max_size=6), st.text(max_size=20))
def test_an_abbreviation_made_of_initials_is_always_found(words: list[str], before: str) -> None:
    short = "".join(word[0] for word in words)
    assert is_short_form(short)
    text = f"{before}. {' '.join(words)}"
    place = long_form(short, text)
    assert place is None or text[slice(*place)].strip() == text[slice(*place)]
    if not any(sign.isalnum() for sign in before) and len(text) == len(text.casefold()):
        assert place is not None


@pytest.mark.parametrize(
    "text",
    [
        "The effective implementation of Regulation (EU) 2024/1689 counts.",
        "It was established by Council Regulation (EC) No 765/2008.",
    ],
)
def test_a_citation_in_brackets_is_not_read_as_an_abbreviation(text: str) -> None:
    assert defined(text) == []


def test_short_words_such_as_of_and_the_are_skipped_between_the_initials_of_an_abbreviation() -> None:
    assert defined("See the Treaty on the Functioning of the European Union (TFEU) for this.") == [
        ("TFEU", "Treaty on the Functioning of the European Union")
    ]


def test_the_short_name_of_a_law_means_the_whole_title_of_the_law() -> None:
    title = "Directive 5 of the Council of 11 May 2005 concerning practices in the market and amending Directive 4"
    assert defined(f"{title} (\u2018Market Practices Directive\u2019) applies.") == [
        ("Market Practices Directive", title)
    ]


def test_a_short_name_in_brackets_is_defined_by_the_full_name_before_the_bracket() -> None:
    text = "High protection as enshrined in the Charter of Rights of the Union (the \u2018Charter\u2019) applies."
    assert defined(text) == [("Charter", "Charter of Rights of the Union")]


def test_the_short_form_of_a_proper_name_is_an_abbreviation_but_the_role_of_a_party_is_not() -> None:
    text = (
        "The Charter of Rights of the Union (the \u2018Charter\u2019) applies. "
        "It binds Acme Tools Limited (the \u2018Supplier\u2019)."
    )
    assert [(one.term, one.pattern) for one in definitions_in(text)] == [
        ("Charter", "abbreviation"),
        ("Supplier", "brackets"),
    ]


def test_a_party_named_directly_after_the_word_between_is_the_meaning_of_its_short_name() -> None:
    text = 'This contract is made on 3 May 2024 between Green Hill Dairies Limited (the "Seller") and the buyer.\n'
    assert defined(text) == [("Seller", "Green Hill Dairies Limited")]


def test_the_name_of_a_company_directly_before_a_bracket_is_the_meaning_of_a_word_for_companies() -> None:
    text = "Diese Ordnung regelt die Aufgaben des Rats der Werke Auenfeld GmbH & Co. KG (nachfolgend „Gesellschaft“)."
    assert defined(text) == [("Gesellschaft", "Werke Auenfeld GmbH & Co. KG")]
    other = "Die Gesellschaft der Werke Auenfeld GmbH (nachfolgend „Gesellschaft“) tagt."
    assert defined(other) == [("Gesellschaft", "Gesellschaft der Werke Auenfeld GmbH")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Der Verteilnetzbetreiber (VNB) misst.", [("VNB", "Verteilnetzbetreiber")]),
        ("Der Rat bestellt eine Datenschutzbeauftragte (DSB).", [("DSB", "Datenschutzbeauftragte")]),
        ("Der Verwaltungsgerichtshof (VGH) tagt.", [("VGH", "Verwaltungsgerichtshof")]),
        ("Das Verwaltungsgericht (VGH) tagt.", []),
        ("Die Informationen (ITN) und das Dokumentenformat (PDF) liegen bei.", []),
    ],
)
def test_the_letters_of_an_abbreviation_may_start_the_parts_of_one_compound(
    text: str, expected: list[tuple[str, str]]
) -> None:
    assert defined(text) == expected


def test_a_capitalized_name_in_brackets_only_mentions_a_term_that_the_document_defines_elsewhere() -> None:
    text = "The owner of the cable (the Cable Owner) pays the fee.\n\n"
    assert [one.text for one in definitions_in(text)] == ["The owner of the cable"]
    assert [one.text for one in definitions_in(f'{text}"Cable Owner" means any firm in Kent.\n')] == [
        "any firm in Kent."
    ]


def test_an_article_within_the_quotes_of_a_bracket_does_not_belong_to_the_short_form() -> None:
    text = "The Letter Preference Service (“the LPS”), and the Mailing Preference Service (“the MPS”) are free."
    assert [(one.term, one.text) for one in definitions_in(text)] == [
        ("LPS", "Letter Preference Service"),
        ("MPS", "Mailing Preference Service"),
    ]


def test_the_meaning_before_a_bracket_starts_after_the_bracket_of_the_definition_before_it() -> None:
    text = (
        'They follow the Rules of the Water Trade Board ("Water Rules"), and their further notices ("Water Notices").'
    )
    assert [one.text for one in definitions_in(text) if one.term == "Water Notices"] == ["their further notices"]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("Neither the name of Hill Inc. (“Hill”) nor its marks may be used.", "Hill Inc."),
        ("This Hill Road Public Licence (the “Licence”) applies.", "This Hill Road Public Licence"),
        ("The Board grants the right, free of charge, to any person or body (the “Licensee”).", "any person or body"),
        ("Subject to these terms, the Office of Lending (the “Contributor”) lends.", "the Office of Lending"),
        ("If a member sells tools to the public, such Member (“Commercial Seller”) pays.", None),
        ("It ends upon days of notice from Respondent (“Notice Period”).", None),
    ],
)
def test_the_meaning_before_a_bracket_is_the_nearest_whole_name_or_person(text: str, meaning: str | None) -> None:
    assert [one.text for one in definitions_in(text)] == ([meaning] if meaning else [])


def test_a_bracket_may_list_several_names_in_bold() -> None:
    text = (
        "between Hill Tools Ltd (**“Hill”**, **“Client”** or **“Company”**) pay. This Lending Deed (this “Deed”) ends."
    )
    assert [(one.term, one.aliases) for one in definitions_in(text)] == [("Hill", ("Client", "Company")), ("Deed", ())]
