"""What kind of thing a question asks for, in English, German, French and Lithuanian."""

import re
from typing import Final, Literal

from elt_llm_core.text.normalise import fold, lower

from elt_llm_query.question_patterns import QuestionKind
from elt_llm_query.understand import Question

Intent = Literal[
    "definition", "how_to", "who", "when", "where", "how_many", "list", "compare", "why", "yes_no", "other"
]


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_BY_KIND: Final[dict[QuestionKind, Intent]] = {
    "who": "who",
    "when": "when",
    "where": "where",
    "how_many": "how_many",
    "how_much": "how_many",
    "what_is": "definition",
    "how": "how_to",
    "why": "why",
    "yes_no": "yes_no",
    "list": "list",
    "which": "other",
    "other": "other",
}
_COMPARES = re.compile(
    r"\bcompar(?:e|es|ed|ing|ison)\b|\bdiffer(?:s|ence|ences)?\b|\bversus\b|\bvs\b|\bverglich\w{0,4}\b|\bvergleich\w{0,4}\b"
    r"|\bunterschied\w{0,4}\b|\bunterscheid\w{0,4}\b"
)
# Folded text; the earliest row that matches decides. French "où" without its accent is "or", which asks nothing.
_ROWS_FR: Final[tuple[tuple[str, Intent], ...]] = (
    (r"\bdifferences?\b|\bcompar", "compare"),
    (r"\bcombien\b", "how_many"),
    (r"\bpourquoi\b", "why"),
    (r"\bquand\b|\b(?:en|a) quel(?:le)? (?:annee|date|jour|mois|heure)\b", "when"),
    (r"\bcomment\b", "how_to"),
    (r"^(?:d')?ou (?:est|sont|se|peut|trouver|dois|doit|puis)\b", "where"),
    (r"^(?:a |de |par |avec |pour )?qui\b", "who"),
    (r"^(?:qu'est-ce qu|c'est quoi|definition\b|que signifie\b)", "definition"),
    (r"^quel(?:le)?s (?:sont|etaient)\b|^liste", "list"),
    (r"^est-ce qu", "yes_no"),
)
_ROWS_LT: Final[tuple[tuple[str, Intent], ...]] = (
    (r"\bskiriasi\b|\bskirtum|\bpalygin", "compare"),
    (r"\bkiek\b", "how_many"),
    (r"\bkodel\b", "why"),
    (r"\bkada\b|\bkuriais metais\b|\bkuriuo metu\b", "when"),
    (r"\bkaip\b", "how_to"),
    (r"\bkur\b", "where"),
    (r"^(?:kas yra|ka reiskia)\b", "definition"),
    (r"^(?:kas|kam|kuo|su kuo|is ko)\b", "who"),
    (r"^(?:kokie|kokios|kurie|kurios|isvardi)", "list"),
    (r"^ar\b", "yes_no"),
)
_ASKED = {
    "fr": tuple((re.compile(pattern), intent) for pattern, intent in _ROWS_FR),
    "lt": tuple((re.compile(pattern), intent) for pattern, intent in _ROWS_LT),
}
# Words that the others of these languages do not have; a question has few words, so letters tell as well.
_TELLING = {
    "fr": _listed(
        "qui quand combien pourquoi comment quel quelle quels quelles est ce les des une dans sont avec pour le la du"
        " peut doit sur"
    ),
    "lt": _listed(
        "kas kada kur kiek kodel kaip kokie kokios kokia koks kuris kuri kurie yra ar gali turi reikia kam ir iki nuo"
        " kuo apie metais"
    ),
}
_LETTERS = {"fr": frozenset("èêçîôûœ"), "lt": frozenset("ąčęėįšųūž")}


def asked_language(text: str, guess: str) -> str:
    """French or Lithuanian if the small words and letters say so, else `guess`, which tells English from German."""
    small = re.findall(r"[^\W\d_]+", fold(text))
    spelled = frozenset(lower(text))
    for language, telling in _TELLING.items():
        found = sum(word in telling for word in small) + bool(spelled & _LETTERS[language])
        if found >= 2 and 4 * found >= len(small):
            return language
    return guess


def intent_of(question: Question, language: str) -> Intent:
    """What is asked for; "other" where no word of the question says so, as for keywords."""
    folded = fold(question.text)
    rows = _ASKED.get(language)
    if rows is not None:
        return next((intent for pattern, intent in rows if pattern.search(folded)), "other")
    return "compare" if _COMPARES.search(folded) else _BY_KIND[question.kind]
