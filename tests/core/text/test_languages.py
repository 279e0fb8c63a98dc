"""Word lists (stopwords, months) are read from a TOML file for each language, and can be joined for several."""

import re
from importlib import resources

import pytest
from elt_llm_core.errors import SettingsError
from elt_llm_core.text import languages as module
from elt_llm_core.text.languages import (
    alternatives,
    languages,
    load_language,
    month_names,
    month_numbers,
    numbers,
    parse_language,
    rule_languages,
    word_pattern,
    words,
)


@pytest.mark.parametrize("code", languages())
def test_every_language_file_has_a_name_and_either_no_months_or_all_twelve(code: str) -> None:
    language = load_language(code)
    assert language.code == code
    assert language.name
    assert len(language.months) in {0, 12}
    assert "" not in language.words("articles")


def test_word_lists_are_joined_across_all_languages_that_have_rules() -> None:
    assert rule_languages() == ("de", "en")
    assert {"the", "der"} <= words("articles")
    assert "les" not in words("articles")
    assert words("articles", ["fr"]) == frozenset("le la les un une des".split())  # noqa: SIM905


def test_the_words_numbers_and_months_of_a_language_are_folded_on_request() -> None:
    assert {"für", "fur"} & words("prepositions", folded=True) == {"fur"}
    assert numbers("numbers", folded=True)["funf"] == 5
    assert month_numbers()["märz"] == month_numbers(folded=True)["marz"] == month_numbers()["kovo"] == 3
    assert {"march", "märz"} <= month_names()
    assert "mar" not in month_names()


def test_the_alternatives_of_a_generated_regular_expression_are_escaped_and_ordered_longest_first() -> None:
    assert alternatives(["a", "e.g", "an"]) == r"e\.g|an|a"


def test_an_unknown_word_list_or_language_raises_an_error() -> None:
    with pytest.raises(KeyError, match="artikles"):
        words("artikles")
    with pytest.raises(SettingsError, match="'tlh'"):
        load_language("tlh")
    with pytest.raises(TypeError, match="artikles"):
        parse_language("xx", 'name = "X"\nartikles = "x"')


def test_a_language_can_be_defined_with_one_toml_file() -> None:
    files = {
        path.name.removesuffix(".toml") for path in resources.files(module).iterdir() if path.name.endswith(".toml")
    }
    assert set(languages()) == files
    language = parse_language(
        "af",
        'name = "Afrikaans"\nsentence_rules = true\narticles = "die \'n"\nmonths = ["januarie jan"]\n'
        '[numbers]\ntwee = 2\n[lists]\nmenu_words = ["om die beurt", "een"]\n',
    )
    assert language.words("articles") == ("die", "'n")
    assert language.numbers["twee"] == 2
    assert language.lists["menu_words"] == ("om die beurt", "een")


def test_a_pattern_has_the_words_of_a_list_in_all_languages_that_have_rules_in_place_of_its_name() -> None:
    pattern = word_pattern(r"@and@ (\w+)", re.IGNORECASE)
    assert pattern.findall("Loans and cards UND maps or books") == ["cards", "maps"]
    with pytest.raises(KeyError, match="ands"):
        word_pattern("@ands@")
