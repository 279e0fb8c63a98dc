"""Each language has every text, with the same placeholders, and the browser's first language with texts is used."""

import string

import pytest
from elt_llm_api.serve.ui.texts import languages, load_texts, preferred_language


def test_the_page_has_english_and_german_texts() -> None:
    assert languages() == ("de", "en")


@pytest.mark.parametrize("language", languages())
def test_every_language_has_every_text_with_the_same_placeholders(language: str) -> None:
    english, texts = load_texts("en"), load_texts(language)
    assert texts.keys == english.keys
    for key in english.keys:
        fields = [{name for _, name, _, _ in string.Formatter().parse(one(key)) if name} for one in (english, texts)]
        assert fields[0] == fields[1], key


@pytest.mark.parametrize(
    ("asked", "language"),
    [
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("fr-FR,fr;q=0.9,de;q=0.7,en;q=0.8", "en"),
        ("de;q=0,en", "en"),
        ("", "en"),
        ("*", "en"),
        (";;q=x,,de;q=nan", "en"),
        ("x" * 10_000, "en"),
    ],
)
def test_the_first_language_of_the_browser_that_has_texts_is_used(asked: str, language: str) -> None:
    assert preferred_language(asked) == language


def test_a_count_uses_the_singular_or_the_plural() -> None:
    texts = load_texts("en")
    assert texts.count("ask.answered", 1) == "Answered with 1 citation."
    assert texts.count("ask.answered", 1200) == "Answered with 1,200 citations."
