from concurrent.futures import ThreadPoolExecutor

import pytest
from elt_llm_core.errors import SettingsError
from elt_llm_core.text.languages import languages
from elt_llm_core.text.stems import KeywordTokeniser
from hypothesis import given
from hypothesis import strategies as st


def test_english_words_are_stemmed_and_stopwords_dropped() -> None:
    assert KeywordTokeniser().stems("The clubs were registering players") == ["club", "regist", "player"]


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "registered players", "registering player"),
        ("de", "Mannschaften", "Mannschaft"),
        ("fr", "équipes enregistrées", "équipe enregistré"),
        ("lt", "komandų", "komandą"),
        ("ru", "игроков", "игрок"),
    ],
)
def test_the_inflected_forms_of_a_word_have_the_same_stem(language: str, one: str, other: str) -> None:
    tokeniser = KeywordTokeniser(language)
    assert set(tokeniser.stems(one)) & set(tokeniser.stems(other))


@pytest.mark.parametrize(
    ("language", "word", "typed"),
    [
        ("lt", "žaidėjas", "zaidejas"),
        ("lt", "sveikatos priežiūra", "sveikatos prieziura"),
        ("fr", "équipe", "EQUIPE"),
        ("fr", "cœur", "coeur"),
        ("de", "für", "fur"),
        ("de", "Größe", "Groesse"),
        ("de", "Straße", "STRASSE"),
        ("de", "Ärzte", "Aerzte"),
        ("da", "årsmøde", "aarsmoede"),
    ],
)
def test_a_word_without_diacritics_has_the_same_stem_as_its_correct_spelling(
    language: str, word: str, typed: str
) -> None:
    tokeniser = KeywordTokeniser(language)
    assert set(tokeniser.stems(typed)) <= set(tokeniser.stems(word))


@pytest.mark.parametrize(
    ("language", "word", "typed"),
    [
        ("lt", "medžiai", "medziu"),
        ("lt", "žodis", "zodziai"),
        ("lt", "skaitytojų", "skaitytoja"),
        ("fr", "enregistrées", "enregistre"),
    ],
)
def test_an_inflected_form_without_diacritics_has_the_same_stem_as_the_word(
    language: str, word: str, typed: str
) -> None:
    tokeniser = KeywordTokeniser(language)
    assert set(tokeniser.stems(typed)) & set(tokeniser.stems(word))


@pytest.mark.parametrize("word", ["neue", "Quelle", "Bauer", "Frauen", "Steuer"])
def test_adjacent_german_vowels_of_two_syllables_are_not_read_as_an_umlaut(word: str) -> None:
    stem = KeywordTokeniser("de").stems(word)[0]
    assert word.lower().startswith(stem)


def test_lithuanian_stopwords_are_dropped_with_and_without_diacritics() -> None:
    assert KeywordTokeniser("lt").stems("Kas tai yra, ir iš kur? Kas tai yra, ir is kur?") == []


def test_codes_and_numbers_are_not_stemmed() -> None:
    assert KeywordTokeniser().stems("C++ c# A3.1 12.3 B12") == ["c++", "c#", "a3.1", "12.3", "b12"]


def test_a_code_has_stems_in_common_with_its_parts_and_with_its_alternative_spelling() -> None:
    assert KeywordTokeniser().stems("U-21 GDPR-7") == ["u-21", "u", "21", "u21", "gdpr-7", "gdpr", "7", "gdpr7"]
    assert KeywordTokeniser().stems("v1.2.3") == ["v1.2.3", "1.2.3"]


def test_text_without_spaces_is_split_into_pairs_of_characters() -> None:
    assert KeywordTokeniser("ja").stems("東京都2026年") == ["東京", "京都", "2026", "年"]
    assert set(KeywordTokeniser("ko").stems("선수는")) & set(KeywordTokeniser("ko").stems("선수를"))


def test_text_that_consists_of_stopwords_has_no_stems() -> None:
    assert KeywordTokeniser().stems("What is it, and why?") == []
    assert KeywordTokeniser().stems("") == []


def test_each_language_has_its_own_tokeniser_fingerprint() -> None:
    fingerprints = {language: KeywordTokeniser(language).fingerprint for language in languages()}
    assert len(set(fingerprints.values())) == len(languages())
    assert fingerprints["en"] == KeywordTokeniser().fingerprint
    assert len(bytes.fromhex(fingerprints["en"])) == 32


def test_an_unknown_language_is_refused_with_the_list_of_known_languages() -> None:
    with pytest.raises(SettingsError, match="'tlh'") as caught:
        KeywordTokeniser("tlh")
    assert "lt" in caught.value.hint


@given(text=st.text(max_size=80), language=st.sampled_from(languages()))
def test_stems_are_never_empty_and_are_deterministic(text: str, language: str) -> None:
    tokeniser = KeywordTokeniser(language)
    first = tokeniser.stems(text)
    assert all(first)
    assert tokeniser.stems(text) == first


def test_several_threads_share_one_tokeniser() -> None:
    tokeniser = KeywordTokeniser()
    text = " ".join(f"{letter}running {letter}clubs" for letter in "abcdefghijklmnopqrstuvwxyz")
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: tokeniser.stems(text), range(8)))
    assert results == [KeywordTokeniser().stems(text)] * 8
