"""Names whose parts are written small: French and Lithuanian bodies, and companies named in quotation marks."""

import re
from collections.abc import Iterator

from elt_llm_ingest.metadata.name_runs import CAPITALISED
from elt_llm_ingest.metadata.organisation_words import FRENCH_HEADS

_QUOTED = re.compile(
    r"(?<!\w)(?:UAB|AB|MB|VšĮ|IĮ|OOO) [\u201e\"\u201c\u00ab][^\"\u201d\u201c\u00bb\n]{2,60}[\"\u201d\u201c\u00bb]"
)
_LITHUANIAN = re.compile(
    rf"(?<!\w){CAPITALISED}(?:,? (?!ir\b)[^\W\d_]{{3,20}}){{0,3}}(?: ir [^\W\d_]{{3,20}})?"
    r" (?:ministerij|asociacij|federacij|tarnyb|agentūr|inspekcij|universitet|institut|draugij|komitet|bank|taryb)"
    r"(?:a|os|ai|ą|oje|as|o|ui|e|us)\b"
)
_FRENCH = re.compile(
    rf"(?<!\w)(?:{'|'.join(sorted(FRENCH_HEADS))})"
    r"(?: [a-zéèêàç]{3,20}(?:ale|enne|aise|ique|aine|al|en|ais|ain)\b){0,2}"
    rf"(?: (?:de la |de l['\u2019]|de |des |du |d['\u2019]|pour la |pour le ){CAPITALISED}(?:(?: et(?: de la)? | ){CAPITALISED}){{0,3}}"
    r"(?: [a-zéèêàç]{3,20}(?:ale|ique|aise|enne)\b)?)?"
)


def foreign_names(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Where such names begin and end."""
    for found in _QUOTED.finditer(text):
        yield found.span()
    for found in _LITHUANIAN.finditer(text):
        yield found.span()
    if language == "fr":
        yield from (found.span() for found in _FRENCH.finditer(text) if " " in found[0])
