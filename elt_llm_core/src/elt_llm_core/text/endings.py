"""What is typed in place of letters with diacritics, put back so that stemmers know the ending.

A question typed without diacritics has endings that no stemmer of its language knows: `medziu` for `medžių`. Each word,
rightly spelled or not, is also stemmed in the one form that this module gives to all its spellings.
"""

import re

from elt_llm_core.text.normalise import without_diacritics

# Longest first. Only the ending is put back: what stands before it is folded after stemming in any case.
_ENDINGS = {
    "lt": (("eje", "ėje"), ("es", "ės"), ("e", "ė"), ("iu", "ių"), ("u", "ų")),
    "fr": (
        ("erent", "èrent"),
        ("ames", "âmes"),
        ("ates", "âtes"),
        ("ees", "ées"),
        ("ee", "ée"),
        ("es", "és"),
        ("at", "ât"),
        ("e", "é"),
    ),
}
_SHORTEST_STEM = 3  # letters before an ending
# Not where the two belong to different letters: Quelle, neue, Bauer, Poesie keeps its own in both spellings alike.
_GERMAN_PAIR = re.compile(r"(?<![aeoäöüq])(?:ae|oe|ue)")
_NORDIC_PAIR = re.compile(r"aa|oe")
_GERMAN_LETTERS = {"ae": "ä", "oe": "ö", "ue": "ü"}
_NORDIC_LETTERS = {"aa": "å", "oe": "ø"}


def with_letters(word: str, language: str) -> str:
    """A lower-case word with the letters that its pairs stand for: `aerzte` as `ärzte` in German."""
    if language == "de":
        return _GERMAN_PAIR.sub(lambda found: _GERMAN_LETTERS[found.group()], word)
    if language in {"da", "no"}:
        return _NORDIC_PAIR.sub(lambda found: _NORDIC_LETTERS[found.group()], word)
    return word


def with_likely_ending(word: str, language: str) -> str:
    """A lower-case word without diacritics but for those that its ending most likely has."""
    bare = without_diacritics(word)
    for typed, meant in _ENDINGS.get(language, ()):
        if bare.endswith(typed) and len(bare) >= len(typed) + _SHORTEST_STEM:
            return bare[: -len(typed)] + meant
    return bare


def unsoftened(stem: str, language: str) -> str:
    """A stem without diacritics whose last letter is that of the other cases: Lithuanian `medz` as `med`.

    The stemmer does so itself where the letter has its mark; `c` and `dz` are what is left of `č` and `dž`.
    """
    if language != "lt" or len(stem) <= _SHORTEST_STEM:
        return stem
    if stem.endswith("dz"):
        return stem[:-1]
    return f"{stem[:-1]}t" if stem.endswith("c") else stem
