"""Rules on how words are to be read, which stand among definitions under titles of their own and define no word."""

import re
from typing import Final

from elt_llm_core.text.normalise import fold

from elt_llm_consumer.definitions.clauses import gives_meaning
from elt_llm_consumer.definitions.defining import tells_apart

_READING: Final = re.compile(
    r"\b(?:singular|plural|masculine|feminine|neuter|maskulin|feminin|einzahl|mehrzahl)\b"
    r"|\bheadings?\s(?:are|is|do|does|have|has|may|must|shall)\b|\bwords\s(?:importing|denoting)\b"
    r"|^(?:(?:an?|any|the)\s)?references?\sto\b[^.;]{1,200}\b(?:is|are|includes?|means?)\b"
    r"|\b(?:these|the|following|other)\s(?:\w{1,20}\s)?(?:expressions|words|terms|definitions)\s"
    r"(?:are|have|has|apply|bear|shall|used)\b",
    re.IGNORECASE,
)
_TITLE: Final = re.compile(
    r"(?:construing|construction|reading|persons?|people|genders?|numbers?|singular\sand\splural|headings?|titles?|times?"
    r"|periods?(?:\sof\stime)?|dates?|references?|general|language|examples?|including|meanings?|(?:(?:defined|further|other|more|common"
    r"|general|special|main|key|certain)\s)?(?:expressions?|words?|phrases?|terms?|definitions?)(?:\sand\s(?:expressions?|phrases?))?"
    r"|auslegung|personen|geschlecht|weitere\sbegriffe)$"
)
_INCLUDES: Final = re.compile(r"(?:an?|any|every|each|the)\s[\w-]{1,30}\s(?:also\s)?includes?\s", re.IGNORECASE)
_NUMBER: Final = re.compile(r"[\W\d]{0,12}")
_REACH = 400  # characters of a text that say what it is about


def is_rule_of_reading(title: str, body: str) -> bool:
    """Whether a text says how words are read, or defines others than its title: "The singular includes the plural"."""
    near = " ".join(body[:_REACH].split())
    if gives_meaning(near) or _READING.search(near) is not None:
        return True
    means = tells_apart(near) and _INCLUDES.match(near) is None
    return not means and _TITLE.match(_NUMBER.sub("", fold(title), count=1)) is not None
