"""Names whose parts are written small: French and Lithuanian bodies, and companies named in quotation marks."""

import re
from collections.abc import Iterator

from elt_llm_ingest.metadata.name_runs import CAPITALISED
from elt_llm_ingest.metadata.organisation_words import FRENCH_HEADS

_QUOTED = re.compile(
    r"(?:UAB|AB|MB|VšĮ|IĮ|OOO) [\u201e\"\u201c\u00ab][^\"\u201d\u201c\u00bb\n]{2,60}[\"\u201d\u201c\u00bb]"
)
_QUOTED_HINTS = ("AB \u201e", 'AB "', "AB \u201c", "MB \u201e", 'MB "', "Į \u201e", 'Į "', "Į \u201c", "OOO \u00ab")
_LITHUANIAN_HEADS = (
    *("ministerij", "asociacij", "federacij", "tarnyb", "agentūr", "inspekcij", "draugij", "taryb"),
    *("universitetas", "universiteto", "institutas", "instituto", "komitetas", "komiteto", "bankas", "banko"),
)
_LITHUANIAN = re.compile(
    rf"(?<!\w)(?>{CAPITALISED})(?:,? (?!ir\b)[^\W\d_A-Z]{{3,20}}+){{0,3}}"
    r"(?: ir [^\W\d_]{3,20}+)?(?: [^\W\d_A-Z]{3,20}+)?"
    rf" (?:{'|'.join(_LITHUANIAN_HEADS)})(?:a|os|ai|ą|oje|as|o|ui|e|us)?\b"
)
_FRENCH_ADJECTIVE = r"(?: [a-zéèêàç]{3,20}(?:ale|enne|aise|ique|aine|al|en|ais|ain)\b)"
_FRENCH_OF = r"(?:de la |de l['\u2019]|de |des |du |d['\u2019]|pour la |pour le )"
_FRENCH = re.compile(
    rf"(?<!\w)(?:{'|'.join(sorted(FRENCH_HEADS))}){_FRENCH_ADJECTIVE}{{0,2}}"
    rf"(?: {_FRENCH_OF}{CAPITALISED}(?:(?: et(?: de la)? | ){CAPITALISED}){{0,3}}{_FRENCH_ADJECTIVE}?)?"
)


_GERMAN_STATE = re.compile(
    r"\b(?!(?:polit|demokrat|militär|kommunist|sozialist|islam|autokrat"
    r"|techn|histor|sowjet|näch)i?s?ch)"
    r"[a-zäöü]{3,20}sche[nrms]? (?:Parlaments?|Regierung|Armee|Nationalversammlung|Zentralbank|Unterhaus"
    r"|Oberhaus|Marine|Luftwaffe|Polizei"
    r"|Verfassungsgericht|(?:Außen|Innen|Justiz|Finanz|Verteidigungs)ministeriums?)\b"
)


_FRENCH_OF_STATE = re.compile(
    rf"(?<!\w)(?:{'|'.join(sorted(FRENCH_HEADS))}|Direction)"
    r"(?: (?:national|fédéral|général|supérieur|central"
    r"|interministériell?|régional)e?\b){1,2}"
    r"(?: (?:et )?(?:de la |de l['\u2019]|des |du |de |d['\u2019]|pour la |pour l['\u2019])[\w-]{3,25}"
    r"(?: [a-zé]{3,20}(?:ale|elle|iques?|aires?|ée?s?|eux))?){1,4}"
)
_FRENCH_COURTS = re.compile(r"Cour de cassation|Cour des comptes|Conseil constitutionnel|Caisse des dépôts")


_GERMAN_CHURCH = re.compile(
    r"\b(?:[a-zäöü]{3,15}-)?(?:katholisch"
    r"|evangelisch|methodistisch|orthodox|anglikanisch"
    r"|reformiert|lutherisch)e[nrms]? Kirche\b"
)


def foreign_names(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Where such names begin and end."""
    if any(hint in text for hint in _QUOTED_HINTS):
        yield from (found.span() for found in _QUOTED.finditer(text))
    if any(head in text for head in _LITHUANIAN_HEADS):
        yield from (found.span() for found in _LITHUANIAN.finditer(text))
    if language == "de":
        yield from (found.span() for found in _GERMAN_STATE.finditer(text))
        yield from (found.span() for found in _GERMAN_CHURCH.finditer(text))
    if language == "fr":
        yield from (found.span() for found in _FRENCH_OF_STATE.finditer(text) if "générale des" not in found[0])
        yield from (found.span() for found in _FRENCH_COURTS.finditer(text))
        yield from (found.span() for found in _FRENCH.finditer(text) if " " in found[0])
