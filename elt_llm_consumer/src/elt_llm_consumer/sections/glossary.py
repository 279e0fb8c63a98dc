"""What a glossary job may be told."""

from typing import Literal

from elt_llm_core.settings_section import Section
from pydantic import Field

Pattern = Literal["table", "list", "sentence", "is", "brackets", "abbreviation", "reference"]
_ALL: tuple[Pattern, ...] = ("table", "list", "sentence", "is", "brackets", "abbreviation", "reference")


class GlossarySection(Section):
    """Settings of a glossary job: where definitions are looked for, which are left out, and who mends their text."""

    patterns: tuple[Pattern, ...] = Field(
        _ALL,
        description="How definitions are found. table: rows under headers; list: lists and headings under a heading "
        'such as Glossary; sentence: "X means", "X is defined as"; is: "X is a", where that is safe; brackets: (the '
        '"X"); abbreviation: long form (SHORT); reference: "X has the meaning given in".',
    )
    headings: tuple[str, ...] = Field(
        (
            *("definitions", "definition", "glossary", "terminology", "interpretation", "defined terms", "key terms"),
            *("terms used", "terms", "vocabulary", "abbreviations", "acronyms", "initialisms", "glossar"),
            *("words used", "words and phrases", "words with special meanings", "words explained", "business terms"),
            *("what the words mean", "what these words mean", "what words mean", "meaning of words", "nomenclature"),
            *("meaning of terms", "abbreviated terms", "short forms", "symbols and abbreviations"),
            *("begriffe", "begriffsbestimmungen", "definitionen", "begriffserklärungen", "abkürzungen"),
            "abkürzungsverzeichnis",
        ),
        description="Headings under which lists are definitions; other words of the heading may only join these.",
    )
    term_headers: tuple[str, ...] = Field(
        (
            *("term", "terms", "word", "words", "word or phrase", "expression", "expressions", "phrase", "concept"),
            *("defined term", "word or expression", "term or phrase", "term or abbreviation", "begriff", "ausdruck"),
            *("name of term", "glossary term", "key term", "business term", "terminus"),
        ),
        description="What a column of terms is headed.",
    )
    meaning_headers: tuple[str, ...] = Field(
        (
            *("meaning", "meanings", "definition", "definitions", "description", "explanation", "interpretation"),
            *("what it means", "means", "in full", "full form", "long form", "stands for", "full name", "full term"),
            *("expansion", "bedeutung", "erklärung", "beschreibung", "langform", "ausgeschrieben", "full title"),
            *("meaning in these rules", "spelt out", "in words"),
        ),
        description="What a column of definitions is headed.",
    )
    abbreviation_headers: tuple[str, ...] = Field(
        (
            *("abbreviation", "abbreviations", "acronym", "acronyms", "initials", "short form", "initialism"),
            *("abbr.", "abbr", "abkürzung", "kurzform", "short name", "kürzel"),
        ),
        description="What a column of abbreviations is headed.",
    )
    shortest_definition: int = Field(3, ge=1, le=1000, description="Characters; what is shorter defines nothing.")
    longest_definition: int = Field(
        3000, ge=50, le=100_000, description="Characters; a longer one is left out, as it is no definition but a text."
    )
    longest_term: int = Field(80, ge=5, le=300, description="Characters of a term.")
    skip_terms: tuple[str, ...] = Field((), description="Terms that are left out, in any case and number.")
    clean_up: Literal["off", "model"] = Field(
        "off",
        description="model: the language model mends the text of a definition; what the document does "
        "not say is not taken, and the quote stays as it is.",
    )
    most_places: int = Field(10, ge=1, le=1000, description="Sections named per term in which it is used.")
