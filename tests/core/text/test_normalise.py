# ruff: noqa: RUF001 - the look-alike quotes and stops are what this file is about.
import pytest
from elt_llm_core.text.normalise import fold, words
from hypothesis import example, given
from hypothesis import strategies as st


def test_folding_unifies_case_diacritics_quotes_and_dashes() -> None:
    assert fold("ŽAIDĖJŲ “Straße” – l’Équipe") == 'zaideju "strasse" - l\'equipe'
    assert fold("\ufb01nal\u00adly ① Ørsted Łódź") == "finally 1 orsted lodz"


def test_folding_keeps_diacritics_that_distinguish_letters() -> None:
    assert fold("Й") == "й"
    assert fold("हिन्दी") == "हिन्दी"
    assert fold("が") == "が"


@given(text=st.text(max_size=60))
@example("\u0149‴⁻︱")
def test_folding_a_text_a_second_time_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(text=st.text(alphabet="AéÉZžß 12.-'", max_size=40))
def test_the_folded_words_of_a_text_do_not_depend_on_case_or_diacritics(text: str) -> None:
    assert words(text.upper()) == words(text.upper().lower())
    assert words(text) == words(fold(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C++ and C# and g++", ["c++", "and", "c#", "and", "g++"]),
        ("v1.2.3, A3.1; rule 12.3.1(a).", ["v1.2.3", "a3.1", "rule", "12.3.1", "a"]),
        ("U-21 ISO-8601 co-operation 2025-26", ["u-21", "iso-8601", "co", "operation", "2025", "26"]),
        ("1,000 and 3.50 and 3,5", ["1000", "and", "3.50", "and", "3,5"]),
        ("the U.S. team, e.g. R&D at AT&T", ["the", "us", "team", "eg", "r&d", "at", "at&t"]),
        ("Annex A.1 ends.Next", ["annex", "a.1", "ends", "next"]),
        ("the club’s and l’équipe don't", ["the", "club", "and", "l", "equipe", "don't"]),
        ("max_retries a/b", ["max", "retries", "a", "b"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("… — !", []),
    ],
)
def test_text_is_split_into_words_and_codes_such_as_u_21(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(text=st.text(max_size=60))
def test_every_letter_and_digit_of_ascii_text_is_part_of_a_word(text: str) -> None:
    ascii_text = text.encode("ascii", "ignore").decode()
    letters = [character for character in ascii_text.lower() if character.isalnum()]
    assert len("".join(words(ascii_text))) >= len(letters) - 2 * ascii_text.count("'")
