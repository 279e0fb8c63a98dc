"""Names that follow how states call their bodies: "HM Treasury", "DG CONNECT", "Directorate-General for A, B and C"."""

import re
from collections.abc import Iterator

from elt_llm_ingest.metadata.name_runs import CAPITALISED

_GROUP = rf"{CAPITALISED}(?: {CAPITALISED}){{0,3}}"
_CROWN = re.compile(rf"\bHM (?!Ships?\b){CAPITALISED}(?:,? (?:(?:and|&) )?(?!DG |HM ){CAPITALISED}){{0,4}}")
_DIRECTORATE = re.compile(r"\bDG [A-Z]{3,8}\b")
_GENERAL = re.compile(
    rf"\bDirectorate[- ]General(?: (?:of|for)(?: the)?)? {_GROUP}(?:, {_GROUP}){{0,4}}(?:,? (?:and|&) {_GROUP})?"
)
_MINISTRY = re.compile(
    r"\b(?:[Mm]inistère|[Pp]réfecture|[Ss]ecrétariat d['\u2019]État)"
    r" (?:de la |de l['\u2019]|des |du |d['\u2019]|à la )[\w'\u2019-]{3,30}"
    r"(?: (?:et (?:de la|des|du) )?[A-ZÉ][\w'\u2019-]{2,30}){0,3}"
)


def offices_of_state(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Where such names begin and end."""
    if "HM " in text:
        yield from (found.span() for found in _CROWN.finditer(text))
    if "DG " in text:
        yield from (found.span() for found in _DIRECTORATE.finditer(text))
    if "General " in text:
        yield from (found.span() for found in _GENERAL.finditer(text))
    if language == "fr":
        yield from (found.span() for found in _MINISTRY.finditer(text))
