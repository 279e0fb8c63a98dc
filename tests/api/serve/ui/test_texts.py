"""Each language has every text, with the same placeholders, and the browser's first language with texts is used."""

import re
import string

import pytest
from elt_llm_api.serve.ui.texts import languages, load_texts, preferred_language
from elt_llm_query.retrieve.trace import REASONS, RankingDetails, StageDetails
from processes.command_line import PROJECT


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


@pytest.mark.parametrize("language", languages())
def test_every_translated_message_is_a_message_of_the_server(language: str) -> None:
    """A changed message would be shown in English. Placeholders stand for the values in the source."""
    sources = (path.read_text(encoding="utf-8") for path in PROJECT.glob("elt_llm_*/src/**/*.py"))
    code = joined("".join(sources))
    for english in load_texts(language).messages:
        words = max((part for part, *_ in string.Formatter().parse(english)), key=len)
        assert words in code, english


def joined(code: str) -> str:
    """Return source code without the quotes between the parts of a string on several lines."""
    return re.sub(r'"\s*\n\s*f?"', "", code)


def test_a_message_of_the_server_is_translated_with_its_values() -> None:
    german = load_texts("de")
    assert german.say("There is no collection 'a {b}'.") == "Es gibt keine Sammlung „a {b}“."
    away = "The question could not be embedded: Ollama at http://localhost:11434 cannot be reached"
    assert german.say(away) == (
        "Die Frage konnte nicht eingebettet werden: Ollama at http://localhost:11434 ist nicht erreichbar"
    )
    assert german.say("Something else.") == "Something else."
    assert german.say("There is no document 'Dr. Hill' in 'b'.") == "Es gibt kein Dokument „Dr. Hill“ in „b“."
    assert german.say("Something else. Upload them again.") == "Something else. Laden Sie sie noch einmal hoch."
    assert german.say("No data. The question is empty. Or is it? Yes.") == "No data. Die Frage ist leer. Or is it? Yes."
    scan = "page 1 has no text layer; for OCR, set ingest.ocr: true and install tesseract-ocr; is odd"
    assert german.say("has 35,477,780 characters of text, more than the limit of 20,000,000") == (
        "hat 35.477.780 Zeichen Text, mehr als die erlaubten 20.000.000"
    )
    assert german.say(scan) == (
        "Seite 1 hat keinen Text, nur Bilder; "
        "für die Texterkennung ingest.ocr: true setzen und tesseract-ocr installieren; is odd"
    )
    assert load_texts("en").say("The question is empty.") == "The question is empty."


@pytest.mark.parametrize("language", languages())
def test_every_language_names_every_trace_stage_and_every_reason_to_drop_a_chunk(language: str) -> None:
    known = (*StageDetails.__subclasses__(), *RankingDetails.__subclasses__())
    stages = {one.stage for one in known if one.stage}
    assert {f"trace.{name}" for name in {*stages, *REASONS}} <= load_texts(language).keys


def test_numbers_have_the_separators_of_the_language() -> None:
    assert load_texts("de").figure("1,234.5 ms") == "1.234,5 ms"
    assert load_texts("de").count("inspect.chunk", 1200) == "1.200 Textstellen"
    assert load_texts("en").figure("1,234.5 ms") == "1,234.5 ms"
