"""Names are found in texts, and compared with other names, as a careful reader would do."""

import time
from itertools import pairwise

import pytest
from elt_llm_consumer.names.names import Likeness, Mention, Names, has_german_texts
from elt_llm_query.understanding.aliases import aliases_from
from hypothesis import given
from hypothesis import strategies as st
from row_jobs.contexts import corpus_of

_ALIASES = aliases_from({"Sin Bin": ["Temporary Dismissal"], "Invoice": ["Bill of Charges", "BOC"]})
_WORDS = st.sampled_from(
    ["Data", "Owner", "Steward", "Match", "Fee", "Team", "Sheet", "Report", "Interests", "Register", "Child", "of"]
)
_NAMES = st.lists(_WORDS, min_size=1, max_size=3).map(" ".join)
_TEXTS = st.lists(st.one_of(_WORDS, st.text(max_size=6), st.sampled_from([".", "\n\n", "|", ", "])), max_size=30).map(
    " ".join
)


def _met(names: list[str], text: str) -> list[tuple[str, str]]:
    return [(mention.name, mention.written) for mention in Names(names, _ALIASES).mentions(text)]


@pytest.mark.parametrize(
    ("name", "text", "written"),
    [
        ("Team Sheet", "Both team-sheets are kept.", "team-sheets"),
        ("Team Sheet", "Both Teamsheets are kept.", "Teamsheets"),
        ("Team Sheet", "Both Team\nSheets are kept.", "Team\nSheets"),
        ("Fit & Proper Declaration", "Sign the fit and proper declaration.", "fit and proper declaration"),
        ("Team Sheet", 'Every "team" sheet is kept.', 'team" sheet'),
        ("Child", "The children's shoes.", "children's"),
        ("The Register", "A register is kept.", "register"),
        ("Sin Bin", "A temporary dismissal follows.", "temporary dismissal"),
        ("Identification Number (IDN)", "Two IDNs were issued.", "IDNs"),
        ("Fees, Fines and Costs", "All fees, fines and costs.", "fees, fines and costs"),
        ("Résumé", "Send a resume.", "resume"),
        ("Prüfung der Verträge", "Die Prüfung der Verträge beginnt.", "Prüfung der Verträge"),
        ("Prüfung", "Die Prüfungen beginnen.", "Prüfungen"),
        ("証明書", "この証明書は必要です。", "証明書"),
        ("Payroll", "Each Pay-roll is closed.", "Pay-roll"),
        ("Register of Interests", "The Members' Interests Register is open.", "Interests Register"),
        ("Interests Register", "Sign the Register of Interests.", "Register of Interests"),
        ("BOC Log", "Fill in the Bill of Charges Log.", "Bill of Charges Log"),
        ("Bill of Charges Log", "Fill in the BOC Log.", "BOC Log"),
    ],
)
def test_a_name_is_found_in_every_spelling(name: str, text: str, written: str) -> None:
    assert _met([name], text) == [(name, written)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Team Sheet", "The team. Sheets are clean."),
        ("Team Sheet", "The team\n\nSheet music."),
        ("Match", "Matchmaking and rematch."),
        ("Invoice", "A bocage in the boc."),
        ("Owner", "They disown her."),
        ("Data Owner", "The owner of data is unknown."),
        ("Duty of Care", "Care for the duty roster."),
        ("HTTP", "Only HTTPS is offered, as in https."),
    ],
)
def test_a_name_is_not_found_across_sentences_or_inside_words(name: str, text: str) -> None:
    assert _met([name], text) == []


def test_the_longer_of_two_overlapping_names_is_found() -> None:
    assert _met(["Match", "Match Fee"], "A Match Fee for each Match.") == [
        ("Match Fee", "Match Fee"),
        ("Match", "Match"),
    ]


def test_a_name_takes_precedence_over_an_alias_of_another_name() -> None:
    names = Names(["Sin Bin", "Temporary Dismissal"], _ALIASES)
    assert [one.name for one in names.mentions("a temporary dismissal")] == ["Temporary Dismissal"]


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        ("It is the Result that counts.", ""),
        ("It is Result B that counts.", ""),
        ("THE RESULT AND ITS FORM", ""),
        ("It is the result that counts.", "small letters"),
        ("Results count.", "first word"),
        ("D1.3 Result makes a table.", "first word"),
        ("It is the Youth Result that counts.", "kind of it"),
        ("It is the Result Form that counts.", "longer name"),
    ],
)
def test_a_single_word_surely_means_the_name_only_if_capitalized_within_a_sentence(text: str, doubt: str) -> None:
    (mention,) = Names(["Result"]).mentions(text)
    assert mention.doubt == doubt
    assert mention.certain == (doubt == "")


def test_a_german_noun_surely_means_the_name_at_the_start_of_a_sentence_too() -> None:
    found = Names(["Rechnung", "Kunde"]).mentions(
        "Rechnungen sind zu prüfen. Rechnung gestellt wird, in rechnungen nicht."
    )
    assert [one.doubt for one in found] == ["", "", "small letters"]


def test_the_words_of_a_name_such_as_team_sheet_surely_mean_the_name_in_lower_case_too() -> None:
    mention = Mention(3, 13, "Team Sheet", "team sheet", "Team Sheet")
    assert Names(["Team Sheet"]).mentions("no team sheet") == [mention]


def test_a_mention_records_which_name_or_alias_it_matches() -> None:
    found = Names(["Invoice"], _ALIASES).mentions("Pay bills of charges; no, a BOC.")
    assert [(one.name, one.form) for one in found] == [("Invoice", "Bill of Charges"), ("Invoice", "BOC")]


def test_the_searched_forms_of_a_name_are_the_name_its_parts_and_its_aliases_without_duplicates() -> None:
    assert Names(["Sin Bin"], _ALIASES).forms("Sin Bins (SB)") == (
        "Sin Bins (SB)",
        "Sin Bins",
        "SB",
        "Temporary Dismissal",
    )


@pytest.mark.parametrize(
    ("left", "right", "how"),
    [
        ("Data Owner", "Data Steward", "none"),
        ("Match Fee", "Match Official", "none"),
        ("Home Ground", "Ground Grade", "none"),
        ("Ground Grade", "Grade Ground", "none"),
        ("Stage 1 Report", "Stage 2 Report", "none"),
        ("Welfare Officer", "Club Welfare Officer", "none"),
        ("Player", "Player Record", "none"),
        ("Registrar", "Register", "none"),
        ("Fit & Proper Declaration", "Fit and Proper Declarations", "same"),
        ("Team-Sheet", "Team Sheet", "same"),
        ("the Teamsheets", "Team Sheet", "same"),
        ("Sin Bins", "Temporary Dismissal", "alias"),
        ("Register of Interests", "Interests Register", "fuzzy"),
        ("Affilation Card", "Affiliation Card", "fuzzy"),
        ("CWO", "Club Welfare Officer", "fuzzy"),
    ],
)
def test_two_spellings_of_a_name_are_recognised_as_alike_and_similar_names_of_two_things_are_not(
    left: str, right: str, how: str
) -> None:
    assert Names([], _ALIASES).likeness(left, right).how == how


@given(_NAMES, _NAMES)
def test_the_similarity_of_names_is_symmetric_and_between_0_and_1(left: str, right: str) -> None:
    names = Names([], _ALIASES)
    likeness = names.likeness(left, right)
    assert likeness == names.likeness(right, left)
    assert 0 <= likeness.score <= 1
    assert (likeness.score == 1) or likeness.how in {"fuzzy", "none"}


@given(_NAMES)
def test_a_name_and_its_upper_case_form_are_the_same_name(name: str) -> None:
    assert Names([name]).likeness(name, name.upper()) == Likeness(1.0, "same")


@given(st.lists(_NAMES, max_size=6), _TEXTS)
def test_mentions_are_listed_in_text_order_and_match_their_spans(names: list[str], text: str) -> None:
    found = Names(names, _ALIASES).mentions(text)
    assert all(text[one.start : one.end] == one.written and one.name in names for one in found)
    assert all(before.end <= after.start for before, after in pairwise(found))


@given(_NAMES)
def test_a_name_is_found_in_a_sentence_that_contains_the_name(name: str) -> None:
    assert [one.name for one in Names([name]).mentions(f"we know of no {name}.")][:1] == [name]


def test_a_thousand_names_are_found_in_one_pass() -> None:
    names = Names([f"Thing {number} Record" for number in range(1000)])
    text = "Some words stand around it, and then comes Thing 77 Records again. " * 10_000
    started = time.perf_counter()
    assert len(names.mentions(text)) == 10_000
    assert time.perf_counter() - started < 60


def test_names_are_german_if_most_of_the_text_is_even_if_few_names_look_german() -> None:
    german = "Die Dienstpläne und die Fehlerprotokolle werden nach der Löschung nicht mehr aufbewahrt. " * 3
    english = "The log of faults is kept for ten years, and the plans of the staff are not. " * 3
    assert has_german_texts(corpus_of({"a.md": german, "b.md": "# Plan"})) is True
    assert has_german_texts(corpus_of({"a.md": english, "b.md": german[:60]})) is None
    assert Names(["Dienstplan", "Audit-Log"], german=True).mentions("Die Dienstpläne")[0].name == "Dienstplan"
